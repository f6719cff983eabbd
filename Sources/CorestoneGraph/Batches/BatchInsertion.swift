import CorestoneModel
import CorestoneValues

/// A batch insertion into a store that cannot insert rows directly from values.
struct BatchInsertion {
    let run: BatchRun
    let rows: BatchRows
    let uniqueness: BatchUniqueness

    private var entity: Entity { rows.entity }

    func write(_ changes: inout ExternalChanges) throws {
        let resolvesConflicts = uniqueness.policy != .error && !rows.constraints.isEmpty
        var writer = RecordWriter()
        var batch: [Record] = []
        func flush() throws {
            if !batch.isEmpty { try run.transaction.insert(batch, entity: entity) }
            batch.removeAll(keepingCapacity: true)
            // The rows are written, so their memory can be released. A single chunk is reused, because it is not full.
            if writer.chunks.count > 1 { writer = RecordWriter() }
        }
        while try rows.next() > 0 {
            if resolvesConflicts {
                // The conflict check reads the store, so the rows of this batch must be written first.
                try flush()
                if try uniqueness.resolve(&changes) { continue }
            }
            let key =
                try run.transaction.permanentKeys(for: [NewRow(entity)])?.first
                ?? run.transaction.reservePrimaryKeys(of: entity.root, count: 1)
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
}

extension BatchRun {
    /// Writes changed objects of a context of this run, and adds their rows to `changes`.
    func update(_ objects: [ManagedObject], in context: Context, _ changes: inout ExternalChanges) throws {
        let plan = SavePlan(inserted: [], updated: objects, deleted: [])
        try SaveWriter(context: context, store: store, plan: plan, writesEqualRows: true).write(in: transaction)
        changes.updated += objects.map { ($0.entity.index, $0.primaryKey) }
    }
}
