import CPlatform
import CorestoneModel
import CorestoneValues

extension Context {
    /// Makes a change of many rows in the stores, past the objects of this context and all others, without hooks, validators and
    /// the model's validation rules; then every open context of the coordinator merges it, unless that was turned off.
    ///
    /// All or nothing in each store. What the request's own code throws ends it, and comes back. That code runs within the
    /// transaction: it may read, but not save to that store, or run another request there.
    ///
    /// - Throws: `.storeReadOnly`; `.invalidArgument` for names and values that the entity does not take; code 1570 for a required
    ///   attribute without a value; code 133021 where values have to be unique and the context's merge policy settles nothing;
    ///   code 1600 where a delete rule denies; `.cancelled`; what the store fails with.
    public func execute(_ request: BatchRequest) throws -> BatchResult {
        try checkQueue()
        try refuseInHook("run a batch request\(request.entity.map { " of \($0.name)" } ?? "")")
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

    /// - Returns: what the request changed in a store, and the rows that followed.
    private func run(
        _ request: BatchRequest, _ entity: Entity, in store: Store, _ found: [ObjectID]?
    ) throws -> (own: ForeignChanges, indirect: [RowKey]) {
        let isDeletion = request is BatchDeleteRequest
        var changes = ForeignChanges()
        changes.isBatch = true
        var indirect: [RowKey] = []
        try writing(store) {
            guard !store.isReadOnly else { throw store.isReadOnlyError() }
            store.isInBatch = true
            // Whoever reads through this thread's connection meanwhile finds rows that may never be committed.
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
            if request.mergesIntoContexts { coordinator.tellOfBatch(all, in: store) }
            coordinator.postOwnChange(of: store)
        }
        return (changes, indirect)
    }

    /// Whether the context merges, by itself, what batch requests of its coordinator's contexts change. True at first. Any thread
    /// may set it.
    ///
    /// It merges on its own queue, as what other contexts save (`automaticallyMergesChangesFromParent`): objects without changes
    /// get the new values, deleted ones go. An object with unsaved changes keeps them: where the request changed other properties,
    /// on top of the new values; where it changed the same ones, or deleted the row, on top of the old ones, so that its save meets a
    /// conflict. Rows that came are told of as inserted where somebody observes the context. A pinned context merges nothing of it.
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
    /// Has contexts merge what a batch request changed, each on its queue.
    fileprivate func tellOfBatch(_ changes: ForeignChanges, in store: Store) {
        for inbox in contexts.mergingBatches { inbox.post(changes, of: store) }
    }
}
