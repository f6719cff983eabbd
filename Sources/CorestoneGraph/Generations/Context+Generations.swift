import CorestoneModel
import CorestoneValues

extension Context {
    /// The generation that the context reads. nil for the newest state at any time, as at first, of a child, and as long as no store
    /// has generations; `current` from when the context was pinned to that until it first reads.
    public var queryGenerationToken: QueryGenerationToken? {
        guard let token = generation?.token else { return nil }
        return token.isCurrent && !coordinator.hasGenerations ? nil : token
    }

    /// Pins the context to a state of its stores: whatever it reads of them from now on, by fetches, faults and relationships, is of
    /// that state, whatever others save. Objects keep the values that they have until they are refreshed.
    ///
    /// A save, a merge of changes and a reset move the context on to the state that is the newest then, wherever it was pinned; a
    /// refresh does not. A save is judged by the newest state: what others changed since the generation is a conflict. Stores that
    /// are added later are left out until the context is pinned anew.
    ///
    /// - Parameter token: `.current` for the state that is the newest when the context first reads; the token of another context for
    ///   the state that it reads; nil for none.
    /// - Throws: `.invalidArgument` for a child, which reads what its parent reads, for a token of another coordinator, and within a
    ///   hook; `.unsupported` for a store that cannot be pinned; `.objectGone` when a store of the token was removed: the context is
    ///   pinned in the others all the same. `.wrongThread`.
    public func setQueryGeneration(from token: QueryGenerationToken?) throws {
        try checkQueue()
        guard parent == nil else {
            throw CoreError(
                .invalidArgument,
                "a child context reads the query generation of its parent and cannot be pinned; "
                    + "pin the outermost parent context")
        }
        try refuseInHook("pin the context to a query generation")
        guard let token else {
            generation = nil
            return
        }
        if token.isCurrent {
            // What is in the way shows now; the state is that of the first read.
            _ = try coordinator.currentQueryGenerationToken
        }
        let stores = coordinator.stores
        // A coordinator that ended may have been where this one is.
        let foreign = token.pins.first { pin in
            pin.store.isOpen
                ? !stores.contains { $0 === pin.store } : pin.store.coordinator != ObjectIdentifier(coordinator)
        }
        if let foreign {
            throw CoreError(
                .invalidArgument,
                "the query generation of \(foreign.store.path) belongs to another coordinator; use one of this coordinator",
                file: foreign.store.path)
        }
        generation = Generation(token: token, isChosen: !token.isCurrent)
        if let gone = token.pins.first(where: { !$0.store.isOpen }) {
            throw CoreError(
                .objectGone, code: .persistentStoreOperation,
                "\(gone.store.path) was removed from the coordinator and is no longer in the query generation; pin the context to "
                    + "the current generation with cst_context_set_query_generation (pin, setQueryGeneration)",
                file: gone.store.path)
        }
    }
}

// MARK: - Reading

extension Context {
    var generation: Generation? {
        get { generationState.generation }
        set { generationState.generation = newValue }
    }

    /// The context that reads the stores for this one: itself, or the one that its parents end in.
    private var bottom: Context {
        var context = self
        while let parent = context.parent { context = parent }
        return context
    }

    /// The pin of a store where the context reads a state that stays, for those who have called `requireReadable`.
    func pin(of store: Store) -> StorePin? { bottom.generation?.token.pin(of: store) }

    /// The generation to read; a context that was pinned to `current` is pinned to a state now. nil for the newest state.
    func generationToRead() throws -> QueryGenerationToken? {
        let bottom = bottom
        guard let token = bottom.generation?.token else { return nil }
        if !token.isCurrent { return token }
        guard let newest = try coordinator.currentQueryGenerationToken else { return nil }
        return bottom.generationState.pin(to: newest)
    }

    /// Called before anything is read of a store or of what is known of its rows.
    func requireReadable(_ store: Store) throws {
        try store.requireOpen()
        guard let token = try generationToRead(), !token.knows(store) else { return }
        throw CoreError(
            .objectGone, code: .managedObjectReferentialIntegrity,
            "\(store.path) was added to the coordinator after the context's query generation; pin the context again with "
                + "cst_context_set_query_generation (pin, setQueryGeneration)", file: store.path)
    }
}

// MARK: - Moving on

extension Context {
    /// Pins a context that is pinned to the newest state. What it has read stays until it is refreshed.
    func advanceGeneration() throws {
        guard generation != nil else { return }
        // Where that fails, the next read tries again, and says why.
        generation = Generation(token: .current)
        _ = try generationToRead()
    }

    /// Runs a save into the stores, which moves a pinned context on. While conflicts are settled it reads the newest state.
    func advancing(_ save: () throws -> SavePlan) throws -> SavePlan {
        guard let former = generation else { return try save() }
        do {
            let written = try save()
            generation = former
            if !written.isEmpty { try? advanceGeneration() }
            return written
        } catch {
            generation = former
            let isIncomplete = (error as? CoreError)?.code == CocoaCode.persistentStoreIncompleteSave.rawValue
            if isIncomplete { try? advanceGeneration() }
            throw error
        }
    }
}

extension Coordinator {
    fileprivate var hasGenerations: Bool { stores.contains { $0.backing.abilities.contains(.generations) } }
}
