import CPlatform
import CorestoneModel
import CorestoneValues

/// The writer of a save plan to one store: keys, records, rows, join rows and positions.
///
/// After the commit, the writer sets the new records of the objects. Objects have their permanent keys during the
/// transaction, and their former keys again if the transaction fails.
final class SaveWriter {
    let context: Context
    let store: Store
    let plan: SavePlan
    /// Whether rows with unchanged values are written too, as in a batch request.
    let writesEqualRows: Bool
    private var writer: RecordWriter
    /// The new record of each inserted object.
    var insertedRecords: [Record?] = []
    /// The new record of each updated object.
    var updatedRecords: [Record?] = []
    /// The key of each inserted object before the save.
    private var formerKeys: [Int64] = []

    init(context: Context, store: Store, plan: SavePlan, writesEqualRows: Bool = false) {
        self.context = context
        self.store = store
        self.plan = plan
        self.writesEqualRows = writesEqualRows
        writer = RecordWriter(expectedBytes: (plan.inserted.count + plan.updated.count) * 128)
    }

    func write(in transaction: any SaveTransaction) throws {
        try assignKeys(transaction)
        updatedRecords = Array(repeating: nil, count: plan.updated.count)
        // Rows are deleted first, because a new object may have a unique value of a deleted object.
        var isStale = try deleteRows(transaction)
        if context.mergeState.passesUniqueValues { try clearChangedUniqueValues(transaction) }
        isStale = try updateRows(transaction) || isStale
        isStale = try checkLocked(transaction) || isStale
        if isStale { throw SaveRejection.stale }
        try insertRows(transaction)
        try writeRelationships(transaction)
    }

    // MARK: Keys

    private func assignKeys(_ transaction: any SaveTransaction) throws {
        let keys =
            try store.references == nil
            ? context.keyAssignment.reserveKeys(for: plan.inserted, transaction.reservePrimaryKeys)
            : context.keyAssignment.namedKeys(for: plan.inserted, in: store, transaction.permanentKeys)
        formerKeys.reserveCapacity(keys.count)
        for (object, key) in zip(plan.inserted, keys) {
            formerKeys.append(object.primaryKey)
            object.primaryKey = key
        }
    }

    /// Restores the former keys after a failed transaction.
    ///
    /// Keys from a custom store are kept for the next save, because the store may already use them.
    func undo() {
        for (object, key) in zip(plan.inserted, formerKeys) {
            if store.references != nil, key < 0 { context.changeTracker.reservedKeys[key] = (store, object.primaryKey) }
            object.primaryKey = key
        }
    }

    // MARK: Records

    /// Creates the record for the current values of an object.
    func record(of object: ManagedObject, version: Int32, _ transaction: any SaveTransaction) throws -> Record {
        let entity = object.entity
        writer.begin(primaryKey: object.primaryKey, version: version, entity: entity)
        let base = object.record.map { Record($0) }
        for slot in 0..<Int(entity.slotCount) {
            let layout = entity.layout.slots[slot]
            if layout.kind == .none { continue }
            if let overlay = object.overlay, overlay.isChanged(slot), !layout.conditions.contains(.derived) {
                try set(overlay[slot], slot, layout, transaction)
            } else if let base {
                if layout.role == .external, let name = base.fileName(slot, layout) {
                    writer.setFileName(name, slot, layout)
                } else {
                    writer.set(base.view(slot, layout), slot, layout)
                }
            }
        }
        return writer.finish()
    }

    /// Creates the record of an updated object, with the object's version.
    ///
    /// If the size does not change, a copy of the former record is changed in place.
    func updatedRecord(
        of object: ManagedObject, _ shape: ChangeShape, _ transaction: any SaveTransaction
    ) throws -> Record {
        guard shape.keepsSize, let base = object.record else {
            return try record(of: object, version: object.version, transaction)
        }
        writer.begin(copying: Record(base), version: object.version)
        if let overlay = object.overlay {
            let layouts = object.entity.layout.slots
            for slot in shape.slots {
                writer.clear(slot)
                try set(overlay[slot], slot, layouts[slot], transaction)
            }
        }
        return writer.finish()
    }

    /// Writes a changed value.
    @inline(__always)
    private func set(
        _ value: PropertyValue, _ slot: Int, _ layout: SlotLayout, _ transaction: any SaveTransaction
    ) throws {
        if case .object(let target as ManagedObject) = value {
            if target.state.isDisjoint(with: [.detached, .deleted]) && !target.hasTemporaryID {
                writer.setTarget(target.primaryKey, entity: target.entity.index, slot, layout)
            }
        } else if layout.role == .external {
            try setExternal(value, slot, layout, transaction)
        } else {
            writer.set(ValueView(value), slot, layout)
        }
    }

    /// Writes a value that may be stored in a backing file.
    private func setExternal(
        _ value: PropertyValue, _ slot: Int, _ layout: SlotLayout, _ transaction: any SaveTransaction
    ) throws {
        guard case .bytes(let bytes) = value, var name = try transaction.externalName(for: bytes) else {
            return writer.set(ValueView(value), slot, layout)
        }
        name.withUTF8 { writer.setFileName(UnsafeRawBufferPointer($0), slot, layout) }
    }

    // MARK: After the commit

    /// Updates the objects and the row cache after the commit: permanent IDs, new records, deleted objects.
    func commit() {
        store.rowCache.keep(writer.chunks)
        context.identityMap.reserveRoom(for: plan.inserted, store: store)
        let keys = context.keyAssignment
        for (place, object) in plan.inserted.enumerated() {
            let key = object.primaryKey
            if formerKeys[place] < 0 {
                object.primaryKey = formerKeys[place]
                keys.makePermanent(object, store: store, key: key)
            }
            if let record = insertedRecords[place] { adopt(record, object) }
        }
        if store.observesRegistrations {
            context.identityMap.note(.registered, plan.inserted.map(\.objectID), in: store)
        }
        for (place, object) in plan.updated.enumerated() {
            prefetchRow(place + SaveWriter.prefetchDistance)
            // The object has left the context if a new object received its key, because the store's file was replaced.
            guard let record = updatedRecords[place], object.context === context else { continue }
            // If the row was not written, the row cache may contain a newer state, which must not be replaced.
            if record.version == object.version { object.didSave(record) } else { adopt(record, object) }
        }
        for object in plan.missingRowUpdates { object.dropChanges() }
        context.forgetMembers(among: plan.deleted)
        context.batchingNotices(store.observesRegistrations) {
            for object in plan.deleted {
                store.rowCache.remove(object.entity.root, object.primaryKey)
                context.identityMap.unregister(object)
                object.leaveContext()
            }
        }
    }

    /// The number of objects by which a prefetch into the processor's cache runs ahead.
    static let prefetchDistance = 8

    /// Prefetches the row of a later updated object into the processor's cache.
    ///
    /// Rows are far apart in memory.
    @inline(__always)
    func prefetchRow(_ place: Int) {
        if place < plan.updated.count, let record = plan.updated[place].record { platform_prefetch(record) }
    }

    private func adopt(_ record: Record, _ object: ManagedObject) {
        object.didSave(record)
        store.rowCache.add(record, root: object.entity)
    }
}

extension ManagedObject {
    /// The changed slots that are stored in the row.
    var changedStoredSlots: [Int] { (0..<Int(entity.slotCount)).filter(isStoredChange) }

    private func isStoredChange(_ slot: Int) -> Bool {
        guard let overlay, overlay.isChanged(slot) else { return false }
        let layout = entity.layout.slots[slot]
        return layout.kind != .none && !layout.conditions.contains(.derived)
    }

    /// Whether the object has changes that a save writes. Changes of transient properties alone are not written.
    var concernsStore: Bool {
        state.contains(.membersChanged) || (0..<Int(entity.slotCount)).contains(where: isStoredChange)
    }

    /// Marks the object as saved with its new record. Transient values are kept.
    func didSave(_ new: Record) {
        setRecord(new)
        if state.contains(.keepsFiles) { forgetReplacedFiles() }
        for collection in toManyRelationships { collection?.didSave() }
        state.subtract([.inserted, .updated, .membersChanged, .touched])
        // A fault whose members changed stays a fault if the entity has an awakeFromFetch hook, because this hook runs
        // when the fault fires.
        if !entity.has(.awakeFromFetch) { state.remove(.fault) }
        guard let overlay else { return }
        var keepsTransient = false
        overlay.forEachChanged { slot in
            let layout = entity.layout.slots[slot]
            switch layout.role {
            case .transient: keepsTransient = true
            case .toOne: keepSavedTarget(overlay[slot], ordinal: Int(layout.ordinal))
            case .attribute, .external, .composite, .toMany: break
            }
        }
        if keepsTransient { return clearSavedSlots(overlay) }
        dropOverlay()
    }

    private func clearSavedSlots(_ overlay: Overlay) {
        overlay.forEachChanged { slot in if entity.layout.slots[slot].role != .transient { clearChange(slot) } }
    }

    /// Moves a saved target from the changed values to the cached targets.
    ///
    /// For null or a deleted target, removes the cached target.
    private func keepSavedTarget(_ value: PropertyValue, ordinal: Int) {
        if case .object(let target as ManagedObject) = value, target.state.isDisjoint(with: [.detached, .deleted]) {
            keepTarget(target, ordinal: ordinal)
        } else {
            dropTarget(ordinal)
        }
    }
}
