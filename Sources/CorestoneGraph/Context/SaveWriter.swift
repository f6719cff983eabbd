import CorestoneModel
import CorestoneValues

/// Writes a save plan into one store: keys, records, rows, links, orders; then hands the new records to the objects.
///
/// Objects get their final keys while the transaction runs and lose them again when it fails.
final class SaveWriter {
    private let context: Context
    let store: Store
    private let plan: SavePlan
    private var writer: RecordWriter
    /// The new record of each inserted, then of each updated object.
    private var insertedRecords: [Record] = []
    private var updatedRecords: [Record] = []
    /// Objects whose key was given by this save, with the temporary one.
    private var rekeyed: [(object: ManagedObject, temporary: Int64)] = []

    init(context: Context, store: Store, plan: SavePlan) {
        self.context = context
        self.store = store
        self.plan = plan
        writer = RecordWriter(expectedBytes: (plan.inserted.count + plan.updated.count) * 128)
    }

    func write(in transaction: any SaveTransaction) throws {
        try giveKeys(transaction)
        insertedRecords = try plan.inserted.map { try record(of: $0, version: 1) }
        updatedRecords = try plan.updated.map { try record(of: $0, version: $0.version &+ ($0.concernsStore ? 1 : 0)) }
        // What goes makes room for what comes: a unique value may pass from a deleted object to a new one.
        var conflicts = try deleteRows(transaction)
        conflicts += try updateRows(transaction)
        if !conflicts.isEmpty { throw try conflictError(conflicts) }
        try insertRows(transaction)
        try writeLinks(transaction)
        try writeOrders(transaction)
    }

    // MARK: Keys

    private func giveKeys(_ transaction: any SaveTransaction) throws {
        for (root, objects) in groupedByRoot(plan.inserted.filter(\.hasTemporaryID)) {
            let first = try transaction.reservePrimaryKeys(of: root, count: objects.count)
            for (place, object) in objects.enumerated() {
                rekeyed.append((object, object.primaryKey))
                object.primaryKey = first + Int64(place)
            }
        }
    }

    /// The transaction failed: temporary keys are back.
    func undo() { for (object, temporary) in rekeyed { object.primaryKey = temporary } }

    // MARK: Records

    /// The object's state as the row that it becomes.
    private func record(of object: ManagedObject, version: Int32) throws -> Record {
        let entity = object.entity
        writer.begin(primaryKey: object.primaryKey, version: version, entity: entity)
        let base = object.record.map { Record($0) }
        for slot in 0..<Int(entity.slotCount) {
            let layout = entity.layout.slots[slot]
            if layout.kind == .none { continue }
            if let overlay = object.overlay, overlay.isChanged(slot) {
                if case .object(let target as ManagedObject) = overlay.values[slot] {
                    if target.state.isDisjoint(with: [.gone, .deleted]) && !target.hasTemporaryID {
                        writer.setTarget(target.primaryKey, entity: target.entity.index, slot, layout)
                    }
                } else {
                    writer.set(ValueView(overlay.values[slot]), slot, layout)
                }
            } else if let base {
                writer.set(base.view(slot, layout), slot, layout)
            }
        }
        return writer.finish()
    }

    // MARK: Rows

    private func insertRows(_ transaction: any SaveTransaction) throws {
        for (entity, places) in placesByEntity(plan.inserted) {
            try transaction.insert(places.map { insertedRecords[$0] }, entity: entity)
        }
    }

    private func updateRows(_ transaction: any SaveTransaction) throws -> [ManagedObject] {
        var conflicts: [ManagedObject] = []
        for (entity, places) in placesByEntity(plan.updated) {
            let changed = places.filter { plan.updated[$0].concernsStore }
            if changed.isEmpty { continue }
            let rows = changed.map { place in
                let object = plan.updated[place]
                return UpdatedRow(
                    record: updatedRecords[place], oldVersion: object.version, changedSlots: object.changedStoredSlots)
            }
            conflicts += try transaction.update(rows, entity: entity).map { plan.updated[changed[$0]] }
        }
        return conflicts
    }

    private func deleteRows(_ transaction: any SaveTransaction) throws -> [ManagedObject] {
        var conflicts: [ManagedObject] = []
        for (entity, places) in placesByEntity(plan.deleted) {
            let rows = places.map { (plan.deleted[$0].primaryKey, plan.deleted[$0].version) }
            conflicts += try transaction.delete(rows, entity: entity).map { plan.deleted[places[$0]] }
        }
        return conflicts
    }

    private func placesByEntity(_ objects: [ManagedObject]) -> [(entity: Entity, places: [Int])] {
        var groups: [(entity: Entity, places: [Int])] = []
        var known: [ObjectIdentifier: Int] = [:]
        for (place, object) in objects.enumerated() {
            let entity = object.entity
            // By place: a copy of the last group would share its list, and each append would copy that.
            if !groups.isEmpty, groups[groups.count - 1].entity === entity {
                groups[groups.count - 1].places.append(place)
            } else if let group = known[ObjectIdentifier(entity)] {
                groups[group].places.append(place)
            } else {
                known[ObjectIdentifier(entity)] = groups.count
                groups.append((entity, [place]))
            }
        }
        return groups.sorted { $0.entity.number < $1.entity.number }
    }

    // MARK: Relationships

    /// Pairs of many-to-many relationships, from one side each, and of to-many relationships without inverse.
    private func writeLinks(_ transaction: any SaveTransaction) throws {
        var links: [(relationship: Relationship, added: [Link], removed: [Link])] = []
        var places: [ObjectIdentifier: Int] = [:]
        forEachChangedToMany { owner, keeper in
            let relationship = keeper.relationship
            if let inverse = relationship.inverse, !inverse.isToMany || !SaveWriter.speaks(relationship, over: inverse)
            {
                return
            }
            let place = places[ObjectIdentifier(relationship)] ?? links.count
            if place == links.count {
                places[ObjectIdentifier(relationship)] = place
                links.append((relationship, [], []))
            }
            let mirrored = relationship.inverse === relationship
            for member in keeper.addedMembers where !member.isDeleted && !member.state.contains(.gone) {
                if mirrored && SaveWriter.isSaidByOther(owner, member) { continue }
                links[place].added.append(Link(owner: owner.primaryKey, member: member.primaryKey))
            }
            for member in keeper.removedMembers where !member.hasTemporaryID {
                if mirrored && SaveWriter.isSaidByOther(owner, member) { continue }
                links[place].removed.append(Link(owner: owner.primaryKey, member: member.primaryKey))
            }
        }
        for (relationship, added, removed) in links where !added.isEmpty || !removed.isEmpty {
            try transaction.link(relationship, added: added, removed: removed)
        }
    }

    /// Of a relationship that is its own inverse both ends hold each pair; the one with the lower key says it.
    private static func isSaidByOther(_ owner: ManagedObject, _ member: ManagedObject) -> Bool {
        member.primaryKey < owner.primaryKey
    }

    /// Which of two to-many inverses tells the pairs: the one whose entity has the lower number.
    static func speaks(_ relationship: Relationship, over inverse: Relationship) -> Bool {
        if relationship === inverse { return true }
        let (a, b) = (relationship.entity.number, inverse.entity.number)
        return a == b ? relationship.name < inverse.name : a < b
    }

    private func writeOrders(_ transaction: any SaveTransaction) throws {
        var orders: [(relationship: Relationship, owners: [(owner: Int64, members: [Int64])])] = []
        var changed: [(owner: ManagedObject, keeper: ToManyRelationship)] = []
        forEachChangedToMany { owner, keeper in
            if keeper.relationship.isOrdered { changed.append((owner, keeper)) }
        }
        for (owner, keeper) in changed {
            let members = try keeper.all().filter { !$0.isDeleted && !$0.state.contains(.gone) }.map(\.primaryKey)
            if let place = orders.firstIndex(where: { $0.relationship === keeper.relationship }) {
                orders[place].owners.append((owner.primaryKey, members))
            } else {
                orders.append((keeper.relationship, [(owner.primaryKey, members)]))
            }
        }
        for (relationship, owners) in orders { try transaction.setOrder(relationship, owners: owners) }
    }

    private func forEachChangedToMany(_ body: (ManagedObject, ToManyRelationship) -> Void) {
        for object in plan.inserted { object.forEachChangedToMany(body) }
        for object in plan.updated where object.state.contains(.membersChanged) { object.forEachChangedToMany(body) }
    }

    // MARK: After the commit

    /// Objects take their new records; the row cache too.
    func commit() {
        for (object, temporary) in rekeyed {
            let key = object.primaryKey
            object.primaryKey = temporary
            context.makePermanent(object, store: store, key: key)
        }
        adopt(insertedRecords, plan.inserted)
        adopt(updatedRecords, plan.updated)
        forgetDeletedMembers()
        for object in plan.deleted {
            store.rowCache.remove(object.entity.root, object.primaryKey)
            context.unregister(object)
            object.leaveContext()
        }
    }

    /// Lists of relationships without inverse are told by nobody else that a member is gone.
    private func forgetDeletedMembers() {
        let roots = Set(plan.deleted.map { ObjectIdentifier($0.entity.root) })
        let concerned = context.coordinator.model.entities.contains { entity in
            entity.ownRelationships.contains {
                $0.isToMany && $0.inverse == nil && roots.contains(ObjectIdentifier($0.destination.root))
            }
        }
        guard concerned else { return }
        for object in context.registeredObjects {
            for keeper in object.toManyRelationships { keeper?.forgetDeleted() }
        }
    }

    private func adopt(_ records: [Record], _ objects: [ManagedObject]) {
        store.rowCache.keep(writer.chunks)
        for (place, object) in objects.enumerated() {
            object.didSave(records[place])
            store.rowCache.add(records[place], root: object.entity)
        }
    }
}

extension ManagedObject {
    /// The changed slots that a row has a place for.
    var changedStoredSlots: [Int] {
        guard let overlay else { return [] }
        return (0..<Int(entity.slotCount)).filter { overlay.isChanged($0) && entity.layout.slots[$0].kind != .none }
    }

    /// Whether a save writes the object's row: a change of transient properties alone does not.
    var concernsStore: Bool { state.contains(.membersChanged) || !changedStoredSlots.isEmpty }

    func forEachChangedToMany(_ body: (ManagedObject, ToManyRelationship) -> Void) {
        for keeper in toManyRelationships { if let keeper, keeper.hasChanges { body(self, keeper) } }
    }

    /// The store holds what the object holds. Transient values stay.
    func didSave(_ new: Record) {
        setRecord(new)
        for keeper in toManyRelationships { keeper?.didSave() }
        state.subtract([.inserted, .updated, .membersChanged, .fault])
        guard let overlay else { return }
        for slot in 0..<Int(entity.slotCount) where overlay.isChanged(slot) {
            let layout = entity.layout.slots[slot]
            if layout.role == .transient { continue }
            if layout.role == .toOne { keepSavedTarget(overlay.values[slot], ordinal: Int(layout.ordinal)) }
            overlay.clear(slot)
        }
        if overlay.isEmpty {
            overlay.deallocate()
            self.overlay = nil
        }
    }

    /// A target that was set moves from the overlay to the targets that the record names.
    private func keepSavedTarget(_ value: PropertyValue, ordinal: Int) {
        if case .object(let target as ManagedObject) = value, !target.state.contains(.gone) {
            keepTarget(target, ordinal: ordinal)
        } else {
            dropTarget(ordinal)
        }
    }
}
