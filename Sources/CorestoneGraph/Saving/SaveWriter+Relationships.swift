import CorestoneModel

extension Context {
    /// Loads the changed ordered lists before the save changes them in the store.
    ///
    /// A member that was added through its own side of the relationship belongs at the end. After the save has changed
    /// the member's row, the list could not be read in this order: in the store, the member does not have a position,
    /// or has one from its former list.
    func loadOrders(of updated: [ManagedObject]) throws {
        var owners = GroupedElements<Relationship, ManagedObject>()
        for object in updated where object.state.contains(.membersChanged) {
            for collection in object.toManyRelationships {
                guard let collection, collection.relationship.isOrdered, collection.hasChanges, !collection.isLoaded
                else { continue }
                owners.add(object, to: collection.relationship)
            }
        }
        for (relationship, objects) in owners.list { try faultLoader.loadMembers(of: relationship, owners: objects) }
    }
}

extension SaveWriter {
    /// Writes the changed to-many relationships: join rows, then positions in ordered relationships.
    func writeRelationships(_ transaction: any SaveTransaction) throws {
        var links = LinkBatches(transaction: transaction)
        var ordered: [(owner: ManagedObject, collection: ToManyRelationship)] = []
        for object in plan.inserted { try note(object, &links, &ordered) }
        for object in plan.updated where object.state.contains(.membersChanged) { try note(object, &links, &ordered) }
        for object in plan.missingRowUpdates { try noteRemovedPairs(of: object, &links) }
        try links.flush()
        try writeOrders(ordered, transaction)
    }

    private func note(
        _ owner: ManagedObject, _ links: inout LinkBatches,
        _ ordered: inout [(owner: ManagedObject, collection: ToManyRelationship)]
    ) throws {
        // A custom store receives both sides of each pair, because a deleted object does not report its side.
        let reportsBothSides = store.references != nil
        for collection in owner.toManyRelationships {
            guard let collection, collection.hasChanges else { continue }
            if collection.relationship.ownsJoinRows
                || reportsBothSides && collection.relationship.inverse?.isToMany == true
            {
                try links.add(collection, of: owner)
            }
            if collection.relationship.isOrdered { ordered.append((owner, collection)) }
        }
    }

    /// Adds the removed join rows of an object whose row is missing, if the object's side owns the join rows.
    private func noteRemovedPairs(of object: ManagedObject, _ links: inout LinkBatches) throws {
        for collection in object.toManyRelationships {
            if let collection, collection.relationship.ownsJoinRows { try links.add(collection, of: object) }
        }
    }

    private func writeOrders(
        _ changed: [(owner: ManagedObject, collection: ToManyRelationship)], _ transaction: any SaveTransaction
    ) throws {
        var orders = GroupedElements<Relationship, (owner: Int64, members: [Int64])>()
        for (owner, collection) in changed {
            let members = try collection.all().filter { !$0.isDeleted && !$0.state.contains(.detached) }
                .map(\.primaryKey)
            orders.add((owner.primaryKey, members), to: collection.relationship)
        }
        for (relationship, owners) in orders.list { try transaction.setOrder(relationship, owners: owners) }
    }
}

/// The join rows to be written, by relationship.
///
/// A pair is never both added and removed, so batches can be written in any order.
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

    mutating func add(_ collection: ToManyRelationship, of owner: ManagedObject) throws {
        let relationship = collection.relationship
        let place = place(of: relationship)
        let mirrored = relationship.resolvedInverse === relationship
        for member in collection.addedMembers where member.state.isDisjoint(with: [.deleted, .detached]) {
            if mirrored && LinkBatches.isReportedByMember(owner, member) { continue }
            batches[place].added.append(Link(owner: owner.primaryKey, member: member.primaryKey))
        }
        for member in collection.removedMembers where !member.hasTemporaryID {
            if mirrored && LinkBatches.isReportedByMember(owner, member) { continue }
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

    /// Returns the index of a relationship's batch, which is added if it does not exist.
    ///
    /// A save changes few relationships, so the search is linear.
    private mutating func place(of relationship: Relationship) -> Int {
        if let known = batches.firstIndex(where: { $0.relationship === relationship }) { return known }
        batches.append(Batch(relationship: relationship))
        return batches.count - 1
    }

    /// Whether the member, and not the owner, reports the pair.
    ///
    /// In a relationship that is its own inverse, both objects list each pair, and the object with the lower key
    /// reports it.
    private static func isReportedByMember(_ owner: ManagedObject, _ member: ManagedObject) -> Bool {
        member.primaryKey < owner.primaryKey
    }
}
