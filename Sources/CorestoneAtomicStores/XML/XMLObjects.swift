import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// A builder of rows for the objects of an XML store that is being read. References are resolved at the end.
final class XMLObjects {
    private let nodes: Nodes
    private let names: XMLNames
    private unowned let reader: XMLStoreReader
    private var writer: RecordWriter
    private var links: XMLLinks
    /// The temporary, negative primary keys of objects with non-numeric IDs. `XMLLinks` assigns the final keys.
    private var wordKeys: [String: Int64] = [:]
    private var highestKey: Int64 = 0
    /// The record of content that the model does not have; nil to throw an error for such content.
    private let skipped: SkippedContent?

    // MARK: The object that is being read

    /// The kind of the object; nil for an object that is skipped.
    private var kind: XMLKind?
    /// The index of the object's entity in the model.
    private var place = 0
    /// The object's primary key; negative if the ID is not numeric, 0 before the ID is read.
    private var ownKey: Int64 = 0
    /// The targets of the relationship that is being read.
    private var targets: [Int64] = []
    /// The attribute that is being read.
    private var member: XMLMember?
    /// The type in the file of the attribute that is being read.
    private var written: XMLValueType?
    /// The offset of the attribute's element.
    private var start = 0
    /// The index of the previous member; -1 before the first member.
    private var last = -1
    /// The member that followed each member the last time, by kind and member; index 0 is for the first member. Most
    /// objects have the same order.
    private var following: [[Int]]
    /// The number of objects when a member was last seen, by kind and member.
    private var seen: [[Int]]

    init(_ nodes: Nodes, _ names: XMLNames, _ reader: XMLStoreReader, size: Int, _ skipped: SkippedContent?) {
        (self.nodes, self.names, self.reader, self.skipped) = (nodes, names, reader, skipped)
        writer = RecordWriter(expectedBytes: size)
        links = XMLLinks(nodes, reader, areVersionsIgnored: skipped != nil)
        following = names.kinds.map { Array(0...$0.members.count) }
        seen = names.kinds.map { Array(repeating: -1, count: $0.members.count) }
    }

    // MARK: Objects

    func begin(_ attributes: XMLAttributeList) throws {
        var (type, id): (UnsafePointer<CChar>?, UnsafePointer<CChar>?)
        for (name, value) in attributes {
            if XMLAttributeList.isSame(name, "type") {
                type = value
            } else if XMLAttributeList.isSame(name, "id") {
                id = value
            } else {
                throw unknownAttribute(name, "object")
            }
        }
        guard let type else { throw reader.damaged("an <object> does not have a type") }
        guard let id else {
            let known = names.place(named: String(cString: type)).map { names.kinds[$0].entity.name }
            throw reader.damaged("an <object> does not have an id", entity: known)
        }
        ownKey = 0
        try find(type)
        let key = try key(UnsafeBufferPointer(start: id, count: strlen(id)))
        ownKey = key
        guard let entity = kind?.entity else { return links.skip(key) }
        writer.begin(primaryKey: key, version: 1, entity: entity)
        last = -1
    }

    private func find(_ type: UnsafePointer<CChar>) throws {
        // Consecutive objects often have the same entity.
        if let kind, XMLObjects.isSame(kind.nameBytes, type) { return }
        let type = String(cString: type)
        guard let found = names.place(named: type) else {
            let name = reader.entityName(ofType: type)
            if let skipped {
                skipped.add(reader.short(name))
                return kind = nil
            }
            throw reader.mismatch(
                "the model does not have the entity \"\(reader.short(name))\"; open the store with the model it was "
                    + "written with",
                entity: name)
        }
        (kind, place) = (names.kinds[found], found)
        if let entity = kind?.entity, entity.isAbstract {
            throw reader.mismatch(
                "\(entity.name) is abstract in the model, but the store has an object of this entity; open the store "
                    + "with the model it was written with", entity: entity.name)
        }
    }

    func end() { if kind != nil { links.add(writer.finish(), at: reader.position) } }

    /// Returns the key of an ID. A non-numeric ID is assigned a temporary key.
    private func key(_ id: UnsafeBufferPointer<CChar>, of member: XMLMember? = nil) throws -> Int64 {
        if let key = XMLObjects.number(id) {
            highestKey = max(highestKey, key)
            return key
        }
        let text = id.withMemoryRebound(to: UInt8.self) { String(decoding: $0, as: UTF8.self) }
        let isNumber = id.first == 0x7A && id.count > 1 && id.dropFirst().allSatisfy { (0x30...0x39).contains($0) }
        if text.isEmpty {
            throw reader.damaged(
                "the object id \"\" is not valid, because it is empty", entity: kind?.entity.name,
                key: member?.property.path, value: .string(text), object: ownURI)
        }
        if isNumber {
            throw reader.damaged(
                "the number of the object id \"\(reader.short(text))\" must be 1 to \(XMLFormat.maximumKey), "
                    + "without leading zeros", entity: kind?.entity.name, key: member?.property.path,
                value: .string(text), object: ownURI)
        }
        return wordKeys[text] ?? addWordKey(text)
    }

    private func addWordKey(_ text: String) -> Int64 {
        let key = -Int64(wordKeys.count + 1)
        wordKeys[text] = key
        return key
    }

    /// Parses an ID that consists of `z` and a number without leading zeros; nil for other IDs.
    private static func number(_ id: UnsafeBufferPointer<CChar>) -> Int64? {
        guard id.count > 1, id.count <= 20, id[0] == 0x7A, id[1] != 0x30 else { return nil }
        var number: Int64 = 0
        for character in id.dropFirst() {
            guard (0x30...0x39).contains(character), number <= XMLFormat.maximumKey / 10 else { return nil }
            number = number * 10 + Int64(character - 0x30)
        }
        return number <= XMLFormat.maximumKey ? number : nil
    }

    private static func isSame(_ name: [UInt8], _ text: UnsafePointer<CChar>) -> Bool {
        name.withUnsafeBytes { strncmp($0.bindMemory(to: CChar.self).baseAddress ?? text, text, name.count) == 0 }
            && text[name.count] == 0
    }

    /// Creates the error for an unknown attribute.
    ///
    /// - Parameters:
    ///   - element: The element with the attribute. Elements other than `<object>` are within an object.
    ///   - property: The name of the element's property; nil if it is not known yet.
    private func unknownAttribute(
        _ name: UnsafePointer<CChar>, _ element: String, _ property: UnsafePointer<CChar>? = nil
    ) -> CoreError {
        let isObject = element == "object"
        return reader.damaged(
            "<\(element)> has the unknown attribute \"\(reader.short(String(cString: name)))\", which a save would lose",
            entity: isObject ? nil : kind?.entity.name, key: property.map { String(cString: $0) },
            value: .string(String(cString: name)),
            object: isObject ? nil : ownURI, remedy: "remove the attribute")
    }

    /// Creates the error for an element that lacks a part.
    ///
    /// - Parameters:
    ///   - element: The element within the current object.
    ///   - name: The name of its property; nil if the name is missing.
    private func incomplete(_ element: String, _ name: UnsafePointer<CChar>?, lacks part: String) -> CoreError {
        let key = name.map { String(cString: $0) }
        let article = element == "attribute" ? "an" : "a"
        let subject = key.map { "the <\(element)> \"\(reader.short($0))\"" } ?? "\(article) <\(element)>"
        return reader.damaged(
            "\(subject) does not have a \(part)", entity: kind?.entity.name, key: key, object: ownURI)
    }

    /// The URI of the current object; nil if it is not known yet.
    private var ownURI: String? { kind.flatMap { reader.uri(ofKey: ownKey, $0.entity) } }

    // MARK: Members

    /// Returns the member with that name; nil if the member is skipped.
    private func find(_ name: UnsafePointer<CChar>, isRelationship: Bool) throws -> XMLMember? {
        guard let kind else { return nil }
        var found = following[place][last + 1]
        if found >= kind.members.count || !XMLObjects.isSame(kind.members[found].name, name) {
            let text = String(cString: name)
            guard let place = kind.places[text] ?? kind.places[text.lowercased()] else {
                if let skipped {
                    skipped.add(kind.entity.name, reader.short(text))
                    return nil
                }
                throw reader.mismatch(
                    "\(kind.entity.name) has no property \"\(reader.short(text))\" in the model; open the store with the model it was "
                        + "written with", entity: kind.entity.name, key: text, object: ownURI)
            }
            found = place
            following[self.place][last + 1] = place
        }
        let member = kind.members[found]
        last = found
        guard (member.type == nil) == isRelationship else {
            throw mismatch(member, "is \(isRelationship ? "not a" : "a") relationship in the model")
        }
        if seen[place][found] == links.count { throw damaged(member, "occurs twice in an object") }
        seen[place][found] = links.count
        return member
    }

    private func named(_ member: XMLMember) -> String { "\(kind?.entity.name ?? "").\(member.property.path)" }

    private func mismatch(_ member: XMLMember, _ problem: String, value: String? = nil) -> CoreError {
        reader.mismatch(
            "\(named(member)) \(problem); open the store with the model it was written with", entity: kind?.entity.name,
            key: member.property.path, value: value.map { .string($0) }, object: ownURI)
    }

    private func damaged(
        _ member: XMLMember, _ problem: String, value: String? = nil, at offset: Int? = nil
    ) -> CoreError {
        reader.damaged(
            "\(named(member)) \(problem)", at: offset, entity: kind?.entity.name, key: member.property.path,
            value: value.map { .string($0) }, object: ownURI)
    }

    // MARK: Attributes

    func beginAttribute(_ attributes: XMLAttributeList) throws {
        var (found, type): (UnsafePointer<CChar>?, UnsafePointer<CChar>?)
        for (name, value) in attributes {
            if XMLAttributeList.isSame(name, "name") {
                found = value
            } else if XMLAttributeList.isSame(name, "type") {
                type = value
            } else {
                throw unknownAttribute(name, "attribute", found)
            }
        }
        guard let found else { throw incomplete("attribute", nil, lacks: "name") }
        guard let type else { throw incomplete("attribute", found, lacks: "type") }
        member = nil
        guard let member = try find(found, isRelationship: false) else { return }
        written = member.type
        if let own = member.type, !XMLObjects.isSame(member.typeName, type) {
            written = XMLValueType(rawValue: String(cString: type))
            guard let written, own.accepts(written, areVersionsIgnored: skipped != nil) else {
                throw mismatch(
                    member,
                    "has the type \"\(reader.short(String(cString: type)))\" in the file, but "
                        + "\(own.displayName) in the model",
                    value: String(cString: type))
            }
        }
        (self.member, start) = (member, reader.position)
    }

    func endAttribute() throws {
        guard let member, let type = member.type else { return }
        if try !setValue(type, member.slot, member.layout) {
            if written != type, type.isInteger, let number = reader.text.integer() {
                throw reader.mismatch(
                    "\(named(member)) is \(number), but its type in the model is \(type.described); "
                        + "open the store with the model it was written with", entity: kind?.entity.name,
                    key: member.property.path, value: .int(number), object: ownURI)
            }
            let text = reader.short(reader.text.string)
            throw damaged(
                member, "is \"\(text)\", which is not a value of type \(type.described)", value: text, at: start)
        }
    }

    /// Parses the text and sets the value. Returns false if the text is invalid.
    private func setValue(_ type: XMLValueType, _ slot: Int, _ layout: SlotLayout) throws -> Bool {
        let text = reader.text
        switch type {
        case .string, .uri:
            guard text.decodeInPlace(text.unescape) else { return false }
            setBytes(slot, layout)
        case .binary, .transformable:
            guard text.decodeInPlace(text.decodeBase64) else { return false }
            setBytes(slot, layout)
        case .bool:
            guard text.count == 1, text.start[0] == 0x30 || text.start[0] == 0x31 else { return false }
            writer.setInteger(Int64(text.start[0] - 0x30), slot, layout)
        case .int16: return setInteger(Int16.min, Int16.max, slot, layout)
        case .int32: return setInteger(Int32.min, Int32.max, slot, layout)
        case .int64: return setInteger(Int64.min, Int64.max, slot, layout)
        case .double, .date, .float:
            guard let number = text.double() else { return false }
            writer.setDouble(written == .float ? Double(Float(number)) : number, slot, layout)
        case .decimal:
            guard let number = try? DecimalNumber(text.string) else { return false }
            writer.setDecimal(number.words.0, number.words.1, aux: number.aux, slot, layout)
        case .uuid:
            guard let uuid = UUIDValue(text.string) else { return false }
            writer.set(ValueView(.uuid(uuid)), slot, layout)
        }
        return true
    }

    private func setBytes(_ slot: Int, _ layout: SlotLayout) {
        writer.setBytes(reader.text.start, count: reader.text.count, slot, layout)
    }

    private func setInteger<Number: FixedWidthInteger>(
        _ least: Number, _ most: Number, _ slot: Int, _ layout: SlotLayout
    ) -> Bool {
        guard let number = reader.text.integer(), number >= Int64(least), number <= Int64(most) else { return false }
        writer.setInteger(number, slot, layout)
        return true
    }

    // MARK: Relationships

    func setRelationship(_ attributes: XMLAttributeList) throws {
        var (found, type): (UnsafePointer<CChar>?, UnsafePointer<CChar>?)
        var (destination, references): (UnsafePointer<CChar>?, UnsafePointer<CChar>?)
        for (name, value) in attributes {
            if XMLAttributeList.isSame(name, "name") {
                found = value
            } else if XMLAttributeList.isSame(name, "type") {
                type = value
            } else if XMLAttributeList.isSame(name, "destination") {
                destination = value
            } else if XMLAttributeList.isSame(name, "idrefs") {
                references = value
            } else {
                throw unknownAttribute(name, "relationship", found)
            }
        }
        guard let found else { throw incomplete("relationship", nil, lacks: "name") }
        guard let type else { throw incomplete("relationship", found, lacks: "type") }
        guard let destination else { throw incomplete("relationship", found, lacks: "destination") }
        guard let member = try find(found, isRelationship: true), let relationship = member.relationship else { return }
        if !XMLObjects.isSame(member.typeName, type) || !XMLObjects.isSame(member.destination, destination) {
            try check(member, relationship, String(cString: type), String(cString: destination))
        }
        try setTargets(references, member, relationship)
    }

    /// Checks a relationship whose type or destination is spelled differently from the model.
    private func check(
        _ member: XMLMember, _ relationship: Relationship, _ type: String, _ destination: String
    ) throws {
        guard names.place(named: destination).map({ names.kinds[$0].entity === relationship.destination }) == true
        else {
            throw mismatch(
                member,
                "has the destination \"\(reader.short(destination))\" in the file, but "
                    + "\(relationship.destination.name) in the model",
                value: destination)
        }
        let counts = type.split(separator: "/", omittingEmptySubsequences: false).map { UInt32($0) }
        guard counts.count == 2, counts[0] != nil, let most = counts[1] else {
            throw damaged(
                member,
                "has the type \"\(reader.short(type))\", but needs minimum and maximum counts such as \"0/1\"",
                value: type)
        }
        if (most == 1) == relationship.isToMany {
            throw mismatch(
                member, "is \(most == 1 ? "to-one" : "to-many") in the file, but not in the model", value: type)
        }
    }

    private func setTargets(
        _ references: UnsafePointer<CChar>?, _ member: XMLMember, _ relationship: Relationship
    ) throws {
        targets.removeAll(keepingCapacity: true)
        if var place = references {
            while place.pointee != 0 {
                let start = place
                while place.pointee != 0, place.pointee != 0x20 { place += 1 }
                if place > start {
                    targets.append(try key(UnsafeBufferPointer(start: start, count: place - start), of: member))
                }
                // The parser has replaced other white space with spaces.
                if place.pointee == 0x20 { place += 1 }
            }
        }
        if !relationship.isToMany, let target = targets.first {
            if targets.count > 1 {
                throw damaged(
                    member, "is to-one, but refers to \(targets.count) objects",
                    value: references.map { reader.short(String(cString: $0)) })
            }
            // The entity of the target is set after all objects are read.
            writer.setTarget(target, entity: 0, member.slot, member.layout)
        }
        links.add(relationship, targets, at: reader.position)
    }

    // MARK: The end

    /// Adds all rows to the store.
    func finish(lastKey: Int64) throws {
        let highest = max(lastKey, highestKey)
        links.number(wordKeys, after: highest)
        try links.checkAndAdd()
        for root in nodes.model.entities where root.parent == nil {
            nodes.reserveKeys(of: root, upTo: highest + Int64(wordKeys.count))
        }
    }
}
