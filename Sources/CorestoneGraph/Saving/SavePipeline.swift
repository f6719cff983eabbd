import CorestoneModel
import CorestoneValues

extension Context {
    /// Validates and saves all changes.
    ///
    /// The changes are written in one transaction for each store, or passed to the parent context. Conflicts are
    /// resolved by `mergePolicy`.
    ///
    /// - Throws: The errors of validation, hooks, stores and unresolved conflicts. After an error, nothing is written
    ///   and all changes are still pending, with two exceptions: stores that an error of code 134040 lists as written,
    ///   and an error of a `didSave` hook, which runs after the save.
    public func save() throws {
        try checkQueue()
        try refuseInHook("save the context")
        try SavePipeline(context: self).run()
    }

    /// The pending changes in the form of a plan for a save.
    var pendingPlan: SavePlan {
        SavePlan(inserted: insertedObjects, updated: updatedObjects, deleted: deletedObjects)
    }
}

/// A save of a context. `run` lists its stages in their order, and each stage is a function of this file:
///
/// 1. `processChanges` applies delete rules and posts `willSave`.
/// 2. `collect` creates the plan: the objects to insert, update and delete.
/// 3. `prepare` runs the hooks and validators of the application, then checks the model's validation rules.
/// 4. `load` reads the rows and orders that writing needs.
/// 5. `write` calls `push` in a nested context, otherwise `writeToStores`:
///     - `push` moves the changes into the parent context,
///     - `split` divides the plan by store,
///     - `writePart` writes one part in one transaction, whose rows `SaveWriter` creates,
///     - `resolve` applies the merge policy to conflicts, after which the save continues at stage 4 again.
/// 6. `run` clears the lists of changes. Then `finish` notifies hooks, controllers, observers and other contexts.
///
/// The changes stay pending until stage 6, so a failure in an earlier stage does not lose them. Only parts that were
/// already written are no longer pending.
struct SavePipeline {
    let context: Context

    /// The maximum number of times that conflicts of one save are resolved.
    ///
    /// Conflicts can recur, because another process saves meanwhile or the merge policy causes new conflicts.
    static let maximumMerges = 16
    /// The maximum number of rounds of hooks before one save.
    private static let maximumHookRounds = 1000

    func run() throws {
        try processChanges()
        let pending = collect()
        if isWithoutEffect(pending) { return finishWithoutEffect(pending) }
        let plan = try load(try prepare(pending))
        // A custom store that is notified of registrations may use the context, which must be consistent by then.
        let written = try context.batchingNotices(true) {
            let written = try context.changeMerger.resolvingDeferred { try write(plan) }
            context.changeTracker.clear()
            return written
        }
        try finish(plan, written)
    }

    // MARK: 1. Process changes

    private func processChanges() throws {
        context.deleteRules.reapply()
        try context.processPendingChanges(appliesDeleteRules: true)
        guard context.hasChanges else { return }
        context.post(.willSave)
        // Observers may have changed objects.
        try context.processPendingChanges(appliesDeleteRules: true)
    }

    // MARK: 2. Collect

    private func collect() -> SavePlan {
        context.faultLoader.restoreInaccessibleFaults()
        context.changeMerger.releaseDeletedElsewhere()
        return context.pendingPlan
    }

    /// Whether the save neither writes changes nor calls a store.
    ///
    /// Locked objects must be checked even without changes, and some custom stores take part in every save.
    private func isWithoutEffect(_ plan: SavePlan) -> Bool {
        guard plan.isEmpty else { return false }
        if context.parent != nil { return true }
        return context.changeTracker.locked.isEmpty && !context.coordinator.stores.contains(where: \.observesEmptySaves)
    }

    private func finishWithoutEffect(_ plan: SavePlan) {
        context.changeTracker.clear()
        context.changeMerger.mergeDeferred()
        postDidSave(plan)
    }

    // MARK: 3. Prepare

    /// Prepares pending changes for a save.
    ///
    /// Runs hooks until they no longer change objects, then validators and the model's validation rules. Each round of
    /// hooks is an event; the hooks of objects that were changed or added in it run in the next round. If validators
    /// change objects, the hooks of these objects run again.
    ///
    /// - Returns: The plan with the changes of hooks and validators.
    private func prepare(_ first: SavePlan) throws -> SavePlan {
        guard context.has(.willSave) else { return try context.saveValidation.validated(first) }
        defer { (context.hookState.touched, context.hookState.recordsChangedObject) = (nil, false) }
        var pending = first.all
        // Retains the objects, so that a new object does not have the address of a deallocated object.
        var known = pending
        var knownIdentifiers = Set(known.map(ObjectIdentifier.init))
        func objectsForHooks(in plan: SavePlan) -> [ManagedObject] {
            let joined = plan.all.filter { knownIdentifiers.insert(ObjectIdentifier($0)).inserted }
            known += joined
            let touched = context.hookState.touched ?? []
            context.hookState.touched = []
            var seen: Set<ObjectIdentifier> = []
            return (touched + joined).filter {
                $0.entity.has(.willSave) && $0.hasChanges && seen.insert(ObjectIdentifier($0)).inserted
            }
        }
        context.hookState.touched = []
        for attempt in 1...SavePipeline.maximumHookRounds {
            context.hookState.recordsChangedObject = attempt == SavePipeline.maximumHookRounds
            for object in pending where !object.isGone { try object.sendWillSave() }
            try context.processPendingChanges(appliesDeleteRules: true)
            var plan = context.pendingPlan
            pending = objectsForHooks(in: plan)
            if !pending.isEmpty { continue }
            plan = try context.saveValidation.validated(plan)
            pending = objectsForHooks(in: plan)
            if pending.isEmpty { return plan }
        }
        throw context.hookState.stillDirtyError(after: SavePipeline.maximumHookRounds)
    }

    // MARK: 4. Load

    /// Reads the rows of updated and deleted objects, and the members of changed ordered relationships.
    ///
    /// Updated objects whose rows are missing move to `missingRowUpdates` if only references to them were removed.
    func load(_ plan: SavePlan) throws -> SavePlan {
        var plan = plan
        let missing =
            try context.faultLoader.loadRows(of: plan.updated) + context.faultLoader.loadRows(of: plan.deleted)
        if !missing.isEmpty { plan.separateMissingRowUpdates(among: missing) }
        try context.loadOrders(of: plan.updated)
        return plan
    }

    /// Returns the plan of the pending changes, after a merge policy has changed objects.
    func reload() throws -> SavePlan {
        try context.processPendingChanges(appliesDeleteRules: true)
        return try load(context.pendingPlan)
    }

    // MARK: 5. Write

    /// Writes a plan to its stores, or passes it to the parent context.
    ///
    /// - Returns: The plan that was written, which differs if conflicts were resolved.
    private func write(_ plan: SavePlan) throws -> SavePlan {
        defer { context.sendRenamedIDs() }
        if let parent = context.parent { return try push(plan, into: parent) }
        return try context.saveAndAdvance { try writeToStores(plan) }
    }

    /// Moves the changes of a save to the parent, where they become pending changes.
    ///
    /// The stores are not written. Conflicts with other saves are resolved first, by the merge policy. After a failure,
    /// the changes are still pending in the nested context.
    ///
    /// - Returns: The changes that were moved.
    private func push(_ first: SavePlan, into parent: Context) throws -> SavePlan {
        try context.withAncestors {
            try parent.refuseDuringSave()
            var transfer = NestedSave(first, from: context, into: parent)
            try transfer.prepare()
            let conflicts = transfer.conflicts()
            if !conflicts.isEmpty {
                for (store, conflicts) in conflicts { try context.conflictResolver.resolve(conflicts, store) }
                transfer = NestedSave(try reload(), from: context, into: parent)
                try transfer.prepare()
            }
            // The transfer notifies observers of the parent and of its objects, which must not use the nested context.
            try context.closed(for: .save) {
                try transfer.write()
                transfer.commit()
                // A failure appears again in the parent's save, which processes pending changes first.
                try? parent.processPendingChanges()
            }
            return transfer.plan
        }
    }

    /// Writes a plan store by store.
    ///
    /// Conflicts are resolved by the merge policy, after which the remaining changes are written.
    private func writeToStores(_ first: SavePlan) throws -> SavePlan {
        var plan = first
        var report = SaveReport()
        var merges = 0
        context.mergeState.passesUniqueValues = false
        while true {
            do {
                try writeParts(of: plan, &report)
                return report.written
            } catch let failure as PartFailure {
                plan = try resolve(failure, report, isLast: merges >= SavePipeline.maximumMerges)
                merges += 1
            }
        }
    }

    /// Writes the parts of a plan, store by store.
    ///
    /// - Throws: `PartFailure` for the first part that fails, after which no more parts are written.
    ///   The errors of `split` before any part is written.
    private func writeParts(of plan: SavePlan, _ report: inout SaveReport) throws {
        let parts = try split(plan)
        report.begin(parts)
        for (store, part) in parts {
            do { try writePart(part, to: store) } catch { throw PartFailure(store, part, error) }
            report.commit(part, to: store)
        }
        // Ordered lists that were read while rows were missing are read again, because the save inserted these rows.
        // The save is complete, so a failure here is ignored.
        if !context.changeTracker.reinserted.isEmpty {
            try? context.changeMerger.reloadOwners(context.changeTracker.reinserted)
        }
    }

    /// Returns the part of the plan for each store that the save must write, in the order of the stores.
    private func split(_ plan: SavePlan) throws -> [(store: Store, part: SavePlan)] {
        let stores = context.coordinator.stores
        let isWhole = context.coordinator.hasHadOneStore && stores.first?.holdings == nil && !stores.isEmpty
        let targets = try isWhole ? SaveTargets() : SaveTargets(of: plan.inserted, in: context)
        if !isWhole { try plan.requireStores(targets) }
        return try stores.compactMap { store in
            let part = isWhole ? plan : plan.part(in: store, targets)
            if part.isEmpty {
                let isConcerned =
                    store.observesEmptySaves || context.changeTracker.locked.contains { $0.store === store }
                return isConcerned && !store.isReadOnly ? (store, part) : nil
            }
            guard !store.isReadOnly else { throw store.readOnlyError() }
            return (store, part)
        }
    }

    /// Writes the part of one store in one transaction, when it is the context's turn to write to the store.
    private func writePart(_ part: SavePlan, to store: Store) throws {
        try context.writing(store) {
            // The store may have been replaced while this save waited.
            guard !store.isReadOnly else { throw store.readOnlyError() }
            let start = monotonicNanoseconds()
            try requireMemory(for: part, in: store)
            let formerTransaction = store.backing.lastOwnTransaction
            try commit(part, to: store)
            context.noteHistory(of: store, after: formerTransaction)
            store.backing.setInterruptCheck(nil)
            adoptComputedRows(of: store)
            store.rowCache.endSave()
            let duration = monotonicNanoseconds() - start
            context.coordinator.count { $0.saved(part, in: duration) }
        }
    }

    /// Checks that enough memory is free to write a part.
    ///
    /// An SQLite store is not checked, because it does not keep its rows in memory.
    private func requireMemory(for part: SavePlan, in store: Store) throws {
        if store.type == .sqlite { return }
        try MemoryCheck.require(
            (part.inserted.count + part.updated.count) * 256, to: "save to \(Coordinator.shown(store.path))",
            file: store.path)
    }

    /// Runs the transaction.
    ///
    /// Afterwards, objects have their permanent IDs and new rows. They are unchanged if the transaction fails.
    private func commit(_ part: SavePlan, to store: Store) throws {
        let writer = SaveWriter(context: context, store: store, plan: part)
        let metadata = store.pendingMetadata.withLock { $0 }
        let author = SaveAuthor(author: context.transactionAuthor, contextName: context.name)
        do {
            try context.closed(for: .save) {
                try store.backing.save(by: author) { transaction in
                    try writer.write(in: transaction)
                    if let metadata { try transaction.setMetadata(metadata) }
                    store.rowCache.beginSave(rootsOfRows(in: part))
                }
            }
        } catch {
            store.rowCache.endSave()
            writer.undo()
            // A custom store with all rows in memory has loaded its rows again, so the cached rows may be old.
            if let rejection = error as? SaveRejection, rejection.reported != nil,
                store.backing.abilities.contains(.rowsInMemory)
            {
                store.rowCache.forgetAll()
            }
            if let error = error as? CoreError, error.code == CocoaCode.managedObjectConstraintMerge.rawValue {
                throw SaveRejection.duplicateError(error)
            }
            throw error
        }
        writer.commit()
        store.didWriteMetadata(metadata)
    }

    /// Returns the indexes of the root entities in whose trees a save may change rows.
    ///
    /// The save changes rows directly, or the store computes attributes of other rows.
    private func rootsOfRows(in part: SavePlan) -> [UInt32] {
        var isConcerned = context.entities.map { $0.ownAttributes.contains { $0.derivation != nil } }
        for objects in [part.inserted, part.updated, part.deleted] {
            for object in objects { isConcerned[Int(object.entity.index)] = true }
        }
        return zip(context.entities, isConcerned).compactMap { $1 ? $0.rootIndex : nil }
    }

    /// Reads the rows in which the store computed values during the save, for example derived attributes.
    ///
    /// The save is complete, so a failure here is ignored. Objects whose rows cannot be read become faults, which read
    /// their rows at the next access.
    private func adoptComputedRows(of store: Store) {
        let rows = Dictionary(grouping: store.backing.takeComputedRows()) {
            context.entity(at: $0.entity).rootIndex
        }
        for (rootIndex, group) in rows {
            let root = context.entity(at: rootIndex)
            for row in group { store.rowCache.remove(root, row.primaryKey) }
            let objects = group.compactMap {
                context.identityMap.registered(store: store, root: root, primaryKey: $0.primaryKey)
            }
            .filter { $0.record != nil }
            if objects.isEmpty { continue }
            guard let fresh = try? store.backing.rows(of: root, primaryKeys: objects.map(\.primaryKey)) else {
                for object in objects { object.forgetRow() }
                continue
            }
            store.rowCache.add(fresh, root: root)
            for record in fresh.records {
                // If the version differs, another writer changed the row, and a refresh will report that change.
                if let object = context.identityMap.registered(store: store, root: root, primaryKey: record.primaryKey),
                    object.version == record.version || store.backing.decidesVersions
                {
                    object.setRecord(record)
                }
            }
            withExtendedLifetime(fresh) {}
        }
        // The read transaction must not outlive the save, or later reads would return old rows.
        if !rows.isEmpty { store.backing.endRead() }
    }

    /// Resolves the conflicts that made a part fail.
    ///
    /// - Returns: The plan of the changes after the merge.
    private func resolve(_ failure: PartFailure, _ report: SaveReport, isLast: Bool) throws -> SavePlan {
        guard let rejection = failure.error as? SaveRejection else { throw report.error(failure) }
        do {
            try context.conflictResolver.resolve(rejection, failure.part, failure.store, isLast: isLast)
            let plan = try reload()
            try context.saveValidation.validateByModel(plan)
            return plan
        } catch { throw report.error(PartFailure(failure.store, failure.part, error)) }
    }

    // MARK: 6. Finish

    /// Runs hooks and sends notifications after a save.
    ///
    /// The order is: hooks of the objects, trackers of results, observers of the context, other contexts, observers of
    /// the coordinator.
    private func finish(_ plan: SavePlan, _ written: SavePlan) throws {
        defer { context.changeMerger.mergeDeferred() }
        if plan.isEmpty { return postDidSave(plan) }
        context.runDidSaveHooks(written)
        context.keepingHold { context.observation.trackers.notify(.save, written.changes) }
        postDidSave(written)
        context.notifyOtherContexts(written)
        if context.parent == nil { context.coordinator.postOwnChanges(written) }
        try context.throwHookFailure()
    }

    /// Posts `didSave`, even for a save without changes, like Core Data.
    ///
    /// An observer that saves again without changes does not cause a second notification. Two such observers would
    /// otherwise notify each other endlessly.
    private func postDidSave(_ written: SavePlan) {
        if context.observation.isPostingDidSave && written.isEmpty { return }
        let wasPosting = context.observation.isPostingDidSave
        context.observation.isPostingDidSave = true
        defer { context.observation.isPostingDidSave = wasPosting }
        context.post(.didSave, written.changes.of(context.queryGenerationToken))
        context.post(.didSaveObjectIDs, ContextChanges(ids: written.changes.ids).of(context.queryGenerationToken))
    }
}
