import CorestoneModel
import CorestoneValues

extension Context {
    /// Validates, then writes all changes, in one transaction for each store. Conflicts are settled as `mergePolicy` says.
    ///
    /// After a failure nothing was written and all is still pending, but for the stores that an error of code 134040 names as
    /// written.
    public func save() throws {
        try checkQueue()
        try refuseInHook("save the context")
        applyTakenBackDeleteRules()
        try processPendingChanges(appliesDeleteRules: true)
        if hasChanges {
            post(.willSave)
            try processPendingChanges(appliesDeleteRules: true)
        }
        settleInaccessible()
        forgetDeletedElsewhere()
        var plan = pendingPlan
        if plan.isEmpty
            && (parent != nil || lockedObjects.isEmpty && !coordinator.stores.contains(where: \.hearsEmptySaves))
        {
            clearLists()
            takeInLeftOut()
            return tellSaved(plan)
        }
        plan = try completed(prepared(plan))
        // A store that hears which objects are registered may use the context, which has to be whole by then.
        let written = try tellingTogether(true) {
            let written = try settlingLeftOut { try writeBeneath(plan) }
            clearLists()
            return written
        }
        defer { takeInLeftOut() }
        if plan.isEmpty { return tellSaved(plan) }
        tellDidSave(written)
        keepingHold { tracking.tell(.save, written.changes) }
        tellSaved(written)
        tellOthers(written)
        if parent == nil { coordinator.postOwnChanges(written) }
        try throwHookFailure()
    }

    /// As Core Data does, also of a save that had nothing to write.
    ///
    /// An observer that saves again, with nothing to write, hears no answer to that: two such observers would go on without end.
    private func tellSaved(_ written: SavePlan) {
        if isTellingSaved && written.isEmpty { return }
        let wasTelling = isTellingSaved
        isTellingSaved = true
        defer { isTellingSaved = wasTelling }
        post(.didSave, written.changes.of(queryGenerationToken))
        post(.didSaveObjectIDs, ContextChanges(ids: written.changes.ids).of(queryGenerationToken))
    }

    /// A plan whose objects have their rows, and their members where those have an order; without ghosts.
    func completed(_ plan: SavePlan) throws -> SavePlan {
        var plan = plan
        let rowless = try loadRows(of: plan.updated) + loadRows(of: plan.deleted)
        if !rowless.isEmpty { plan.leaveOutGhosts(among: rowless) }
        try loadOrders(of: plan.updated)
        return plan
    }

    /// Writes into the stores, or into the parent. Returns what was written.
    private func writeBeneath(_ plan: SavePlan) throws -> SavePlan {
        defer { tellRenamed() }
        guard let parent else { return try advancing { try writeMerging(plan) } }
        return try push(plan, into: parent)
    }

    /// Writes the parts of a plan one store after the other; each is a transaction of its own.
    /// - Throws: `PartFailure` for the first that fails, after which no more are written.
    func write(_ plan: SavePlan, _ report: inout SaveReport) throws {
        let parts = try parts(of: plan)
        report.begin(parts)
        for (store, part) in parts {
            do { try write(part, to: store) } catch { throw PartFailure(store, part, error) }
            report.commit(part, to: store)
        }
        // Lists were read while their rows were gone. The save is done, so that nothing here fails it.
        if !insertedAgain.isEmpty { try? enterLists(insertedAgain) }
    }

    /// What concerns each store, in the order of the stores.
    private func parts(of plan: SavePlan) throws -> [(store: Store, part: SavePlan)] {
        let stores = coordinator.stores
        let isWhole = coordinator.hasHadOneStore && stores.first?.holdings == nil && !stores.isEmpty
        let targets = try isWhole ? SaveTargets() : SaveTargets(of: plan.inserted, in: self)
        if !isWhole { try plan.requireStores(targets) }
        return try stores.compactMap { store in
            let part = isWhole ? plan : plan.part(in: store, targets)
            if part.isEmpty {
                let isConcerned = store.hearsEmptySaves || lockedObjects.contains { $0.store === store }
                return isConcerned && !store.isReadOnly ? (store, part) : nil
            }
            guard !store.isReadOnly else { throw store.isReadOnlyError() }
            return (store, part)
        }
    }

    private func write(_ part: SavePlan, to store: Store) throws {
        try writing(store) {
            // While this save waited for its turn, another store may have taken the place of this one.
            guard !store.isReadOnly else { throw store.isReadOnlyError() }
            let start = monotonicNanoseconds()
            // Before a store that is in memory as a whole is about to grow by these.
            if store.type != .sqlite {
                try MemoryRoom.require(
                    (part.inserted.count + part.updated.count) * 256, to: "save to \(store.path)", file: store.path)
            }
            let writer = SaveWriter(context: self, store: store, plan: part)
            let formerTransaction = store.backing.lastOwnTransaction
            let metadata = store.pendingMetadata.withLock { $0 }
            do {
                let author = SaveAuthor(author: transactionAuthor, contextName: name)
                try closed(for: .save) {
                    try store.backing.save(by: author) { transaction in
                        try writer.write(in: transaction)
                        if let metadata { try transaction.setMetadata(metadata) }
                        store.rowCache.beginSave(rootsOfRows(in: part))
                    }
                }
            } catch {
                store.rowCache.endSave()
                writer.undo()
                // A host's store that has all of its rows in memory has loaded them anew.
                if let obstacle = error as? SaveObstacle, obstacle.reported != nil,
                    store.backing.abilities.contains(.rowsInMemory)
                {
                    store.rowCache.forgetAll()
                }
                if let error = error as? CoreError, error.code == CocoaCode.managedObjectConstraintMerge.rawValue {
                    throw SaveObstacle.taken(error)
                }
                throw error
            }
            writer.commit()
            store.didWriteMetadata(metadata)
            noteHistory(of: store, after: formerTransaction)
            store.backing.setInterruptCheck(nil)
            takeComputedRows(of: store)
            store.rowCache.endSave()
            let duration = monotonicNanoseconds() - start
            coordinator.count { $0.saved(part, in: duration) }
        }
    }

    /// The roots of the trees in which a save changes rows: by itself, and where the store computes attributes.
    private func rootsOfRows(in part: SavePlan) -> [UInt32] {
        var isConcerned = entities.map { $0.ownAttributes.contains { $0.derivation != nil } }
        for objects in [part.inserted, part.updated, part.deleted] {
            for object in objects { isConcerned[Int(object.entity.index)] = true }
        }
        return zip(entities, isConcerned).compactMap { $1 ? $0.rootIndex : nil }
    }

    /// Takes over what the store computed while it saved: the objects that it tells of get their rows anew.
    ///
    /// The save is done, so nothing here fails it: where the rows cannot be read now, the objects are faults, which read theirs,
    /// or fail, when they are next asked.
    private func takeComputedRows(of store: Store) {
        let rows = Dictionary(grouping: store.backing.takeComputedRows()) { entity(at: $0.entity).rootIndex }
        for (rootIndex, group) in rows {
            let root = entity(at: rootIndex)
            for row in group { store.rowCache.remove(root, row.primaryKey) }
            let objects = group.compactMap { registered(store: store, root: root, primaryKey: $0.primaryKey) }
                .filter { $0.record != nil }
            if objects.isEmpty { continue }
            guard let fresh = try? store.backing.rows(of: root, primaryKeys: objects.map(\.primaryKey)) else {
                for object in objects { object.forgetRow() }
                continue
            }
            store.rowCache.add(fresh, root: root)
            for record in fresh.records {
                // Another version is somebody else's change, of which a refresh will tell.
                if let object = registered(store: store, root: root, primaryKey: record.primaryKey),
                    object.version == record.version || store.backing.decidesVersions
                {
                    object.setRecord(record)
                }
            }
            withExtendedLifetime(fresh) {}
        }
        // What nobody has taken by now would be old when somebody does.
        if !rows.isEmpty { store.backing.endRead() }
    }

    /// Gives inserted objects their final IDs before the save.
    public func obtainPermanentIDs(for objects: [ManagedObject]) throws {
        try checkQueue()
        for object in objects {
            if object.state.contains(.gone) { throw object.gone() }
            guard object.context === self else {
                throw object.elsewhere("obtain its permanent ID there")
            }
        }
        try obtainPermanentIDsBeneath(for: objects)
        let temporary = objects.filter { $0.hasTemporaryID && $0.isInserted }
        if temporary.isEmpty { return }
        let targets = try SaveTargets(of: temporary, in: self)
        for store in coordinator.stores {
            let here = temporary.filter { targets.store(of: $0) === store }
            if here.isEmpty { continue }
            let keys =
                try store.references == nil
                ? reserveKeys(for: here) { root, count in
                    try writing(store) { try store.backing.reservePrimaryKeys(of: root, count: count) }
                }
                : namedKeys(for: here, in: store) { rows in
                    try writing(store) { try store.backing.obtainKeys(for: rows) }
                }
            // One that is listed twice keeps the first. A host that was asked for keys may have had objects leave.
            for (object, key) in zip(here, keys) where object.hasTemporaryID && object.context === self {
                makePermanent(object, store: store, key: key)
            }
        }
        let permanent = temporary.filter { $0.context === self }
        if tracking.hears(.save) {
            var renamed = ContextChanges()
            renamed.inserted = permanent
            keepingHold { tracking.tell(.save, renamed) }
        }
        tellRenamed()
        if let lost = temporary.first(where: \.isGone) { throw lost.gone() }
    }

    /// A key for each of some objects: consecutive ones within an inheritance tree, in the order of the objects. One that has
    /// its key keeps it.
    func reserveKeys(
        for objects: [ManagedObject], _ reserve: (_ root: Entity, _ count: Int) throws -> Int64
    ) throws -> [Int64] {
        var next = [Int64](repeating: 0, count: entities.count)
        for (root, count) in countsByRoot(objects.lazy.filter(\.hasTemporaryID)) {
            next[Int(root.index)] = try reserve(root, count)
        }
        return objects.map { object in
            guard object.hasTemporaryID else { return object.primaryKey }
            let root = Int(object.entity.rootIndex)
            defer { next[root] += 1 }
            return next[root]
        }
    }

    /// The keys that a store gives to objects which name rows by references. One that has its key keeps it.
    func namedKeys(
        for objects: [ManagedObject], in store: Store, _ obtain: (_ rows: [NewRow]) throws -> [Int64]?
    ) throws -> [Int64] {
        var new: [ManagedObject] = []
        // One may be listed twice.
        var found: [ObjectIdentifier: Int64] = [:]
        var kept: [UInt32: Set<Int64>] = [:]
        for object in objects where object.hasTemporaryID && found[ObjectIdentifier(object)] == nil {
            let root = object.entity.root
            if let given = keptKeys[object.primaryKey], given.store === store,
                registered(store: store, root: root, primaryKey: given.key) == nil
            {
                found[ObjectIdentifier(object)] = given.key
                kept[root.index, default: []].insert(given.key)
            } else {
                found[ObjectIdentifier(object)] = 0
                new.append(object)
            }
        }
        if !new.isEmpty {
            guard let keys = try obtain(new.map { NewRow($0) }), keys.count == new.count else {
                throw CoreError(
                    .internal,
                    "\(store.path) did not return a key for each new object; report it as a defect of the library",
                    file: store.path)
            }
            // A host that does not note what it gave may give that again while nothing is saved: then it names all of them anew.
            if zip(new, keys).contains(where: { kept[$0.entity.rootIndex]?.contains($1) == true }) {
                for object in objects { keptKeys[object.primaryKey] = nil }
                return try namedKeys(for: objects, in: store, obtain)
            }
            for (object, key) in zip(new, keys) { found[ObjectIdentifier(object)] = key }
        }
        for object in objects where object.hasTemporaryID {
            guard let key = found[ObjectIdentifier(object)],
                let other = registered(store: store, root: object.entity.root, primaryKey: key)
            else { continue }
            throw CoreError(
                .invalidArgument, code: .persistentStoreSave,
                "\(store.path) returned the reference of \(other.objectID.uri) for a new \(object.entity.name); return references "
                    + "that are unique in the entity tree and never reused", entity: object.entity.name,
                objectURI: other.objectID.uri, file: store.path)
        }
        return objects.map { found[ObjectIdentifier($0)] ?? $0.primaryKey }
    }

    /// The key that the next save writes an object under, as far as it has one: also one that a save that failed has got.
    func keyForSave(_ object: ManagedObject) -> Int64 {
        keptKeys.isEmpty ? object.primaryKey : keptKeys[object.primaryKey]?.key ?? object.primaryKey
    }

    /// Replaces a temporary ID; the old one still finds the object.
    func makePermanent(_ object: ManagedObject, store: Store, key: Int64) {
        let temporary = object.primaryKey
        unregister(object)
        object.store = store
        object.primaryKey = key
        let place = tableIndex(store: store, root: object.entity)
        enter(object, tables[place].table)
        tables[place].former.note(temporary, became: key)
        if !children.isEmpty {
            renamed.append(Renaming(root: object.entity.rootIndex, reference: temporary, store: store, key: key))
        }
    }
}
