import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension AtomicTransaction {
    /// Inserts rows from values without objects.
    ///
    /// A simple conflict of unique values is resolved here by the merge policy, other conflicts by `resolve`. With the
    /// policy `error`, a conflict is thrown.
    func insert(
        _ rows: BatchRows, _ policy: MergePolicyType, _ changes: inout ExternalChanges,
        resolving resolve: (inout ExternalChanges) throws -> Bool
    ) throws -> Bool {
        let entity = rows.entity
        let mayConflict = policy != .error && !rows.constraints.isEmpty
        var writer = RecordWriter()
        while true {
            let count = try rows.next(mayConflict ? 1 : BatchRows.most)
            if count == 0 { return true }
            for place in 0..<count {
                let values = rows.values(at: place)
                if mayConflict, try resolveSimply(rows, policy, &writer, &changes) ?? false { continue }
                if mayConflict, hasConflict(rows), try resolve(&changes) { continue }
                let key = try reservePrimaryKeys(of: entity.root, count: 1)
                writer.begin(primaryKey: key, version: 1, entity: entity)
                for slot in rows.slots { writer.set(values[slot], slot, entity.layout.slots[slot]) }
                try put(writer.finish(), entity)
                changes.inserted.append((entity.index, key))
            }
        }
    }

    /// Returns, for each constraint, the primary key of the row with the current row's values; nil without such a row.
    private func holders(_ rows: BatchRows) -> [Int64?] {
        let tree = nodes.tree(of: rows.entity)
        return rows.constraints.map { owner, _, slots in
            if slots.contains(where: { rows.values[$0].type == .null }) { return nil }
            let index = tree.uniques.first { $0.entity === owner && $0.properties.map { Int($0.slot) } == slots }
            guard let index else { return nil }
            var values = UniqueValues(first: rows.values[slots[0]].propertyValue)
            values.others = slots.dropFirst().map { rows.values[$0].propertyValue }
            return index.holder(of: values)
        }
    }

    private func hasConflict(_ rows: BatchRows) -> Bool { holders(rows).contains { $0 != nil } }

    /// Applies the merge policy to a simple conflict. Otherwise, returns nil and changes nothing.
    ///
    /// With the policies `storeTrump` and `rollback`, every conflict is simple, because the current row is dropped.
    /// Otherwise, a conflict is simple if only one row, of the same entity, conflicts with the current row, and no
    /// other row can conflict with the result.
    private func resolveSimply(
        _ rows: BatchRows, _ policy: MergePolicyType, _ writer: inout RecordWriter, _ changes: inout ExternalChanges
    ) throws -> Bool? {
        let found = holders(rows)
        guard let key = found.lazy.compactMap({ $0 }).first, let holder = nodes.node(rows.entity.root, key) else {
            return nil
        }
        if policy == .storeTrump || policy == .rollback { return true }
        guard holder.record.header.pointee.entity == rows.entity.index else { return nil }
        let slots = rows.slots(wholly: policy == .overwrite)
        for (other, constraint) in zip(found, rows.constraints) {
            if let other, other != key { return nil }
            let taken = constraint.slots.count(where: slots.contains)
            if other == nil && taken != 0 && taken != constraint.slots.count { return nil }
        }
        let record = rewrite(holder.record, rows.entity, &writer) { slots.contains($0) ? rows.values[$0] : nil }
        try put(record, rows.entity)
        changes.updated.append((rows.entity.index, key))
        return true
    }

    /// Returns the record of the next version of a row.
    ///
    /// - Parameter change: Returns the new value of a slot; nil to keep the present value.
    private func rewrite(
        _ record: Record, _ entity: Entity, _ writer: inout RecordWriter, _ change: (Int) -> ValueView?
    ) -> Record {
        writer.begin(primaryKey: record.primaryKey, version: RowVersion.next(record.version), entity: entity)
        for slot in 0..<Int(entity.slotCount) {
            let layout = entity.layout.slots[slot]
            if layout.kind == .none { continue }
            writer.set(change(slot) ?? record.view(slot, layout), slot, layout)
        }
        return writer.finish()
    }

    /// Updates the rows of a fetch.
    ///
    /// Returns false and changes nothing if application code must be called, if a part of the fetch must be evaluated
    /// with objects, or if a unique attribute is set.
    func update(_ fetch: StoreFetch, _ settings: [BatchSetting], _ changes: inout ExternalChanges) throws -> Bool {
        var needs = HostNeeds(store.hostNames)
        for setting in settings { needs.visit(setting.value) }
        guard needs.reasons.isEmpty, !settings.contains(where: { fetch.entity.isUnique($0.slot) }) else { return false }
        let query = try store.query(fetch)
        if query.remainder != nil { return false }
        let clock = NodeClock(store.interruptCheck, "update", fetch.entity.name, store.path)
        let source = NodeRows(nodes, store.identifier)
        let found = try query.run(nodes, clock)
        // A replaced row may be the last row of its chunk, and the chunk must outlive this loop.
        let chunks = found.map { $0.chunk.takeUnretainedValue() }
        defer { withExtendedLifetime(chunks) {} }
        // All values are computed before the first row changes.
        var changed: [(record: Record, entity: Entity, values: [Int: PropertyValue])] = []
        for record in found {
            try clock.tick()
            let entity = nodes.model.entities[Int(record.header.pointee.entity)]
            var values: [Int: PropertyValue] = [:]
            do {
                for setting in settings {
                    let value =
                        try setting.value.constantValue
                        ?? setting.value.value(with: .object(StoredRow(source, record)), arithmetic: .nilPropagating)
                    for (slot, part) in try entity.requiredBatchValues(of: value, for: setting.slot) {
                        values[slot] = part
                    }
                }
            } catch let error as CoreError {
                let uri = ObjectID.uri(ofKey: record.primaryKey, entity: entity.name, store: store.identifier)
                let own = error.withoutObjects
                throw CoreError(
                    own.status, own.message, customCode: own.code, entity: own.entity, key: own.key, value: own.value,
                    objectURI: uri, file: own.file)
            }
            changed.append((record, entity, values))
        }
        var writer = RecordWriter()
        for (record, entity, values) in changed {
            try put(rewrite(record, entity, &writer) { slot in values[slot].map { ValueView($0) } }, entity)
            changes.updated.append((entity.index, record.primaryKey))
        }
        return true
    }
}
