import CorestoneModel

extension SaveWriter {
    /// The maximum number of rows per batch.
    ///
    /// A batch fits in the processor's cache, so that its records are still cached when they are bound.
    private static let batchSize = 256

    func insertRows(_ transaction: any SaveTransaction) throws {
        insertedRecords = Array(repeating: nil, count: plan.inserted.count)
        var batch: [Record] = []
        batch.reserveCapacity(min(plan.inserted.count, SaveWriter.batchSize))
        for (entity, places) in placesByEntity(plan.inserted) {
            for (count, place) in places.enumerated() {
                let object = plan.inserted[place]
                let former = object.version
                let record = try record(
                    of: object, version: former == 0 ? 1 : RowVersion.revived(former), transaction)
                insertedRecords[place] = record
                batch.append(record)
                if batch.count == SaveWriter.batchSize || count == places.count - 1 {
                    try transaction.insert(batch, entity: entity)
                    batch.removeAll(keepingCapacity: true)
                }
            }
        }
    }

    /// Updates rows, and returns whether the version of any row differs from its object's version.
    func updateRows(_ transaction: any SaveTransaction) throws -> Bool {
        var isStale = false
        for (entity, places) in placesByEntity(plan.updated) {
            isStale = try updateRows(places, of: entity, transaction) || isStale
        }
        return isStale
    }

    /// Updates the rows of one entity in batches with the same changed properties.
    private func updateRows(_ places: [Int], of entity: Entity, _ transaction: any SaveTransaction) throws -> Bool {
        var (isStale, rows) = (false, [UpdatedRow]())
        let keepsHistory = store.backing.keepsHistory
        rows.reserveCapacity(min(places.count, SaveWriter.batchSize))
        var shape = ChangeShape(of: plan.updated[places[0]])
        func flush() throws {
            if rows.isEmpty { return }
            isStale = try !transaction.update(rows, slots: shape.slots, entity: entity).isEmpty || isStale
            rows.removeAll(keepingCapacity: true)
        }
        for place in places {
            prefetchRow(place + SaveWriter.prefetchDistance)
            let object = plan.updated[place]
            if rows.count == SaveWriter.batchSize || !shape.fits(object) {
                try flush()
                if !shape.fits(object) { shape = ChangeShape(of: object) }
            }
            let version = object.version
            let record = try updatedRecord(of: object, shape, transaction)
            updatedRecords[place] = record
            // Changed members do not change a value of the row but increase its version. This includes members that
            // were added and removed again, or that a merge policy inserted again.
            let hasMembers = object.state.contains(.membersChanged)
            let equalSlots = equalSlots(of: object, record, shape, all: keepsHistory)
            guard hasMembers || equalSlots.count < shape.slots.count else {
                // The row is not written, but a newer version in the store is still a conflict.
                if !shape.slots.isEmpty {
                    isStale =
                        try !transaction.isCurrent(object.primaryKey, version: version, entity: entity) || isStale
                }
                continue
            }
            record.setVersion(RowVersion.next(version))
            let members = keepsHistory && hasMembers ? object.changedToMany : []
            rows.append(UpdatedRow(record: record, oldVersion: version, members: members, equalSlots: equalSlots))
        }
        try flush()
        return isStale
    }

    /// Returns the changed slots whose values equal the former values.
    ///
    /// If all values are equal and members did not change, the row is not written. The store's history lists only the
    /// slots whose values differ. Unless `all` is true, the result is empty if any value differs. It is also empty if
    /// equal rows are written too: for `writesEqualRows`, or after unique values were cleared.
    private func equalSlots(
        of object: ManagedObject, _ record: Record, _ shape: ChangeShape, all: Bool
    ) -> [Int] {
        // A unique value that was cleared for an exchange must be written again.
        guard let base = object.record.map({ Record($0) }), !writesEqualRows, !context.mergeState.passesUniqueValues
        else {
            return []
        }
        let layouts = object.entity.layout.slots
        func isEqual(_ slot: Int) -> Bool { record.isEqual(to: base, slot, layouts[slot]) }
        if all { return shape.slots.filter(isEqual) }
        return shape.slots.allSatisfy(isEqual) ? shape.slots : []
    }

    /// Clears the changed unique values, so that objects can exchange them.
    func clearChangedUniqueValues(_ transaction: any SaveTransaction) throws {
        for (entity, places) in placesByEntity(plan.updated) {
            let unique = Set(entity.allUniqueConstraints.flatMap { entity.slots(of: $0.attributes) })
            for object in places.map({ plan.updated[$0] }) {
                let slots = object.changedStoredSlots.filter(unique.contains)
                if !slots.isEmpty { try transaction.clear(slots, of: object.primaryKey, entity: entity) }
            }
        }
    }

    /// Deletes rows, and returns whether the version of any row differs from its object's version.
    func deleteRows(_ transaction: any SaveTransaction) throws -> Bool {
        var isStale = false
        for (entity, places) in placesByEntity(plan.deleted) {
            let rows = places.map { plan.deleted[$0] }.filter { !context.changeTracker.isRowDeleted($0) }.map {
                (primaryKey: $0.primaryKey, version: $0.version)
            }
            isStale = try !transaction.delete(rows, entity: entity).isEmpty || isStale
        }
        return isStale
    }

    /// Whether the row of an unchanged object that the application locked has another version.
    func checkLocked(_ transaction: any SaveTransaction) throws -> Bool {
        try context.changeTracker.locked.contains { object in
            // A fault does not have a version, because it was refreshed, and the next access reads the newest row.
            guard object.store === store, !object.hasChanges, !object.isGone, object.record != nil else { return false }
            return try !transaction.isCurrent(object.primaryKey, version: object.version, entity: object.entity)
        }
    }

    /// Returns the indexes of the objects by entity, in the order of the entities' numbers.
    private func placesByEntity(_ objects: [ManagedObject]) -> [(entity: Entity, places: [Int])] {
        var places = [[Int]](repeating: [], count: context.entities.count)
        for (place, object) in objects.enumerated() { places[Int(object.entity.index)].append(place) }
        return zip(context.entities, places).filter { !$0.1.isEmpty }.map { (entity: $0.0, places: $0.1) }
            .sorted { $0.entity.number < $1.entity.number }
    }
}

extension ManagedObject {
    /// The stored to-many relationships whose members were added, removed or reordered.
    fileprivate var changedToMany: [Relationship] {
        toManyRelationships.compactMap { collection in
            collection.flatMap { $0.hasChanges && !$0.relationship.isTransient ? $0.relationship : nil }
        }
    }
}

/// The slots of an object that a save writes.
struct ChangeShape {
    /// The changed values of the object for which the shape was created; nil if only members changed.
    private let overlay: Overlay?
    /// The changed slots that are stored in the row.
    let slots: [Int]
    /// Whether all changed slots have a fixed size, so that a copy of the record can be changed in place.
    let keepsSize: Bool

    init(of object: ManagedObject) {
        overlay = object.overlay
        slots = object.changedStoredSlots
        let layouts = object.entity.layout.slots
        keepsSize = slots.allSatisfy { ![.text, .uri, .bytes].contains(layouts[$0].kind) }
    }

    func fits(_ object: ManagedObject) -> Bool {
        guard let overlay, let other = object.overlay else { return overlay == nil && object.overlay == nil }
        return overlay.changesSameSlots(as: other)
    }
}
