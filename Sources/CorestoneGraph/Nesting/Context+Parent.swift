import CPlatform
import CorestoneModel
import CorestoneValues

// A context on top of another one sees what that one holds, saved or not, and saves into it. Whoever uses a context holds all
// contexts beneath it, from the top down and never the other way: that is the order of locks, and after them the coordinator's.
extension Context {
    /// Runs `body` while the calling thread may use the contexts beneath this one too.
    /// - Throws: `.wrongThread` when one of them is confined to another thread.
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

    /// Not generic, and kept apart from its many callers, for the sake of the library's size.
    @inline(never)
    private func holdAncestors(_ body: () -> Void) throws {
        guard let parent else { return keepingHold(body) }
        try keepingHold {
            try parent.hold {
                try parent.holdAncestors {
                    takeRenamed()
                    body()
                }
            }
        }
    }

    /// Makes the calling thread the one that may use this context, waiting for its queue, while `body` runs.
    func hold(_ body: () throws -> Void) throws {
        if isOwn { return try keepingHold(body) }
        if isClosed { throw isClosedForGood() }
        try refuseWaitInSave()
        switch queueType {
        case .caller: throw wrongThread(asParent: true)
        case .privateQueue:
            try queue?.run {
                if isClosed { throw isClosedForGood() }
                try lend(0, body)
            }
        case .main: try borrow(body)
        }
    }

    /// Makes the calling thread the owner while `body` runs.
    private func lend(_ owner: UInt64, _ body: () throws -> Void) rethrows {
        let former = access.holds
        ownerThread = platform_thread_id()
        access.holds = Holds(performs: 1)
        defer {
            access.holds = former
            ownerThread = access.hasEnded ? Context.endedOwner : owner
        }
        try body()
    }

    /// Has the main thread wait in its queue while `body` runs here.
    private func borrow(_ body: () throws -> Void) throws {
        let main = MainQueue.boundThread, borrower = platform_thread_id()
        guard main != 0 else { throw wrongThread(asParent: true) }
        let offered = Turn(), returned = Turn()
        try Waits.whileWaiting(for: .mainThread, label) {
            MainQueue.enqueue {
                Waits.lend(to: borrower)
                offered.give()
                returned.wait()
            }
            offered.wait()
        }
        defer {
            Waits.end(of: main)
            returned.give()
        }
        try lend(main, body)
    }
}

// MARK: - The same object in two contexts

extension Context {
    /// This context's object for one of a context above or beneath, if there is one.
    func registeredCounterpart(of other: ManagedObject) -> ManagedObject? {
        if other.hasTemporaryID { return registered(with: other.objectID) }
        return registered(store: other.store, root: other.entity, primaryKey: other.primaryKey)
    }

    /// This context's object for one of a context above or beneath; a fault when there was none.
    func counterpart(of other: ManagedObject) -> ManagedObject {
        if let known = registeredCounterpart(of: other), known.entity === other.entity { return known }
        return object(store: other.store, entity: other.entity, primaryKey: other.primaryKey)
    }

    /// The target that the record of an object names, where one of them was never saved and so is in no store yet. nil for one that
    /// was deleted before it ever was.
    func unsavedTarget(of object: ManagedObject, _ slot: Int, key: Int64, entity index: UInt32) throws -> ManagedObject?
    {
        let entity = entity(at: index)
        if key < 0 {
            let id = ObjectID(store: nil, entity: entity, reference: key)
            return try unsavedObject(with: id) ?? savedSince(id)
        }
        let stores = try coordinator.stores(having: entity)
        if stores.count == 1 { return self.object(store: stores[0], entity: entity, primaryKey: key) }
        // The key says nothing without its store, which the context that wrote the record knows.
        let store = try withAncestors {
            try parent?.counterpart(of: object).target(of: object.entity.relationship(slot))?.store
        }
        guard let store = store ?? stores.first else { throw object.gone() }
        return self.object(store: store, entity: entity, primaryKey: key)
    }

    /// The object of a temporary ID that a context beneath has saved since, and that no context has at hand any more.
    private func savedSince(_ id: ObjectID) throws -> ManagedObject? {
        try withAncestors {
            var context: Context? = self
            while let asked = context {
                if let (store, key) = asked.permanentStore(of: id.reference, root: id.entity.root) {
                    return object(store: store, entity: id.entity, primaryKey: key)
                }
                context = asked.parent
            }
            return nil
        }
    }

    /// An object that was never saved: one that has values here, or that a context beneath has. nil when all of them are without it.
    func unsavedObject(with id: ObjectID) throws -> ManagedObject? {
        if let known = registered(with: id), known.record != nil || known.state.contains(.inserted) { return known }
        guard parent != nil, id.isTemporary, id.entity.model === coordinator.model else { return nil }
        return try withAncestors {
            var ancestor = parent
            while let context = ancestor {
                if let own = context.registered(with: id) { return own.isDeleted ? nil : counterpart(of: own) }
                ancestor = context.parent
            }
            return nil
        }
    }
}

// MARK: - IDs that become permanent

extension Context {
    /// Gives objects the permanent IDs that they got beneath.
    func takeRenamed() {
        if links.inbox.isEmpty { return }
        for renaming in links.inbox.takeRenamed() {
            let root = entity(at: renaming.root)
            if let object = registered(store: nil, root: root, primaryKey: renaming.reference) {
                makePermanent(object, store: renaming.store, key: renaming.key)
            } else {
                identityMap.note(renaming.reference, became: renaming.key, store: renaming.store, root: root)
                if !links.children.isEmpty { links.renamed.append(renaming) }
            }
            if !renaming.store.isOpen { links.inbox.putBack(removed: renaming.store) }
        }
        tellRenamed()
    }

    /// Tells the contexts above which IDs became permanent since the last time.
    func tellRenamed() {
        if links.renamed.isEmpty { return }
        let news = links.renamed
        links.renamed = []
        for inbox in links.children.all { inbox.post(news) }
    }

    /// Has the contexts beneath give permanent IDs to objects that are new there.
    func obtainPermanentIDsBeneath(for objects: [ManagedObject]) throws {
        guard let parent else { return }
        let theirs = objects.filter { $0.hasTemporaryID && $0.state.isDisjoint(with: [.inserted, .deleted]) }
        if theirs.isEmpty { return }
        try withAncestors { try parent.obtainPermanentIDs(for: theirs.map { parent.counterpart(of: $0) }) }
        takeRenamed()
    }
}
