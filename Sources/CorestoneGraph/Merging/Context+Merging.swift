import CorestoneModel
import CorestoneValues

extension Context {
    /// Resolves the conflicts that prevent a save: version conflicts, or else conflicts of unique constraints.
    ///
    /// - Parameter isLast: Whether the limit of retries is reached. Remaining conflicts are then thrown as an error.
    func resolve(_ obstacle: SaveObstacle, _ part: SavePlan, _ store: Store, isLast: Bool) throws {
        // Conflicts are resolved against the newest state, even if the context is pinned to a query generation.
        generation = nil
        var conflicts: [SaveConflict] = try versionConflicts(in: part, store, obstacle.reported)
        if conflicts.isEmpty, let error = obstacle.duplicateError {
            conflicts = try constraintConflicts(in: part, store)
            if conflicts.isEmpty {
                // No other object has the values, so objects of this save exchange them.
                if mergeState.passesUniqueValues { throw error }
                mergeState.passesUniqueValues = true
                return
            }
        }
        if !isLast || obstacle.reported == nil && !conflicts.isEmpty {
            // There is no conflict, for example, if both sides deleted the rows.
            return conflicts.isEmpty ? () : try resolve(conflicts, store, isLast: isLast)
        }
        let reported = obstacle.reported ?? ReportedRows([], duplicateError: nil)
        defer { for conflict in conflicts { conflict.end() } }
        throw reported.error(
            "reported conflicts \(SavePipeline.maximumMerges + 1) times, although the merge policy resolved them with the "
                + "rows that the store returned",
            "make the store return its newest rows, refresh these objects and save again", conflicts, of: store.backing)
    }

    /// Resolves conflicts by the merge policy, in memory.
    ///
    /// - Parameter isLast: Whether the limit of retries is reached. The conflicts are then thrown as an error.
    func resolve(_ conflicts: [SaveConflict], _ store: Store, isLast: Bool = false) throws {
        defer { for conflict in conflicts { conflict.end() } }
        mergeState.isResolving = true
        defer { mergeState.isResolving = false }
        // Observers are notified after the merge and before validation.
        try together {
            if !isLast { try mergePolicy.resolve(conflicts) }
            // A conflict whose objects are not registered any more does not need a resolution.
            let open = conflicts.filter { isLast || $0.resolution == nil && !$0.objects.isEmpty }
            guard open.isEmpty else {
                throw CoreError.conflicts(open, merges: isLast ? SavePipeline.maximumMerges : 0, store)
            }
            try finishMerging(conflicts)
        }
        try validateMerged(conflicts)
    }

    /// Updates both sides of relationships and applies delete rules after a merge, and records it for observers.
    private func finishMerging(_ conflicts: [SaveConflict]) throws {
        let objects = conflicts.flatMap(\.objects)
        try connectReinsertedObjects()
        deleteRules.reapply()
        for object in objects where !object.isDeleted { try restoreOneToOnePairs(of: object) }
        // The merge is not an undo step, because undo must not restore values of replaced rows.
        changeTracker.forgetEvent()
        for object in objects { changeTracker.noteRefreshed(object) }
        for object in objects where !object.isDeleted && !object.isGone {
            try object.sendAwake(fromSnapshotEvents: .mergePolicy)
        }
    }

    private func validateMerged(_ conflicts: [SaveConflict]) throws {
        let objects = conflicts.flatMap(\.objects)
        try processPendingChanges(appliesDeleteRules: true)
        let merged = objects + conflicts.compactMap { ($0 as? ConstraintConflict)?.databaseObject }
        _ = try saveValidation.validated(
            SavePlan(
                inserted: merged.filter(\.isInserted), updated: merged.filter(\.isUpdated),
                deleted: merged.filter { $0.isDeleted && !isRowDeleted($0) }))
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
        let locked = changeTracker.locked.filter { $0.store === store && !$0.hasChanges && $0.record != nil }
        let based =
            (part.updated.filter(\.concernsStore) + part.deleted + locked).filter { !isRowDeleted($0) }
            + part.inserted.filter { reported?.names($0.entity, changeTracker.keyForSave($0)) ?? false }
        return try writing(store) {
            let state = store.rowCache.state
            store.backing.endRead()
            var conflicts: [MergeConflict] = []
            var groups = GroupedElements<Entity, ManagedObject>()
            for object in based { groups.add(object, to: object.entity.root) }
            for (root, objects) in groups.list {
                let batch = try store.backing.rows(of: root, primaryKeys: objects.map(changeTracker.keyForSave))
                var rows: [Int64: Record] = [:]
                for record in batch.records { rows[record.primaryKey] = record }
                for object in objects {
                    let key = changeTracker.keyForSave(object)
                    let row = rows[key]
                    let isReported = reported?.names(root, key) ?? false
                    if let row, row.version == object.version, object.record != nil, !isReported { continue }
                    // Both sides deleted the row, which is not a conflict.
                    if row == nil, object.isDeleted {
                        changeTracker.missingRowDeletions.insert(ObjectIdentifier(object))
                        continue
                    }
                    let (cached, chunk) = store.rowCache.retainedRow(root, key) ?? (nil, nil)
                    conflicts.append(MergeConflict(object, row: row, cached: cached, in: self, store: store, key: key))
                    withExtendedLifetime(chunk) {}
                    // From now on, faults and merges use the newest row.
                    store.rowCache.replaceNewest(row, root, key, asOf: state)
                }
                withExtendedLifetime(batch) {}
            }
            return conflicts
        }
    }

    // MARK: Locked objects

    /// Makes the next save check the row of an object even if the object is unchanged.
    ///
    /// If the row was changed or deleted in the store, the save finds a version conflict (133020). The merge policy
    /// resolves the conflict like that of a changed object.
    ///
    /// The mark is removed by a successful save, a rollback or a reset. If the object is a fault, it is fired. The call
    /// has no effect on an object that was never saved, and the saves of a nested context ignore such marks.
    ///
    /// - Throws: `.invalidArgument` if the object is in another context; `.objectGone` if the object has left its
    ///   context; `.wrongThread`; the errors of firing a fault.
    public func detectConflicts(for object: ManagedObject) throws {
        try checkQueue()
        if object.state.contains(.detached) { throw object.detachedError() }
        guard object.context === self else {
            throw object.elsewhere("detect its conflicts there")
        }
        if object.state.contains(.inserted) { return }
        try object.fireIfNeeded()
        if object.state.insert(.locked).inserted { changeTracker.locked.append(object) }
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
    count == 1 ? "1 object has a conflict:" : "\(count) objects have conflicts:"
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
            ? "\n  refresh or change them and save again, or set the context's merge policy"
            : "\n  the merge policy resolved conflicts \(merges) times, but each save found new ones; save again"
        let only = conflicts.count == 1 ? conflicts[0].error : nil
        return CoreError(
            .conflict, code: code, message, entity: only?.entity, key: only?.key, value: only?.value,
            objectURI: only?.objectURI, children: conflicts.map(\.error), file: store.path,
            payload: ConflictList(conflicts))
    }
}
