import CPlatform
import CorestoneModel
import CorestoneValues

// A nested context reads the saved and unsaved state of its parent, and saves into its parent. A thread that reads from
// ancestor contexts, or saves into one, acquires the contexts from the child up to the root, and then the coordinator.
// This is the lock order.
extension Context {
    /// Runs `body` while the calling thread may also use the ancestor contexts.
    ///
    /// - Throws: `.wrongThread` if an ancestor is confined to another thread.
    ///   The errors of waiting for a queue.
    ///   The error of `body`.
    func withAncestors<Result>(_ body: () throws -> Result) throws -> Result {
        if parent == nil { return try keepingHold(body) }
        var result: Swift.Result<Result, any Error>?
        try holdAncestors { result = Swift.Result { try body() } }
        guard let result else {
            throw CoreError(
                .internal,
                "the queue of \(label.text) dropped a block without running it; report it as a defect of the library")
        }
        return try result.get()
    }

    /// Runs `body` while the ancestor contexts are held.
    ///
    /// Not generic and not inlined, to reduce the size of the library.
    @inline(never)
    private func holdAncestors(_ body: () -> Void) throws {
        guard let parent else { return keepingHold(body) }
        try keepingHold {
            try parent.withOwnership {
                try parent.holdAncestors {
                    takeRenamed()
                    body()
                }
            }
        }
    }

    /// Waits for the context's queue, and makes the calling thread the owner of the context while `body` runs.
    func withOwnership(_ body: () throws -> Void) throws {
        if isOwn { return try keepingHold(body) }
        if isClosed { throw closedError() }
        try refuseWaitInSave()
        switch queueType {
        case .caller: throw wrongThread(asParent: true)
        case .privateQueue:
            try queue?.run {
                if isClosed { throw closedError() }
                try withOwner(0, body)
            }
        case .main: try borrow(body)
        }
    }

    /// Makes the calling thread the owner while `body` runs, and `owner` the owner afterwards.
    private func withOwner(_ owner: UInt64, _ body: () throws -> Void) rethrows {
        let former = access.holds
        ownerThread = platform_thread_id()
        access.holds = OwnershipDepth(performs: 1)
        defer {
            access.holds = former
            ownerThread = access.hasEnded ? Context.endedOwner : owner
        }
        try body()
    }

    /// Makes the calling thread the owner of a main context while `body` runs, and blocks the main thread meanwhile.
    private func borrow(_ body: () throws -> Void) throws {
        let main = MainQueue.boundThread, borrower = platform_thread_id()
        guard main != 0 else { throw wrongThread(asParent: true) }
        let offered = Turn(), returned = Turn()
        try WaitGraph.whileWaiting(for: .mainThread, label) {
            MainQueue.enqueue {
                WaitGraph.lend(to: borrower)
                offered.signal()
                returned.wait()
            }
            offered.wait()
        }
        defer {
            WaitGraph.end(of: main)
            returned.signal()
        }
        try withOwner(main, body)
    }
}

// MARK: - The same object in two contexts

extension Context {
    /// Returns this context's registered object for an object of a related context; nil if no object is registered.
    func registeredCounterpart(of other: ManagedObject) -> ManagedObject? {
        if other.hasTemporaryID { return identityMap.registered(with: other.objectID) }
        return identityMap.registered(store: other.store, root: other.entity, primaryKey: other.primaryKey)
    }

    /// Returns this context's object for an object of a related context; a new fault if no object is registered.
    func counterpart(of other: ManagedObject) -> ManagedObject {
        if let known = registeredCounterpart(of: other), known.entity === other.entity { return known }
        return identityMap.object(store: other.store, entity: other.entity, primaryKey: other.primaryKey)
    }

    /// Returns the target of a to-one relationship from the key and the entity in an object's record.
    ///
    /// The object or the target must not be in a store yet. Returns nil for a target that was deleted before it was
    /// saved.
    func unsavedTarget(of object: ManagedObject, _ slot: Int, key: Int64, entity index: UInt32) throws -> ManagedObject?
    {
        let entity = entity(at: index)
        if key < 0 {
            let id = ObjectID(store: nil, entity: entity, reference: key)
            return try unsavedObject(with: id) ?? savedSince(id)
        }
        let stores = try coordinator.stores(having: entity)
        if stores.count == 1 { return identityMap.object(store: stores[0], entity: entity, primaryKey: key) }
        // The key is unique only within a store. The context that wrote the record determines the store.
        let store = try withAncestors {
            try parent?.counterpart(of: object).target(of: object.entity.relationship(slot))?.store
        }
        guard let store = store ?? stores.first else { throw object.detachedError() }
        return identityMap.object(store: store, entity: entity, primaryKey: key)
    }

    /// Returns the object of a temporary ID that has become permanent in this context or an ancestor.
    private func savedSince(_ id: ObjectID) throws -> ManagedObject? {
        try withAncestors {
            var context: Context? = self
            while let current = context {
                if let (store, key) = current.identityMap.permanentStore(of: id.reference, root: id.entity.root) {
                    return identityMap.object(store: store, entity: id.entity, primaryKey: key)
                }
                context = current.parent
            }
            return nil
        }
    }

    /// Returns the object of a temporary ID: the unsaved object, or the one that was saved since.
    ///
    /// The permanent key of a saved object is known until the context is reset, even if an ancestor's object has been
    /// freed meanwhile. Returns nil for other IDs, and for a temporary ID that this context and its ancestors do not
    /// know.
    func objectOfTemporary(_ id: ObjectID) throws -> ManagedObject? {
        guard id.isTemporary else { return nil }
        if let own = identityMap.registered(with: id) { return own }
        guard id.entity.model === coordinator.model, let found = try unsavedObject(with: id) ?? savedSince(id) else {
            return nil
        }
        if let store = found.store, identityMap.permanentKey(of: id.reference, root: id.entity.root) == nil {
            identityMap.note(id.reference, became: found.primaryKey, store: store, root: id.entity.root)
        }
        return found
    }

    /// Returns an unsaved object that has values here or in an ancestor context; nil if there is no such object.
    func unsavedObject(with id: ObjectID) throws -> ManagedObject? {
        if let known = identityMap.registered(with: id), known.record != nil || known.state.contains(.inserted) {
            return known
        }
        guard parent != nil, id.isTemporary, id.entity.model === coordinator.model else { return nil }
        return try withAncestors {
            var ancestor = parent
            while let context = ancestor {
                if let own = context.identityMap.registered(with: id) {
                    return own.isDeleted ? nil : counterpart(of: own)
                }
                ancestor = context.parent
            }
            return nil
        }
    }
}

// MARK: - Permanent IDs

extension Context {
    /// Applies the permanent IDs that ancestor contexts assigned to objects.
    func takeRenamed() {
        if links.inbox.isEmpty { return }
        for renaming in links.inbox.takeRenamed() {
            let root = entity(at: renaming.root)
            if let object = identityMap.registered(store: nil, root: root, primaryKey: renaming.reference) {
                keyAssignment.makePermanent(object, store: renaming.store, key: renaming.key)
            } else {
                identityMap.note(renaming.reference, became: renaming.key, store: renaming.store, root: root)
                if !links.children.isEmpty { links.note(renaming) }
            }
            if !renaming.store.isOpen { links.inbox.putBack(removed: renaming.store) }
        }
        sendRenamedIDs()
    }

    /// Posts to nested contexts the IDs that have become permanent since the last call.
    func sendRenamedIDs() {
        if links.renamed.isEmpty { return }
        let renamed = links.takeRenamed()
        for inbox in links.children.all { inbox.post(renamed) }
    }

    /// Makes the ancestor contexts assign permanent IDs to objects that are new there.
    func obtainPermanentIDsInAncestors(for objects: [ManagedObject]) throws {
        guard let parent else { return }
        let theirs = objects.filter { $0.hasTemporaryID && $0.state.isDisjoint(with: [.inserted, .deleted]) }
        if theirs.isEmpty { return }
        try withAncestors { try parent.obtainPermanentIDs(for: theirs.map { parent.counterpart(of: $0) }) }
        takeRenamed()
    }
}
