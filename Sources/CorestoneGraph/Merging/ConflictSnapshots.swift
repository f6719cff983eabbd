import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension Entity {
    /// The slots in a snapshot: stored attributes, elements of composite attributes, and to-one relationships.
    var snapshotSlots: [Int] { (0..<Int(slotCount)).filter { layout.slots[$0].kind != .none } }

    /// Returns the values of a row; empty for a row of another entity.
    ///
    /// A value in a backing file is read; it is null if the file cannot be read.
    func snapshot(of record: Record, _ store: Store) -> ConflictSnapshot {
        var snapshot: ConflictSnapshot = [:]
        guard record.header.pointee.entity == index else { return snapshot }
        for slot in snapshotSlots { snapshot[properties[slot].path] = value(of: record, slot, store) }
        return snapshot
    }

    /// Returns one value of a row, with a to-one target as an ID.
    ///
    /// A value in a backing file is read; it is null if the file cannot be read.
    func value(of record: Record, _ slot: Int, _ store: Store) -> PropertyValue {
        let layout = layout.slots[slot]
        if layout.role == .toOne {
            guard let (key, index) = record.target(slot, layout) else { return .null }
            return .object(
                ObjectIDReference(ObjectID(store: store, entity: model.entities[Int(index)], reference: key)))
        }
        guard let name = record.fileName(slot, layout) else { return record.view(slot, layout).propertyValue }
        let file = store.backing.externalValue(named: String(decoding: name, as: UTF8.self))
        if case .bytes(let bytes) = file { return .bytes(bytes) }
        return .null
    }
}

extension ManagedObject {
    /// Returns the current values of the object's stored properties, except to-many relationships.
    ///
    /// If the object's row is not in memory, unchanged values are null.
    func snapshot() -> ConflictSnapshot {
        var snapshot: ConflictSnapshot = [:]
        for slot in entity.snapshotSlots {
            var value = PropertyValue.null
            if let overlay, overlay.isChanged(slot) {
                value = overlay[slot]
                if case .object(let target as ManagedObject) = value {
                    value = .object(ObjectIDReference(target.objectID))
                }
            } else if record != nil {
                // A value whose backing file cannot be read counts as null in the comparison.
                value = (try? committedValue(slot: slot)) ?? .null
            }
            snapshot[entity.properties[slot].path] = value
        }
        return snapshot
    }
}

extension ManagedObject {
    /// Returns the stored properties that were changed here or in `row`, in the model's order.
    ///
    /// If the row is missing, returns the properties that were changed here. The rows are compared, not the snapshots,
    /// so that a difference is found even if a backing file cannot be read.
    func differences(
        to row: Record?, base: ConflictSnapshot, mine: ConflictSnapshot, theirs: ConflictSnapshot?
    ) -> [PropertyDifference] {
        entity.snapshotSlots.compactMap { slot in
            let (key, layout) = (entity.properties[slot].path, entity.layout.slots[slot])
            let isThere = row.map { row in record.map { !Record($0).isEqual(to: row, slot, layout) } ?? true } ?? false
            let isHere = differsFromBase(slot)
            if !isHere && !isThere { return nil }
            return PropertyDifference(
                key: key, base: base[key] ?? .null, mine: mine[key] ?? .null, theirs: theirs.map { $0[key] ?? .null },
                isChangedHere: isHere, isChangedThere: isThere)
        }
    }
}

extension PropertyValue {
    /// The value as text for a message about a conflict: "null" for a missing value, the URI for an object.
    var shownInConflict: String {
        switch self {
        case .null: "null"
        case .object(let object): object.valueDescription
        default: excerpt
        }
    }
}
