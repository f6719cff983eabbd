import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// A batch insertion into a store that wants records.
struct BatchInsertion {
    let run: BatchRun
    let rows: BatchRows
    let policy: MergePolicyType

    private var entity: Entity { rows.entity }

    func write(_ changes: inout ForeignChanges) throws {
        let constraints = policy == .error ? [] : entity.allUniqueConstraints
        var writer = RecordWriter()
        var batch: [Record] = []
        func flush() throws {
            if !batch.isEmpty { try run.transaction.insert(batch, entity: entity) }
            batch.removeAll(keepingCapacity: true)
            writer = RecordWriter()
        }
        while try rows.next() {
            if !constraints.isEmpty {
                // Rows of this batch count too.
                try flush()
                if try settle(constraints.map(\.attributes), &changes) { continue }
            }
            let key = try run.transaction.reservePrimaryKeys(of: entity.root, count: 1)
            writer.begin(primaryKey: key, version: 1, entity: entity)
            for slot in rows.slots { try set(slot, in: &writer) }
            batch.append(writer.finish())
            changes.inserted.append((entity.index, key))
            if batch.count == BatchRun.size { try flush() }
        }
        try flush()
    }

    private func set(_ slot: Int, in writer: inout RecordWriter) throws {
        let layout = entity.layout.slots[slot]
        let view = rows.values[slot]
        if layout.role == .external, view.type == .bytes,
            var name = try run.transaction.externalName(for: Bytes(copying: view.bytes))
        {
            name.withUTF8 { writer.setFileName(UnsafeRawBufferPointer($0), slot, layout) }
        } else {
            writer.set(view, slot, layout)
        }
    }

    /// Does what the policy says where a row is there that has the values of the present one. Whether there is.
    private func settle(_ constraints: [[String]], _ changes: inout ForeignChanges) throws -> Bool {
        for keys in constraints {
            let slots = entity.slots(of: keys)
            let values = slots.map { rows.values[$0].propertyValue }
            if values.contains(where: \.isNull) { continue }
            let predicate = try Predicate.and(
                zip(keys, values).map { .comparison(Comparison(.key($0), .equal, .constant($1))) })
            let context = run.makeContext()
            guard let object = try context.fetch(FetchRequest(entity: entity, predicate: predicate)).first else {
                continue
            }
            if policy == .storeTrump || policy == .rollback { return true }
            for slot in rows.slots(wholly: policy == .overwrite) {
                try object.set(rows.values[slot].propertyValue, slot: slot)
            }
            try run.update([object], in: context, &changes)
            return true
        }
        return false
    }
}

extension BatchRun {
    /// Writes objects of a context of this run that were changed, and notes their rows, unless the batch brought these.
    func update(_ objects: [ManagedObject], in context: Context, _ changes: inout ForeignChanges) throws {
        let plan = SavePlan(inserted: [], updated: objects, deleted: [])
        try SaveWriter(context: context, store: store, plan: plan).write(in: transaction)
        let first = changes.inserted.first?.primaryKey ?? .max
        for object in objects where object.primaryKey < first {
            changes.updated.append((object.entity.index, object.primaryKey))
        }
    }
}
