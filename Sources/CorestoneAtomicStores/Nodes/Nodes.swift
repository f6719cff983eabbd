import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The content of an atomic store: rows, pairs of relationships that rows do not store, and the order of members.
///
/// A transaction keeps a journal of its changes, so that it can be rolled back. `Nodes+Invariants.swift` lists the
/// invariants.
final class Nodes {
    let model: Model
    /// The rows of the entity trees, by the index of the root entity.
    private(set) var trees: [NodeTree]
    /// The pairs, by relationship and owner, for both sides.
    private(set) var pairs: [UInt32: [Int64: MemberList]] = [:]
    /// The order of members that refer to their owner by a to-one relationship.
    private(set) var orders: [UInt32: [Int64: MemberList]] = [:]

    /// The previous states of everything that the transaction changed, in order; nil outside a transaction.
    private var journal: [JournalEntry]?
    /// The lists whose previous state is in the journal.
    private var journaled: Set<ListKey> = []
    /// The orders whose previous state is in the journal.
    private var journaledOrders: Set<ListKey> = []

    private enum JournalEntry {
        case node(root: Int, key: Int64, Node?)
        case pairs(ListKey, MemberList?)
        case order(ListKey, MemberList?)
    }

    private struct ListKey: Hashable {
        let relationship: UInt32
        let owner: Int64
    }

    /// The highest assigned primary key of all trees, if the trees share one range of keys; else nil.
    private var sharedLastKey: Int64?

    /// Creates empty content.
    ///
    /// - Parameter lastSharedKey: The highest primary key that counts as assigned, if keys must be unique in the whole
    ///   store; else nil.
    init(_ model: Model, lastSharedKey: Int64? = nil) {
        (self.model, sharedLastKey) = (model, lastSharedKey)
        trees = model.entities.map { _ in NodeTree() }
        for entity in model.entities {
            trees[Int(entity.rootIndex)].uniques += entity.uniqueConstraints.map { UniqueIndex(entity, $0) }
        }
    }

    /// Returns the rows of the entity tree that contains an entity.
    func tree(of entity: Entity) -> NodeTree { trees[Int(entity.rootIndex)] }

    // MARK: Transactions

    func begin() { (journal, journaled, journaledOrders) = ([], [], []) }

    /// Ends the transaction. Returns whether it changed anything.
    func commit() -> Bool {
        defer { (journal, journaled, journaledOrders) = (nil, [], []) }
        checkInvariants()
        return journal?.isEmpty == false
    }

    var hasChanges: Bool { journal?.isEmpty == false }
    var isChanging: Bool { journal != nil }

    func rollBack() {
        let changes = journal ?? []
        (journal, journaled, journaledOrders) = (nil, [], [])
        for change in changes.reversed() {
            switch change {
            case .node(let root, let key, let node): put(node, [], at: key, trees[root])
            case .pairs(let place, let list): pairs[place.relationship, default: [:]][place.owner] = list
            case .order(let place, let keys): orders[place.relationship, default: [:]][place.owner] = keys
            }
        }
    }

    /// Replaces the whole content. Must not be called within a transaction.
    func replaceContent(_ others: Nodes) {
        (trees, pairs, orders, sharedLastKey) = (others.trees, others.pairs, others.orders, others.sharedLastKey)
    }

    // MARK: Rows

    func node(_ root: Entity, _ key: Int64) -> Node? { trees[Int(root.index)][key] }

    /// Returns the primary keys of an entity tree in ascending order.
    func keys(of root: Entity) -> [Int64] {
        var keys: [Int64] = []
        keys.reserveCapacity(trees[Int(root.index)].count)
        trees[Int(root.index)].forEach {
            keys.append($0.primaryKey)
            return true
        }
        return keys
    }

    /// Reserves primary keys, which are never reserved again. Returns the first key; nil if not enough keys are left.
    func reserveKeys(of root: Entity, count: Int) -> Int64? {
        let last = lastKey(of: root)
        let (end, overflow) = last.addingReportingOverflow(Int64(count))
        guard !overflow, end < .max else { return nil }
        reserveKeys(of: root, upTo: end)
        return last + 1
    }

    /// Returns the rows of an entity without those of its subentities, in the order of primary keys.
    func rows(of entity: Entity) -> [Node] {
        var rows: [Node] = []
        tree(of: entity).forEach {
            if $0.header.pointee.entity == entity.index { rows.append(Node($0)) }
            return true
        }
        return rows
    }

    /// The number of bytes of all records.
    var recordBytes: Int {
        var bytes = 0
        for tree in trees {
            tree.forEach {
                bytes += Int($0.header.pointee.size)
                return true
            }
        }
        return bytes
    }

    /// The number of bytes that the journal needs if the next change doubles it.
    var growthOfJournal: Int { (journal?.count ?? 0) * 64 }

    /// Returns the number of bytes that the journal and the indexes of a tree need if the next new row doubles them.
    func growth(of root: Entity) -> Int {
        let tree = trees[Int(root.index)]
        return growthOfJournal + (tree.uniques.count + tree.targets.count) * tree.count * 64
    }

    /// Marks all keys up to `key` as assigned.
    func reserveKeys(of root: Entity, upTo key: Int64) {
        if let last = sharedLastKey { return sharedLastKey = max(last, key) }
        trees[Int(root.index)].lastKey = max(trees[Int(root.index)].lastKey, key)
    }

    /// Returns the highest assigned primary key of an entity tree.
    func lastKey(of root: Entity) -> Int64 { sharedLastKey ?? trees[Int(root.index)].lastKey }

    /// The highest assigned primary key of the store, if the trees share their keys; else 0.
    var lastSharedKey: Int64 { sharedLastKey ?? 0 }

    /// Adds a row, or replaces the row with the same key.
    ///
    /// - Throws: The result of `violation`, which receives the properties and values of a violated unique constraint.
    ///   The content is then unchanged.
    func put(_ record: Record, _ violation: ([Property], [PropertyValue]) -> CoreError) throws {
        let entity = model.entities[Int(record.header.pointee.entity)]
        let (tree, key) = (trees[Int(entity.rootIndex)], record.primaryKey)
        var values: [UniqueValues?] = []
        for unique in tree.uniques {
            let own = unique.values(of: record, model)
            if let own, let holder = unique.holder(of: own), holder != key {
                throw violation(unique.properties, own.all)
            }
            values.append(own)
        }
        let former = put(Node(record), values, at: key, tree)
        journal?.append(.node(root: Int(entity.rootIndex), key: key, former))
    }

    /// Replaces a row with a row of the same values and another version, without updating the indexes.
    func replace(_ node: Node, at key: Int64, _ root: Entity) { _ = trees[Int(root.index)].put(node, at: key) }

    func remove(_ root: Entity, _ key: Int64) {
        let former = put(nil, [], at: key, trees[Int(root.index)])
        journal?.append(.node(root: Int(root.index), key: key, former))
        if let former { dropLists(of: former) }
    }

    /// Sets or removes the row of a key, and updates the indexes.
    ///
    /// - Parameter values: The row's values for each unique index; empty to read them from the row.
    @discardableResult
    private func put(_ node: Node?, _ values: [UniqueValues?], at key: Int64, _ tree: NodeTree) -> Node? {
        let former = tree.put(node, at: key)
        for (place, unique) in tree.uniques.enumerated() {
            unique.move(
                key, from: unique.values(of: former?.record, model),
                to: values.isEmpty ? unique.values(of: node?.record, model) : values[place])
        }
        for target in tree.targets {
            guard let left = target.move(key, from: former?.record, to: node?.record, model),
                let inverse = target.relationship.inverse, inverse.isOrdered
            else { continue }
            // If the member is added again without an order, it is placed at the end.
            removeFromOrder(inverse, left, key)
        }
        return former
    }

    private func dropLists(of node: Node) {
        let entity = model.entities[Int(node.record.header.pointee.entity)]
        for relationship in entity.relationships where relationship.isToMany {
            let place = ListKey(relationship: relationship.key, owner: node.record.primaryKey)
            if let list = pairs[place.relationship]?[place.owner] {
                recordPairs(place)
                pairs[place.relationship]?[place.owner] = nil
                guard let inverse = relationship.inverse else { continue }
                for member in list.keys { setPairs(inverse, member) { $0.remove(place.owner) } }
            }
            if orders[place.relationship]?[place.owner] != nil { setOrder(relationship, place.owner, []) }
        }
    }

    // MARK: Relationships

    /// Returns the keys of an object's members, in order.
    func members(_ relationship: Relationship, _ owner: Int64) -> [Int64] {
        guard let inverse = relationship.inverse, !inverse.isToMany else {
            return pairs[relationship.key]?[owner]?.keys ?? []
        }
        let keys = targetIndex(inverse).sources(of: owner)
        guard relationship.isOrdered, let order = orders[relationship.key]?[owner]?.keys else { return keys }
        let (known, placed) = (Set(keys), Set(order))
        return order.filter(known.contains) + keys.filter { !placed.contains($0) }
    }

    /// Returns the primary keys of the objects that may have members in a listed relationship, in order.
    func listOwners(of relationship: Relationship) -> [Int64] {
        let lists =
            relationship.inverse?.isToMany == false
            ? orders[relationship.key].map { Array($0.keys) } : pairs[relationship.key].map { Array($0.keys) }
        return lists?.sorted() ?? []
    }

    /// Returns the number of an object's members.
    func memberCount(_ relationship: Relationship, _ owner: Int64) -> Int {
        if let inverse = relationship.inverse, !inverse.isToMany { return targetIndex(inverse).count(of: owner) }
        guard let list = pairs[relationship.key]?[owner] else { return 0 }
        // The primary keys of deleted rows remain in a relationship without an inverse.
        if relationship.inverse != nil { return list.count }
        return list.keys.count { node(relationship.destination.root, $0) != nil }
    }

    /// Returns the index of a to-one relationship, which is created if necessary.
    func targetIndex(_ relationship: Relationship) -> TargetIndex {
        let tree = tree(of: relationship.entity)
        if let known = tree.targets.first(where: { $0.relationship === relationship }) { return known }
        let index = TargetIndex(relationship)
        tree.forEach {
            _ = index.move($0.primaryKey, from: nil, to: $0, model)
            return true
        }
        tree.targets.append(index)
        return index
    }

    /// Adds and removes pairs on both sides of a relationship.
    func link(_ relationship: Relationship, added: [Link], removed: [Link]) {
        change(relationship, added.map { ($0.owner, $0.member) }, removed.map { ($0.owner, $0.member) })
        guard let inverse = relationship.inverse else { return }
        change(inverse, added.map { ($0.member, $0.owner) }, removed.map { ($0.member, $0.owner) })
    }

    private func change(_ relationship: Relationship, _ added: [(Int64, Int64)], _ removed: [(Int64, Int64)]) {
        for (owner, links) in Dictionary(grouping: removed, by: \.0) {
            setPairs(relationship, owner) { list in for link in links { list.remove(link.1) } }
        }
        for (owner, member) in added { setPairs(relationship, owner) { $0.add(member) } }
    }

    /// Sets all members of an object, in order; if the inverse is to-one, sets only their order.
    func setMembers(_ relationship: Relationship, _ owner: Int64, _ members: [Int64]) {
        if let inverse = relationship.inverse, !inverse.isToMany {
            setOrder(relationship, owner, members)
        } else {
            setPairs(relationship, owner) { $0 = MemberList(members) }
        }
    }

    private func setPairs(_ relationship: Relationship, _ owner: Int64, _ body: (inout MemberList) -> Void) {
        recordPairs(ListKey(relationship: relationship.key, owner: owner))
        body(&pairs[relationship.key, default: [:]][owner, default: MemberList()])
    }

    private func setOrder(_ relationship: Relationship, _ owner: Int64, _ keys: [Int64]) {
        let place = ListKey(relationship: relationship.key, owner: owner)
        if orders[place.relationship]?[owner]?.keys ?? [] == keys { return }
        recordOrder(place)
        orders[place.relationship, default: [:]][owner] = MemberList(keys)
    }

    private func removeFromOrder(_ relationship: Relationship, _ owner: Int64, _ key: Int64) {
        let place = ListKey(relationship: relationship.key, owner: owner)
        if orders[place.relationship]?[owner] == nil { return }
        recordOrder(place)
        orders[place.relationship]?[owner]?.remove(key)
    }

    /// Records an order in the journal before it changes.
    private func recordOrder(_ place: ListKey) {
        guard journal != nil, journaledOrders.insert(place).inserted else { return }
        journal?.append(.order(place, orders[place.relationship]?[place.owner]))
    }

    /// Records the pairs in the journal before they change.
    private func recordPairs(_ place: ListKey) {
        guard journal != nil, journaled.insert(place).inserted else { return }
        journal?.append(.pairs(place, pairs[place.relationship]?[place.owner]))
    }
}
