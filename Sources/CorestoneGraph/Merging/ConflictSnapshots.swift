import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension Entity {
    /// The slots that a snapshot holds: stored attributes, elements of composite ones, and to-one relationships.
    var snapshotSlots: [Int] { (0..<Int(slotCount)).filter { layout.slots[$0].kind != .none } }

    /// What a row holds. Values that lie in files of their own are read; null for a file that is gone.
    func snapshot(of record: Record, _ store: Store) -> ConflictSnapshot {
        var snapshot: ConflictSnapshot = [:]
        guard record.header.pointee.entity == index else { return snapshot }
        for slot in snapshotSlots { snapshot[properties[slot].path] = value(of: record, slot, store) }
        return snapshot
    }

    /// One value of a row; a to-one target as an ID. A value in a file of its own is read; null if the file is gone.
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
    /// What the object holds now, without members of to-many relationships.
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
                // A file that cannot be read leaves nothing to compare.
                value = (try? committedValue(slot: slot)) ?? .null
            }
            snapshot[entity.properties[slot].path] = value
        }
        return snapshot
    }
}

extension ManagedObject {
    /// The stored properties that were changed here or in a row, in the model's order; told by the records, so that a file need
    /// not be read to tell that a value is another one. Without a row, those that were changed here.
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
    /// For a message about differences: "null" for a missing value, the URI for an object.
    var shownInConflict: String {
        switch self {
        case .null: "null"
        case .object(let object): object.valueDescription
        default: excerpt
        }
    }
}
