import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The rows of an XML store and what leads from one to another. Both sides of a relationship are in the file, and have to agree.
struct XMLLinks {
    private let nodes: Nodes
    private unowned let reader: XMLStoreReader
    private let areVersionsIgnored: Bool
    /// In the order of the file, and where each ends there.
    private var records: [Record] = []
    private var offsets: [Int] = []
    /// The rows by key, once all are there.
    private var table = KeyTable()
    private var lists: [List] = []
    private var members: [Int64] = []
    /// Keys of objects that the model has no entity for.
    private var leftOut: Set<Int64> = []
    /// By relationship.
    private var sums: [UInt32: Sums] = [:]
    /// The IDs that are not numbers, with their keys while the file is read, for messages.
    private var wordKeys: [String: Int64] = [:]
    /// The key of the file after which theirs follow.
    private var highest: Int64 = 0

    /// What one object has of one relationship.
    private struct List {
        unowned(unsafe) let relationship: Relationship
        /// The place of the owner's row.
        let owner: Int
        var members: Range<Int>
        let offset: Int
    }

    /// The sum of a number for each pair: of two sides that agree, one's `there` is the other's `back`.
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

    /// Nothing leads to the object of that key, and it has no row.
    mutating func leaveOut(_ key: Int64) { leftOut.insert(key) }

    /// What the object that comes next has of a relationship.
    mutating func add(_ relationship: Relationship, _ references: [Int64], at offset: Int) {
        let start = members.count
        members += references
        lists.append(
            List(relationship: relationship, owner: records.count, members: start..<members.count, offset: offset))
    }

    /// Gives those whose keys are negative, since their IDs are no numbers, the keys after `highest`.
    mutating func number(_ wordKeys: [String: Int64], after highest: Int64) {
        if wordKeys.isEmpty { return }
        (self.wordKeys, self.highest) = (wordKeys, highest)
        for record in records where record.primaryKey < 0 {
            record.header.pointee.primaryKey = highest - record.primaryKey
        }
        for place in members.indices where members[place] < 0 { members[place] = highest - members[place] }
        leftOut = Set(leftOut.map { $0 < 0 ? highest - $0 : $0 })
    }

    // MARK: At the end

    /// Puts the rows in, and the lists that rows do not tell.
    mutating func settle() throws {
        table.reserve(records.count)
        for (place, record) in records.enumerated() {
            if table.set(record.primaryKey, record.start) != nil {
                throw reader.damaged(
                    "two objects have the id \(id(record.primaryKey))", at: offsets[place], entity: entity(record).name,
                    value: .string(idText(record.primaryKey)), object: uri(record))
            }
        }
        if !leftOut.isEmpty { for place in lists.indices { lists[place].members = known(lists[place]) } }
        for list in lists { try settle(list) }
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

    /// Whether rows do not tell the members, or not their order.
    private static func isListed(_ relationship: Relationship) -> Bool {
        relationship.isToMany && (relationship.isOrdered || relationship.inverse?.isToMany ?? true)
    }

    private func entity(_ record: Record) -> Entity { nodes.model.entities[Int(record.header.pointee.entity)] }

    private func put(_ record: Record, at offset: Int) throws {
        try nodes.put(record) { properties, values in
            let names = properties.map(\.name).joined(separator: ", ")
            let subject = properties.count == 1 ? "it" : "they"
            return reader.damaged(
                "object \(id(record.primaryKey)) of \(entity(record).name) has the same \(names) as another object, but \(subject) must "
                    + "be unique", at: offset, entity: entity(record).name, key: properties.first?.name,
                value: values.first, object: uri(record))
        }
    }

    /// - Parameter key: The key of the member that is wrong.
    private func damaged(_ list: List, _ what: String, _ key: Int64) -> CoreError {
        reader.damaged(
            "\(described(list)) \(what)", at: list.offset, entity: entity(records[list.owner]).name,
            key: list.relationship.name, value: .string(idText(key)), object: uri(records[list.owner]))
    }

    /// The ID of an object as the file has it.
    private func idText(_ key: Int64) -> String {
        wordKeys.first { highest &- $0.value == key }?.key ?? "z\(key)"
    }

    /// The same for a message.
    private func id(_ key: Int64) -> String {
        let text = idText(key)
        return text == "z\(key)" ? text : "\"\(reader.short(text))\""
    }

    private func uri(_ record: Record) -> String? { reader.uri(ofKey: record.primaryKey, entity(record)) }

    private func described(_ list: List) -> String {
        let record = records[list.owner]
        return "\(entity(record).name).\(list.relationship.name) of \(id(record.primaryKey))"
    }

    /// - Parameter target: The entity of the object, which another model may have in the tree of the destination.
    private func misled(_ list: List, to key: Int64, of target: Entity) -> CoreError {
        let (relationship, owner) = (list.relationship, entity(records[list.owner]).name)
        let what = "refers to \(id(key)), an object of \(target.name), not of \(relationship.destination.name)"
        if !areVersionsIgnored { return damaged(list, what, key) }
        return reader.mismatch(
            "\(described(list)) \(what); open the store with the model it was written with", entity: owner,
            key: relationship.name, value: .string(idText(key)), object: uri(records[list.owner]))
    }

    /// The members of a list without those that are left out, in its place.
    private mutating func known(_ list: List) -> Range<Int> {
        let kept = members[list.members].filter { !leftOut.contains($0) }
        if kept.count == list.members.count { return list.members }
        let start = list.members.lowerBound
        for (place, key) in kept.enumerated() { members[start + place] = key }
        if !list.relationship.isToMany { records[list.owner].clearTarget(Int(list.relationship.slot)) }
        return start..<start + kept.count
    }

    /// Whether all members are there, once each; has a to-one relationship lead to the right entity.
    private mutating func settle(_ list: List) throws {
        let (relationship, owner) = (list.relationship, records[list.owner])
        var (there, back): (UInt64, UInt64) = (0, 0)
        for place in list.members {
            let key = members[place]
            guard let found = table.find(key).map({ Record($0) }) else {
                throw damaged(list, "refers to \(id(key)), which does not exist", key)
            }
            guard entity(found).isKind(of: relationship.destination) else {
                throw misled(list, to: key, of: entity(found))
            }
            there &+= mixed(owner.primaryKey, key)
            back &+= mixed(key, owner.primaryKey)
            if !relationship.isToMany {
                let layout = entity(owner).layout.slots[Int(relationship.slot)]
                owner.settleTarget(key, entity: found.header.pointee.entity, layout)
            }
        }
        if let twice = repeated(members[list.members]) {
            throw damaged(list, "refers to \(id(twice)) twice", twice)
        }
        sums[relationship.key, default: Sums()].there &+= there
        sums[relationship.key, default: Sums()].back &+= back
    }

    /// The key that a list has twice. Those that a store writes are mostly in order.
    private func repeated(_ keys: ArraySlice<Int64>) -> Int64? {
        if zip(keys, keys.dropFirst()).allSatisfy({ $0 < $1 }) { return nil }
        var seen: Set<Int64> = []
        return keys.first { !seen.insert($0).inserted }
    }

    /// A number for a pair that nobody can foresee.
    private func mixed(_ owner: Int64, _ member: Int64) -> UInt64 {
        var number = UInt64(bitPattern: owner) &* 0x9E37_79B9_7F4A_7C15 ^ seed
        number = (number ^ number >> 29) &* 0xBF58_476D_1CE4_E5B9 &+ UInt64(bitPattern: member)
        number = (number ^ number >> 32) &* 0x94D0_49BB_1331_11EB
        return number ^ number >> 29
    }

    // MARK: Both sides

    private typealias Lists = [Int64: [Int64]]

    /// Members that only their own side tells, since their owner has no element for the relationship.
    ///
    /// - Throws: for two sides that do not agree.
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
        var told: [Int64: Set<Int64>] = [:]
        for list in lists where list.relationship === relationship {
            told[records[list.owner].primaryKey, default: []].formUnion(members[list.members])
        }
        var missing: Lists = [:]
        for list in lists where list.relationship === inverse {
            let member = records[list.owner].primaryKey
            for owner in members[list.members] {
                if let known = told[owner] {
                    if known.contains(member) { continue }
                } else if relationship.isToMany {
                    missing[owner, default: []].append(member)
                    continue
                }
                throw damaged(list, "refers to \(id(owner)), but its \(relationship.name) does not refer back", owner)
            }
        }
        return missing
    }
}
