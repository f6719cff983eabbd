import CorestoneModel

extension SaveWriter {
    /// Rows go down in batches that the processor's cache holds: a record is bound soon after it was written.
    private static let batchSize = 256

    func insertRows(_ transaction: any SaveTransaction) throws {
        insertedRecords = Array(repeating: nil, count: plan.inserted.count)
        var batch: [Record] = []
        batch.reserveCapacity(min(plan.inserted.count, SaveWriter.batchSize))
        for (entity, places) in placesByEntity(plan.inserted) {
            for (count, place) in places.enumerated() {
                let record = try record(
                    of: plan.inserted[place], version: plan.inserted[place].version &+ 1, transaction)
                insertedRecords[place] = record
                batch.append(record)
                if batch.count == SaveWriter.batchSize || count == places.count - 1 {
                    try transaction.insert(batch, entity: entity)
                    batch.removeAll(keepingCapacity: true)
                }
            }
        }
    }

    /// Whether rows no longer match.
    func updateRows(_ transaction: any SaveTransaction) throws -> Bool {
        var isStale = false
        for (entity, places) in placesByEntity(plan.updated) {
            for start in stride(from: 0, to: places.count, by: SaveWriter.batchSize) {
                let batch = places[start..<min(start + SaveWriter.batchSize, places.count)]
                isStale = try updateRows(batch, of: entity, transaction) || isStale
            }
        }
        return isStale
    }

    private func updateRows(
        _ places: ArraySlice<Int>, of entity: Entity, _ transaction: any SaveTransaction
    ) throws -> Bool {
        var rows: [UpdatedRow] = []
        var last: (changed: Overlay, slots: [Int])?
        for place in places {
            let object = plan.updated[place]
            let concernsStore = object.concernsStore
            let record = try record(of: object, version: object.version &+ (concernsStore ? 1 : 0), transaction)
            updatedRecords[place] = record
            if !concernsStore { continue }
            // Most objects of a save were changed in the same properties.
            if let overlay = object.overlay, last?.changed.changesSameSlots(as: overlay) != true {
                last = (overlay, object.changedStoredSlots)
            }
            let slots = object.overlay == nil ? [] : last?.slots ?? []
            rows.append(UpdatedRow(record: record, oldVersion: object.version, changedSlots: slots))
        }
        return try !rows.isEmpty && !transaction.update(rows, entity: entity).isEmpty
    }

    /// Objects that hand unique values to each other let go of theirs first.
    func makeRoom(_ transaction: any SaveTransaction) throws {
        for (entity, places) in placesByEntity(plan.updated) {
            let unique = Set(entity.allUniqueConstraints.flatMap { entity.slots(of: $0.attributes) })
            for object in places.map({ plan.updated[$0] }) {
                let slots = object.changedStoredSlots.filter(unique.contains)
                if !slots.isEmpty { try transaction.clear(slots, of: object.primaryKey, entity: entity) }
            }
        }
    }

    func deleteRows(_ transaction: any SaveTransaction) throws -> Bool {
        var isStale = false
        for (entity, places) in placesByEntity(plan.deleted) {
            let rows = places.map { plan.deleted[$0] }.filter { !context.isVanished($0) }.map {
                (primaryKey: $0.primaryKey, version: $0.version)
            }
            isStale = try !transaction.delete(rows, entity: entity).isEmpty || isStale
        }
        return isStale
    }

    /// Objects without changes that the host had locked.
    func checkLocked(_ transaction: any SaveTransaction) throws -> Bool {
        try context.lockedObjects.contains { object in
            guard object.store === store, !object.hasChanges, !object.isGone else { return false }
            return try !transaction.isCurrent(object.primaryKey, version: object.version, entity: object.entity)
        }
    }

    private func placesByEntity(_ objects: [ManagedObject]) -> [(entity: Entity, places: [Int])] {
        var groups = Groups<Entity, Int>()
        for (place, object) in objects.enumerated() { groups.add(place, to: object.entity) }
        return groups.list.map { (entity: $0.key, places: $0.elements) }.sorted { $0.entity.number < $1.entity.number }
    }
}
