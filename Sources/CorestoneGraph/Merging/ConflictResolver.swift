import CorestoneModel
import CorestoneValues

/// The resolution of the conflicts of a save, by the merge policy of the context.
///
/// 1. `resolve` finds the conflicts that made a store reject a part of a save: rows whose versions differ, or else
///    objects with the same unique values.
/// 2. The merge policy resolves each conflict in memory. `ConflictResolver+Versions.swift` merges an object with its
///    newest row, `ConflictResolver+Constraints.swift` merges objects with the same unique values.
/// 3. Relationships become consistent again, and the merged objects are validated. Then the save is tried again.
struct ConflictResolver {
    let context: Context

    /// Resolves the conflicts that prevent a save: version conflicts, or else conflicts of unique constraints.
    ///
    /// - Parameter isLast: Whether the limit of retries is reached. Remaining conflicts are then thrown as an error.
    func resolve(_ rejection: SaveRejection, _ part: SavePlan, _ store: Store, isLast: Bool) throws {
        // Conflicts are resolved against the newest state, even if the context is pinned to a query generation.
        context.generation = nil
        var conflicts: [SaveConflict] = try versionConflicts(in: part, store, rejection.reported)
        if conflicts.isEmpty, let error = rejection.duplicateError {
            conflicts = try constraintConflicts(in: part, store)
            if conflicts.isEmpty {
                // No other object has the values, so objects of this save exchange them.
                if context.mergeState.passesUniqueValues { throw error }
                context.mergeState.passesUniqueValues = true
                return
            }
        }
        if !isLast || rejection.reported == nil && !conflicts.isEmpty {
            // Conflicts may be missing, for example because both sides deleted the rows.
            return conflicts.isEmpty ? () : try resolve(conflicts, store, isLast: isLast)
        }
        guard let reported = rejection.reported else {
            throw CoreError(
                .conflict, code: .managedObjectMerge,
                "cannot save to \(Coordinator.shown(store.path)): other writers changed the same rows during each of "
                    + "\(SavePipeline.maximumMerges + 1) attempts; save again",
                file: store.path)
        }
        defer { for conflict in conflicts { conflict.end() } }
        throw reported.error(
            "reported conflicts \(SavePipeline.maximumMerges + 1) times, although the merge policy resolved them with the "
                + "rows that the store returned",
            "make the store return its newest rows, call cst_object_refresh (refresh) on each object, and save again",
            conflicts, of: store.backing)
    }

    /// Resolves conflicts by the merge policy, in memory.
    ///
    /// - Parameter isLast: Whether the limit of retries is reached. The conflicts are then thrown as an error.
    func resolve(_ conflicts: [SaveConflict], _ store: Store, isLast: Bool = false) throws {
        defer { for conflict in conflicts { conflict.end() } }
        context.mergeState.isResolving = true
        defer { context.mergeState.isResolving = false }
        // Observers are notified after the merge and before validation.
        try context.together("resolve conflicts") {
            if !isLast { try context.mergePolicy.resolve(conflicts) }
            // A conflict whose objects are not registered any more does not need a resolution.
            let open = conflicts.filter { isLast || $0.resolution == nil && !$0.objects.isEmpty }
            guard open.isEmpty else {
                throw CoreError.conflicts(open, merges: isLast ? SavePipeline.maximumMerges : 0, store)
            }
            try finishMerging(conflicts)
        }
        try validateMerged(conflicts)
    }

    /// Updates both sides of relationships and applies delete rules after a merge, and records the merge for observers.
    private func finishMerging(_ conflicts: [SaveConflict]) throws {
        let objects = conflicts.flatMap(\.objects)
        try connectReinsertedObjects()
        context.deleteRules.reapply()
        for object in objects where !object.isDeleted { try restoreOneToOnePairs(of: object) }
        // The merge is not an undo step, because undo must not restore values of replaced rows.
        context.changeTracker.forgetEvent()
        for object in objects { context.changeTracker.noteRefreshed(object) }
        for object in objects where !object.isDeleted && !object.isGone {
            try object.sendAwake(fromSnapshotEvents: .mergePolicy)
        }
    }

    private func validateMerged(_ conflicts: [SaveConflict]) throws {
        let objects = conflicts.flatMap(\.objects)
        try context.processPendingChanges(appliesDeleteRules: true)
        let merged = objects + conflicts.compactMap { ($0 as? ConstraintConflict)?.databaseObject }
        _ = try context.saveValidation.validated(
            SavePlan(
                inserted: merged.filter(\.isInserted), updated: merged.filter(\.isUpdated),
                deleted: merged.filter { $0.isDeleted && !context.changeTracker.isRowDeleted($0) }))
    }

    // MARK: Version conflicts

    /// Returns a conflict for each object whose row was changed or deleted in the store since it was read.
    ///
    /// Checks the updated and deleted objects of a plan, and unchanged objects that the application locked. A row that
    /// both sides deleted is not a conflict.
    ///
    /// - Parameter reported: Rows that the store itself reported. These rows are conflicts regardless of their
    ///   versions, and may be rows of new objects.
    private func versionConflicts(
        in part: SavePlan, _ store: Store, _ reported: ReportedRows?
    ) throws -> [MergeConflict] {
        let locked = context.changeTracker.locked.filter { $0.store === store && !$0.hasChanges && $0.record != nil }
        let based =
            (part.updated.filter(\.concernsStore) + part.deleted + locked).filter {
                !context.changeTracker.isRowDeleted($0)
            }
            + part.inserted.filter { reported?.names($0.entity, context.changeTracker.keyForSave($0)) ?? false }
        return try context.writing(store) {
            let state = store.rowCache.state
            store.backing.endRead()
            var conflicts: [MergeConflict] = []
            var groups = GroupedElements<Entity, ManagedObject>()
            for object in based { groups.add(object, to: object.entity.root) }
            for (root, objects) in groups.list {
                let batch = try store.backing.rows(of: root, primaryKeys: objects.map(context.changeTracker.keyForSave))
                var rows: [Int64: Record] = [:]
                for record in batch.records { rows[record.primaryKey] = record }
                for object in objects {
                    let key = context.changeTracker.keyForSave(object)
                    let row = rows[key]
                    let isReported = reported?.names(root, key) ?? false
                    if let row, row.version == object.version, object.record != nil, !isReported { continue }
                    // Both sides deleted the row, which is not a conflict.
                    if row == nil, object.isDeleted {
                        context.changeTracker.noteMissingRow(object)
                        continue
                    }
                    let (cached, chunk) = store.rowCache.retainedRow(root, key) ?? (nil, nil)
                    conflicts.append(
                        MergeConflict(object, row: row, cached: cached, in: context, store: store, key: key))
                    withExtendedLifetime(chunk) {}
                    // From now on, faults and merges use the newest row.
                    store.rowCache.replaceNewest(row, root, key, asOf: state)
                }
                withExtendedLifetime(batch) {}
            }
            return conflicts
        }
    }
}

extension RowCache {
    fileprivate func retainedRow(_ root: Entity, _ primaryKey: Int64) -> (Record?, RecordChunk?)? {
        row(root, primaryKey) { ($0, $0.chunk.takeUnretainedValue()) }
    }

    /// Replaces a cached row with its newest state. If `row` is nil, the row was deleted and is removed.
    fileprivate func replaceNewest(_ row: Record?, _ root: Entity, _ key: Int64, asOf state: UInt64) {
        if let row { replace(row, root: root, asOf: state) } else { remove(root, key) }
    }
}

private func conflictCount(_ count: Int) -> String {
    count == 1 ? "1 conflict prevents the save:" : "\(count) conflicts prevent the save:"
}

extension CoreError {
    /// Returns one error for unresolved conflicts. Its message contains the first 20 conflicts.
    ///
    /// - Parameter merges: The number of times that the merge policy resolved conflicts before, if the limit is
    ///   reached.
    static func conflicts(_ conflicts: [SaveConflict], merges: Int, _ store: Store) -> CoreError {
        if conflicts.count == 1 && merges == 0 { return conflicts[0].error }
        let shown = 20
        let code: CocoaCode = conflicts[0] is MergeConflict ? .managedObjectMerge : .managedObjectConstraintMerge
        var message = conflicts.prefix(shown).reduce(conflictCount(conflicts.count)) {
            "\($0)\n  \($1.message)"
        }
        if conflicts.count > shown { message += "\n  and \(conflicts.count - shown) more" }
        message +=
            merges == 0
            ? "\n  resolve each conflict as its error in the details describes, and save again, or set another "
                + "merge policy with cst_context_set_merge_policy (merge_policy, mergePolicy)"
            : "\n  the merge policy resolved conflicts \(merges) times, but each save found new ones; save again"
        let only = conflicts.count == 1 ? conflicts[0].error : nil
        return CoreError(
            .conflict, code: code, message, entity: only?.entity, key: only?.key, value: only?.value,
            objectURI: only?.objectURI, children: conflicts.map(\.error),
            file: store.path, payload: ConflictList(conflicts))
    }
}
