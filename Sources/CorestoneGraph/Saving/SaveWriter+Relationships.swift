import CorestoneModel

extension Context {
    /// Reads the ordered lists that a save puts in order, while the store still has them as they were: a member that came by
    /// its own side has a place at the end, and in the store none yet or one in the list that it left.
    func loadOrders(of updated: [ManagedObject]) throws {
        var owners = Groups<Relationship, ManagedObject>()
        for object in updated where object.state.contains(.membersChanged) {
            for keeper in object.toManyRelationships {
                guard let keeper, keeper.relationship.isOrdered, keeper.hasChanges, !keeper.isLoaded else { continue }
                owners.add(object, to: keeper.relationship)
            }
        }
        for (relationship, objects) in owners.list { try loadMembers(of: relationship, owners: objects) }
    }
}

extension SaveWriter {
    /// The changed to-many relationships of the objects that are saved: pairs, then places in ordered relationships.
    func writeRelationships(_ transaction: any SaveTransaction) throws {
        var links = LinkBatches(transaction: transaction)
        var ordered: [(owner: ManagedObject, keeper: ToManyRelationship)] = []
        for object in plan.inserted { try note(object, &links, &ordered) }
        for object in plan.updated where object.state.contains(.membersChanged) { try note(object, &links, &ordered) }
        for ghost in plan.ghosts { try noteEnds(of: ghost, &links) }
        try links.flush()
        try writeOrders(ordered, transaction)
    }

    private func note(
        _ owner: ManagedObject, _ links: inout LinkBatches,
        _ ordered: inout [(owner: ManagedObject, keeper: ToManyRelationship)]
    ) throws {
        // A store of a host's own kind is told both sides of each pair: what is gone tells none.
        let tellsAll = store.references != nil
        for keeper in owner.toManyRelationships {
            guard let keeper, keeper.hasChanges else { continue }
            if keeper.relationship.tellsPairs || tellsAll && keeper.relationship.inverse?.isToMany == true {
                try links.take(keeper, of: owner)
            }
            if keeper.relationship.isOrdered { ordered.append((owner, keeper)) }
        }
    }

    /// The pairs that a ghost tells, which its partners therefore do not.
    private func noteEnds(of ghost: ManagedObject, _ links: inout LinkBatches) throws {
        for keeper in ghost.toManyRelationships {
            if let keeper, keeper.relationship.tellsPairs { try links.take(keeper, of: ghost) }
        }
    }

    private func writeOrders(
        _ changed: [(owner: ManagedObject, keeper: ToManyRelationship)], _ transaction: any SaveTransaction
    ) throws {
        var orders = Groups<Relationship, (owner: Int64, members: [Int64])>()
        for (owner, keeper) in changed {
            let members = try keeper.all().filter { !$0.isDeleted && !$0.state.contains(.gone) }.map(\.primaryKey)
            orders.add((owner.primaryKey, members), to: keeper.relationship)
        }
        for (relationship, owners) in orders.list { try transaction.setOrder(relationship, owners: owners) }
    }
}

/// Pairs on their way to the store, by relationship. A pair is never both added and removed, so that what comes early may go
/// down early.
private struct LinkBatches {
    private struct Batch {
        let relationship: Relationship
        var added: [Link] = []
        var removed: [Link] = []
    }

    let transaction: any SaveTransaction
    private var batches: [Batch] = []

    private static let size = 1024

    init(transaction: any SaveTransaction) { self.transaction = transaction }

    mutating func take(_ keeper: ToManyRelationship, of owner: ManagedObject) throws {
        let relationship = keeper.relationship
        let place = place(of: relationship)
        let mirrored = relationship.settledInverse === relationship
        for member in keeper.addedMembers where member.state.isDisjoint(with: [.deleted, .gone]) {
            if mirrored && LinkBatches.isSaidByOther(owner, member) { continue }
            batches[place].added.append(Link(owner: owner.primaryKey, member: member.primaryKey))
        }
        for member in keeper.removedMembers where !member.hasTemporaryID {
            if mirrored && LinkBatches.isSaidByOther(owner, member) { continue }
            batches[place].removed.append(Link(owner: owner.primaryKey, member: member.primaryKey))
        }
        if batches[place].added.count + batches[place].removed.count >= LinkBatches.size { try flush(place) }
    }

    mutating func flush() throws { for place in batches.indices { try flush(place) } }

    private mutating func flush(_ place: Int) throws {
        let batch = batches[place]
        if batch.added.isEmpty && batch.removed.isEmpty { return }
        try transaction.link(batch.relationship, added: batch.added, removed: batch.removed)
        batches[place].added.removeAll(keepingCapacity: true)
        batches[place].removed.removeAll(keepingCapacity: true)
    }

    /// A save knows few relationships, so they are searched.
    private mutating func place(of relationship: Relationship) -> Int {
        if let known = batches.firstIndex(where: { $0.relationship === relationship }) { return known }
        batches.append(Batch(relationship: relationship))
        return batches.count - 1
    }

    /// Of a relationship that is its own inverse both ends hold each pair; the one with the lower key says it.
    private static func isSaidByOther(_ owner: ManagedObject, _ member: ManagedObject) -> Bool {
        member.primaryKey < owner.primaryKey
    }
}
