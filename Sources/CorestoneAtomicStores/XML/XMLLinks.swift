import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The rows and references of an XML store.
///
/// The file contains both sides of a relationship. The two sides must agree, but an object can lack the element of a
/// to-many relationship. Its members are then those that refer to the object.
struct XMLLinks {
    private let nodes: Nodes
    private unowned let reader: XMLStoreReader
    private let areVersionsIgnored: Bool
    /// The rows in the order of the file, and the offset at which each ends.
    private var records: [Record] = []
    private var offsets: [Int] = []
    /// The rows by primary key, after all rows are read.
    private var table = KeyTable()
    private var lists: [List] = []
    private var members: [Int64] = []
    /// The primary keys of objects whose entity the model does not have.
    private var skipped: Set<Int64> = []
    /// The sums of both sides, by relationship.
    private var sums: [UInt32: Sums] = [:]
    /// The non-numeric IDs with their temporary keys, for messages.
    private var wordKeys: [String: Int64] = [:]
    /// The highest primary key of the file. The keys of non-numeric IDs follow it.
    private var highest: Int64 = 0

    /// The members or the target of one object in one relationship.
    private struct List {
        unowned(unsafe) let relationship: Relationship
        /// The index of the owner's row.
        let owner: Int
        var members: Range<Int>
        let offset: Int
    }

    /// Sums of hashes of the pairs. If two sides agree, the `there` of each side equals the `back` of the other side.
    private struct Sums {
        var there: UInt64 = 0
        var back: UInt64 = 0
    }

    private let seed = UInt64.random(in: .min ... .max)

    init(_ nodes: Nodes, _ reader: XMLStoreReader, areVersionsIgnored: Bool) {
        (self.nodes, self.reader, self.areVersionsIgnored) = (nodes, reader, areVersionsIgnored)
    }

    // MARK: While the file is read

    var count: Int { records.count }

    mutating func add(_ record: Record, at offset: Int) {
        records.append(record)
        offsets.append(offset)
    }

    /// Records the key of a skipped object, so that references to the object are removed.
    mutating func skip(_ key: Int64) { skipped.insert(key) }

    /// Adds the references of the object that is being read in a relationship.
    mutating func add(_ relationship: Relationship, _ references: [Int64], at offset: Int) {
        let start = members.count
        members += references
        lists.append(
            List(relationship: relationship, owner: records.count, members: start..<members.count, offset: offset))
    }

    /// Assigns the keys after `highest` to objects with non-numeric IDs, whose temporary keys are negative.
    mutating func number(_ wordKeys: [String: Int64], after highest: Int64) {
        if wordKeys.isEmpty { return }
        (self.wordKeys, self.highest) = (wordKeys, highest)
        for record in records where record.primaryKey < 0 {
            record.header.pointee.primaryKey = highest - record.primaryKey
        }
        for place in members.indices where members[place] < 0 { members[place] = highest - members[place] }
        skipped = Set(skipped.map { $0 < 0 ? highest - $0 : $0 })
    }

    // MARK: At the end

    /// Checks the references, and adds the rows and the lists that rows do not store.
    mutating func checkAndAdd() throws {
        table.reserve(records.count)
        for (place, record) in records.enumerated() {
            if table.set(record.primaryKey, record.start) != nil {
                throw reader.damaged(
                    "two objects have the id \(id(record.primaryKey))", at: offsets[place], entity: entity(record).name,
                    value: .string(idText(record.primaryKey)), object: uri(record))
            }
        }
        if !skipped.isEmpty { for place in lists.indices { lists[place].members = withoutSkipped(lists[place]) } }
        for list in lists { try validateMembers(list) }
        let missing = try missingLists()
        for (place, record) in records.enumerated() { try put(record, at: offsets[place]) }
        for list in lists where XMLLinks.isListed(list.relationship) && !list.members.isEmpty {
            nodes.setMembers(list.relationship, records[list.owner].primaryKey, Array(members[list.members]))
        }
        for (relationship, lists) in missing where XMLLinks.isListed(relationship) {
            for (owner, members) in lists.sorted(by: { $0.key < $1.key }) {
                nodes.setMembers(relationship, owner, members.sorted())
            }
        }
    }

    /// Whether rows do not store the members, or do not store their order.
    private static func isListed(_ relationship: Relationship) -> Bool {
        relationship.isToMany && (relationship.isOrdered || relationship.inverse?.isToMany ?? true)
    }

    private func entity(_ record: Record) -> Entity { nodes.model.entities[Int(record.header.pointee.entity)] }

    private func put(_ record: Record, at offset: Int) throws {
        try nodes.put(record) { properties, values in
            let names = properties.map(\.path).listed
            let unique = properties.count == 1 ? "unique \(names)" : "unique combination of \(names)"
            return reader.damaged(
                "object \(id(record.primaryKey)) of \(entity(record).name) has the same \(unique) as another object",
                at: offset, entity: entity(record).name, key: properties.first?.path,
                value: values.first, object: uri(record))
        }
    }

    /// Creates the error for an invalid member.
    ///
    /// - Parameter key: The primary key of the invalid member.
    private func damaged(_ list: List, _ problem: String, _ key: Int64) -> CoreError {
        reader.damaged(
            "\(described(list)) \(problem)", at: list.offset, entity: entity(records[list.owner]).name,
            key: list.relationship.name, value: .string(idText(key)), object: uri(records[list.owner]))
    }

    /// Returns the ID of an object in the file.
    private func idText(_ key: Int64) -> String {
        wordKeys.first { highest &- $0.value == key }?.key ?? "z\(key)"
    }

    /// Returns the ID of an object for a message.
    private func id(_ key: Int64) -> String {
        let text = idText(key)
        return text == "z\(key)" ? text : "\"\(reader.short(text))\""
    }

    private func uri(_ record: Record) -> String? { reader.uri(ofKey: record.primaryKey, entity(record)) }

    private func described(_ list: List) -> String {
        let record = records[list.owner]
        return "\(entity(record).name).\(list.relationship.name) of \(id(record.primaryKey))"
    }

    /// Creates the error for a reference to an object of the wrong entity.
    ///
    /// - Parameter target: The entity of the object. In the model with which the store was written, it may inherit from
    ///   the destination.
    private func invalidTargetError(_ list: List, to key: Int64, of target: Entity) -> CoreError {
        let (relationship, owner) = (list.relationship, entity(records[list.owner]).name)
        let problem = "refers to \(id(key)), an object of \(target.name), not of \(relationship.destination.name)"
        if !areVersionsIgnored { return damaged(list, problem, key) }
        return reader.mismatch(
            "\(described(list)) \(problem); open the store with the model it was written with", entity: owner,
            key: relationship.name, value: .string(idText(key)), object: uri(records[list.owner]))
    }

    /// Removes skipped members from a list in place, and returns the new range.
    private mutating func withoutSkipped(_ list: List) -> Range<Int> {
        let kept = members[list.members].filter { !skipped.contains($0) }
        if kept.count == list.members.count { return list.members }
        let start = list.members.lowerBound
        for (place, key) in kept.enumerated() { members[start + place] = key }
        if !list.relationship.isToMany { records[list.owner].clearTarget(Int(list.relationship.slot)) }
        return start..<start + kept.count
    }

    /// Checks that each member exists, has the right entity and occurs once; sets the entity of a to-one target.
    private mutating func validateMembers(_ list: List) throws {
        let (relationship, owner) = (list.relationship, records[list.owner])
        var (there, back): (UInt64, UInt64) = (0, 0)
        for place in list.members {
            let key = members[place]
            guard let found = table.find(key).map({ Record($0) }) else {
                throw damaged(list, "refers to \(id(key)), which does not exist", key)
            }
            guard entity(found).isKind(of: relationship.destination) else {
                throw invalidTargetError(list, to: key, of: entity(found))
            }
            there &+= mixed(owner.primaryKey, key)
            back &+= mixed(key, owner.primaryKey)
            if !relationship.isToMany {
                let layout = entity(owner).layout.slots[Int(relationship.slot)]
                owner.replaceTarget(key, entity: found.header.pointee.entity, layout)
            }
        }
        if let twice = repeated(members[list.members]) {
            throw damaged(list, "refers to \(id(twice)) twice", twice)
        }
        sums[relationship.key, default: Sums()].there &+= there
        sums[relationship.key, default: Sums()].back &+= back
    }

    /// Returns a key that occurs twice in a list; nil without such a key. Lists in files are usually sorted.
    private func repeated(_ keys: ArraySlice<Int64>) -> Int64? {
        if zip(keys, keys.dropFirst()).allSatisfy({ $0 < $1 }) { return nil }
        var seen: Set<Int64> = []
        return keys.first { !seen.insert($0).inserted }
    }

    /// Returns a hash of a pair, with a random seed, so that a malicious file cannot provoke collisions.
    private func mixed(_ owner: Int64, _ member: Int64) -> UInt64 {
        var number = UInt64(bitPattern: owner) &* 0x9E37_79B9_7F4A_7C15 ^ seed
        number = (number ^ number >> 29) &* 0xBF58_476D_1CE4_E5B9 &+ UInt64(bitPattern: member)
        number = (number ^ number >> 32) &* 0x94D0_49BB_1331_11EB
        return number ^ number >> 29
    }

    // MARK: Both sides

    private typealias Lists = [Int64: [Int64]]

    /// Returns the members that only the inverse side lists.
    ///
    /// Their owners do not have an element for the relationship.
    ///
    /// - Throws: `.storeCorrupt` if the two sides do not agree.
    private func missingLists() throws -> [(Relationship, Lists)] {
        var missing: [(Relationship, Lists)] = []
        for relationship in nodes.model.entities.flatMap(\.ownRelationships) {
            guard let inverse = relationship.inverse, relationship.key <= inverse.key else { continue }
            let (own, other) = (sums[relationship.key] ?? Sums(), sums[inverse.key] ?? Sums())
            if own.there == other.back && own.back == other.there { continue }
            missing.append((inverse, try missingLists(of: inverse, against: relationship)))
            missing.append((relationship, try missingLists(of: relationship, against: inverse)))
        }
        return missing
    }

    private func missingLists(of relationship: Relationship, against inverse: Relationship) throws -> Lists {
        var membersByOwner: [Int64: Set<Int64>] = [:]
        for list in lists where list.relationship === relationship {
            membersByOwner[records[list.owner].primaryKey, default: []].formUnion(members[list.members])
        }
        var missing: Lists = [:]
        for list in lists where list.relationship === inverse {
            let member = records[list.owner].primaryKey
            for owner in members[list.members] {
                if let known = membersByOwner[owner] {
                    if known.contains(member) { continue }
                } else if relationship.isToMany {
                    missing[owner, default: []].append(member)
                    continue
                }
                throw damaged(
                    list,
                    "refers to \(id(owner)), but \(relationship.entity.name).\(relationship.name) of \(id(owner)) "
                        + "does not refer back", owner)
            }
        }
        return missing
    }
}
