import CorestoneModel
import CorestoneValues

extension SaveWriter {
    /// One error for all objects that somebody else changed or deleted since they were read.
    func conflictError(_ objects: [ManagedObject]) throws -> CoreError {
        let details = try objects.map { try conflict(of: $0) }
        if details.count == 1 { return details[0] }
        return CoreError(
            .conflict, code: .managedObjectMerge,
            "\(details.count) objects were changed in the store since they were read; the details name each. "
                + "Refresh them and save again", children: details)
    }

    private func conflict(of object: ManagedObject) throws -> CoreError {
        let entity = object.entity
        let stored = try store.backing.rows(of: entity.root, primaryKeys: [object.primaryKey])
        guard let row = stored.records.first else {
            let reason =
                object.record == nil
                ? "has no row in the store; let nothing lead to it, or roll back"
                : "was deleted from the store since it was read (version \(object.version)); "
                    + "roll back or delete it here too"
            return CoreError(
                .conflict, code: .managedObjectMerge, "this \(entity.name) \(reason)", entity: entity.name,
                objectURI: object.objectID.uri, file: store.path)
        }
        let names = entity.properties.filter { property in
            let slot = Int(property.slot)
            let layout = entity.layout.slots[slot]
            guard layout.kind != .none, let base = object.record else { return false }
            return !Record(base).isEqual(to: row, slot, layout)
        }.map(\.path)
        let mine = entity.properties.filter { object.overlay?.isChanged(Int($0.slot)) == true }.map(\.path)
        let changed = names.isEmpty ? "its relationships" : names.joined(separator: ", ")
        let children = (names.isEmpty ? mine : names).map { name in
            CoreError(
                .conflict, code: .managedObjectMerge,
                "\(entity.name).\(name) was "
                    + (mine.contains(name) ? "changed here and in the store" : "changed in the store"),
                entity: entity.name, key: name, value: storedValue(row, name, entity), objectURI: object.objectID.uri)
        }
        return CoreError(
            .conflict, code: .managedObjectMerge,
            "this \(entity.name) was changed in the store since it was read: \(changed) (version \(object.version) here, "
                + "\(row.version) there). Refresh it, keeping or dropping its changes, and save again",
            entity: entity.name, key: names.first ?? mine.first, objectURI: object.objectID.uri, children: children,
            file: store.path)
    }

    /// nil for what lies in a file of its own, which need not be read to tell that it changed.
    private func storedValue(_ row: Record, _ name: String, _ entity: Entity) -> PropertyValue? {
        guard let property = entity.property(named: name), property is Attribute else { return nil }
        let (slot, layout) = (Int(property.slot), entity.layout.slots[Int(property.slot)])
        return row.fileName(slot, layout) == nil ? row.view(slot, layout).propertyValue : nil
    }
}

extension ValueView {
    /// Whether two views of the same slot show the same value.
    static func same(_ a: ValueView, _ b: ValueView) -> Bool {
        guard a.type == b.type else { return false }
        switch a.type {
        case .string, .uri, .bytes: return equalBytes(a.bytes, b.bytes)
        default: return a.low == b.low && a.high == b.high && a.aux == b.aux
        }
    }
}
