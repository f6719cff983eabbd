import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// The resolution of conflicts of inserted rows with unique constraints.
///
/// A save with the same merge policy has the same result. With the policies store trump and rollback, the new row is
/// skipped. With the others, a conflicting row of the same entity is updated, or else the new row is inserted; all
/// other conflicting rows are deleted.
struct BatchUniqueness {
    let run: BatchRun
    let rows: BatchRows
    let policy: MergePolicyType

    private var entity: Entity { rows.entity }

    /// Resolves all conflicts of the current row.
    ///
    /// Returns false if the row must be inserted. In this case, stored rows no longer conflict with it.
    func resolve(_ changes: inout ExternalChanges) throws -> Bool {
        let context = run.makeContext()
        let holders = try holders(in: context) { rows.values[$0].propertyValue }
        if holders.isEmpty { return false }
        if policy == .storeTrump || policy == .rollback { return true }
        guard let existing = holders.first(where: { $0.entity === entity }) else {
            if rows.isUpsert, let holder = holders.first { throw isOfOtherEntity(holder) }
            try delete(holders, &changes)
            return false
        }
        let taken = rows.slots(wholly: policy == .overwrite)
        let others = try self.holders(in: context) { slot in
            try taken.contains(slot)
                ? rows.values[slot].propertyValue : existing.value(forKeyPath: entity.properties[slot].path)
        }.filter { $0 !== existing }
        try delete(others, &changes)
        // Delete rules may have changed or deleted the existing row.
        let updateContext = others.isEmpty ? context : run.makeContext()
        guard let target = try others.isEmpty ? existing : updateContext.storedObject(with: existing.objectID) else {
            return false
        }
        for slot in taken { try target.set(rows.values[slot].propertyValue, slot: slot) }
        try run.update([target], in: updateContext, &changes)
        return true
    }

    private func isOfOtherEntity(_ holder: ManagedObject) -> CoreError {
        let constraint = rows.constraints.first
        let values = zip(constraint?.keys ?? [], constraint?.slots ?? []).map {
            "\($0) \(rows.values[$1].propertyValue.excerpt)"
        }
        return CoreError(
            .conflict, code: .managedObjectConstraintMerge,
            "\(holder.objectID.uri) has \(values.listed) and is of the entity \(holder.entity.name), not "
                + "\(entity.name); upsert \(holder.entity.name), or change the values",
            entity: entity.name, key: constraint?.keys.first,
            value: constraint.map { rows.values[$0.slots[0]].propertyValue },
            objectURI: holder.objectID.uri, file: run.store.path
        ).inRow(rows.number)
    }

    /// Returns the stored objects that have the unique values, in the order of the constraints.
    private func holders(
        in context: Context, _ value: (_ slot: Int) throws -> PropertyValue
    ) throws -> [ManagedObject] {
        var found: [ManagedObject] = []
        for (owner, keys, slots) in rows.constraints {
            let values = try slots.map(value)
            if values.contains(where: \.isNull) { continue }
            let predicate = try Predicate.and(
                zip(keys, values).map { .comparison(Comparison(.key($0), .equal, .constant($1))) })
            let request = FetchRequest(entity: owner, predicate: predicate)
            request.affectedStores = [run.store]
            request.includesPendingChanges = false
            for object in try context.fetch(request) where !found.contains(where: { $0 === object }) {
                found.append(object)
            }
        }
        return found
    }

    private func delete(_ objects: [ManagedObject], _ changes: inout ExternalChanges) throws {
        if objects.isEmpty { return }
        let deletion = BatchDeletion(run)
        try deletion.delete(objects.map(\.primaryKey), of: entity.root)
        try deletion.finish(&changes)
    }
}

extension ExternalChanges {
    /// Keeps one change per row if a row was changed several times, and none if it was inserted and deleted.
    mutating func condense() {
        if updated.isEmpty && deleted.isEmpty { return }
        struct Row: Hashable {
            let (entity, key): (UInt32, Int64)
            init(_ row: RowKey) { (entity, key) = row }
        }
        let new = Set(inserted.map(Row.init))
        var reported = Set(deleted.map(Row.init))
        deleted.removeAll { new.contains(Row($0)) }
        inserted.removeAll { !reported.insert(Row($0)).inserted }
        updated.removeAll { !reported.insert(Row($0)).inserted }
        indirect.removeAll { !reported.insert(Row($0)).inserted }
    }
}
