import CPlatform
import CorestoneModel
import CorestoneValues

extension Context {
    /// Executes a batch request in the stores.
    ///
    /// It bypasses the objects of all contexts, hooks, validators and validation rules. Afterwards the open contexts
    /// of the coordinator merge the changes, unless merging is turned off or the context is pinned.
    ///
    /// The request is atomic in each store. An error that a handler throws aborts the request and is rethrown. Handlers
    /// run within the transaction: they can read the store, but must not save to it or run another batch request on it.
    ///
    /// - Throws: `.storeReadOnly` if the store cannot be written.
    ///   `.invalidArgument` for a property that cannot be set.
    ///   `.typeMismatch` for a value of another type.
    ///   Code 1570 for a required attribute without a value.
    ///   Code 133021 for a conflict with a unique constraint if the merge policy is `error`.
    ///   Code 1600 if a delete rule denies the deletion.
    ///   `.cancelled` if the request is cancelled.
    ///   The errors of the store.
    public func execute(_ request: BatchRequest) throws -> BatchResult {
        try checkQueue()
        try refuseInHook(
            "run a batch request\(request.entity.map { " of \($0.name)" } ?? "")", entity: request.entity?.name)
        let entity = try request.resolve(in: coordinator.model)
        let stores = try request.stores(of: entity, in: self)
        let isDeletion = request is BatchDeleteRequest
        let found = try keepingHold { try request.find(in: stores, for: self) }
        var (count, ids) = (0, ChangedIDs())
        for store in stores {
            let (own, indirect) = try keepingHold { try run(request, entity, in: store, found) }
            count += isDeletion ? own.deleted.count : own.inserted.count + own.updated.count
            if request.resultType == .objectIDs {
                ids.inserted += store.ids(own.inserted, in: self)
                ids.updated += store.ids(own.updated, in: self)
                ids.deleted += store.ids(own.deleted, in: self)
                ids.refreshed += store.ids(indirect, in: self)
            }
        }
        return BatchResult(
            resultType: request.resultType, count: count,
            objectIDs: isDeletion ? ids.deleted : ids.inserted + ids.updated, changes: ids)
    }

    /// Executes the request in one store.
    ///
    /// - Returns: The rows that the request changed itself, and the rows that were changed indirectly.
    func run(
        _ request: BatchRequest, _ entity: Entity, in store: Store, _ found: [ObjectID]?
    ) throws -> (own: ExternalChanges, indirect: [RowKey]) {
        let isDeletion = request is BatchDeleteRequest
        var changes = ExternalChanges()
        changes.isBatch = true
        var indirect: [RowKey] = []
        try writing(store) {
            guard !store.isReadOnly else { throw store.readOnlyError() }
            store.isInBatch = true
            // Meanwhile, reads through this thread's connection return uncommitted rows, which the row cache must not
            // keep.
            store.rowCache.beginSave(Array(Set(entities.map(\.rootIndex))))
            defer {
                store.isInBatch = false
                store.rowCache.endSave()
            }
            let formerTransaction = store.backing.lastOwnTransaction
            let author = SaveAuthor(author: transactionAuthor, contextName: name)
            let work = isDeletion ? "delete" : request is BatchInsertRequest ? "insert" : "update"
            try store.backing.saveUnmerged("\(work) rows of \(entity.name)", by: author) { transaction in
                let run = BatchRun(
                    context: self, entity: entity, store: store, transaction: transaction, found: found)
                try request.write(run, &changes)
                indirect = changes.indirect
                changes.indirect = []
                try run.checkCancelled()
            }
            noteHistory(of: store, after: formerTransaction)
            store.backing.setInterruptCheck(nil)
            indirect += store.backing.takeComputedRows()
            if store.references != nil { store.backing.endRead() }
            var all = changes
            all.updated += indirect
            coordinator.forgetRows(all, of: store, isOwn: true)
        }
        var all = changes
        all.updated += indirect
        if !all.isEmpty {
            if request.mergesIntoContexts { coordinator.postBatchChanges(all, in: store) }
            coordinator.postOwnChange(of: store)
        }
        return (changes, indirect)
    }

    /// Whether the context merges the changes of batch requests automatically.
    ///
    /// The default is true. Any thread may set it.
    ///
    /// The merge runs on the context's queue, like the merge of saves of other contexts
    /// (`automaticallyMergesChangesFromParent`). Objects without changes get the new values or are deleted. An object
    /// with unsaved changes keeps them. If the request changed only other properties, the object also gets the new
    /// values. Otherwise, and if the row was deleted, the object's save has a conflict. If the context is observed,
    /// inserted rows are reported as inserted. A pinned context does not merge batch changes.
    public var automaticallyMergesBatchChanges: Bool {
        get { links.inbox.mergesBatches.load(ordering: .relaxed) }
        set { links.inbox.mergesBatches.store(newValue, ordering: .relaxed) }
    }
}

extension Store {
    func ids(_ rows: [RowKey], in context: Context) -> [ObjectID] {
        rows.map { ObjectID(store: self, entity: context.entity(at: $0.entity), reference: $0.primaryKey) }
    }
}

extension Coordinator {
    /// Posts the changes of a batch request to the contexts that merge them, each on its own queue.
    fileprivate func postBatchChanges(_ changes: ExternalChanges, in store: Store) {
        for inbox in contexts.mergingBatches { inbox.post(changes, of: store) }
    }
}
