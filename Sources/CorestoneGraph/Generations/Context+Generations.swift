import CorestoneModel
import CorestoneValues

extension Context {
    /// The query generation that the context reads; nil, the default, if it reads the newest state.
    ///
    /// It is also nil for a nested context, and if no store supports generations. It is `current` after the context was
    /// pinned to the current generation and before its first read.
    public var queryGenerationToken: QueryGenerationToken? {
        guard let token = generation?.token else { return nil }
        return token.isCurrent && !coordinator.hasGenerations ? nil : token
    }

    /// Pins the context to one state of its stores.
    ///
    /// Later fetches, faults and relationships read that state, regardless of later saves. Stores that do not support
    /// generations are read in their newest state. Objects keep their values until they are refreshed.
    ///
    /// A save that writes, a merge of changes and a reset move the pinned context to the newest state; a refresh does
    /// not. A save is compared with the newest state: changes since the generation are conflicts. Until the context is
    /// pinned again, fetches ignore stores that are added later, and other reads from them fail with `.objectGone`.
    ///
    /// - Parameter token: `.current` for the newest state at the context's first read; the token of another context for
    ///   its state; nil to unpin the context.
    /// - Throws: `.invalidArgument` for a nested context, for a token of another coordinator, and within a hook.
    ///   `.unsupported` for a store that cannot be pinned.
    ///   `.objectGone` if a store of the token was removed, although the context is then pinned in the other stores.
    ///   `.wrongThread` on a thread other than the context's.
    ///   The errors of opening another connection.
    public func setQueryGeneration(from token: QueryGenerationToken?) throws {
        try checkQueue()
        guard parent == nil else {
            let action = token == nil ? "unpin" : "pin"
            throw CoreError(
                .invalidArgument,
                "\(label.text) is a nested context and reads the query generation of its parent; \(action) the "
                    + "outermost parent context with cst_context_set_query_generation (\(action), setQueryGeneration)")
        }
        try refuseInHook(token == nil ? "unpin the context" : "pin the context to a query generation")
        guard let token else {
            generation = nil
            return
        }
        if token.isCurrent {
            // Fails now if a store cannot be pinned. The pinned state is that of the first read.
            _ = try coordinator.currentQueryGenerationToken
        }
        let stores = coordinator.stores
        // The addresses of coordinators are not sufficient, because a deallocated coordinator may have had the same
        // address.
        let foreign = token.pins.first { pin in
            pin.store.isOpen
                ? !stores.contains { $0 === pin.store } : pin.store.coordinator != ObjectIdentifier(coordinator)
        }
        if let foreign {
            throw CoreError(
                .invalidArgument,
                "the query generation of \(Coordinator.shown(foreign.store.path)) belongs to another coordinator; use a "
                    + "query generation of this context's coordinator",
                key: "generation", file: foreign.store.path)
        }
        generation = Generation(token: token, isChosen: !token.isCurrent)
        if let gone = token.pins.first(where: { !$0.store.isOpen }) {
            throw CoreError(
                .objectGone, code: .persistentStoreOperation,
                "\(Coordinator.shown(gone.store.path)) was removed from the coordinator and is no longer in the query generation; pin the context to "
                    + "the current query generation with cst_context_set_query_generation (pin, setQueryGeneration)",
                file: gone.store.path)
        }
    }
}

// MARK: - Reading

extension Context {
    var generation: Generation? {
        get { generationState.generation }
        set {
            generationState.generation = newValue
            checkGeneration()
        }
    }

    /// The context that reads the stores for this one: itself, or its outermost parent.
    private var outermostContext: Context {
        var context = self
        while let parent = context.parent { context = parent }
        return context
    }

    /// Returns the pin of a store; nil for the newest state. `requireReadable` must be called before.
    func pin(of store: Store) -> StorePin? { outermostContext.generation?.token.pin(of: store) }

    /// Returns the generation to read; nil for the newest state.
    ///
    /// A context that was pinned to `current` is pinned to the newest state now.
    func generationToRead() throws -> QueryGenerationToken? {
        let outermostContext = outermostContext
        guard let token = outermostContext.generation?.token else { return nil }
        if !token.isCurrent { return token }
        guard let newest = try coordinator.currentQueryGenerationToken else { return nil }
        return outermostContext.generationState.pin(to: newest)
    }

    /// Throws if the store is closed or not in the generation.
    ///
    /// Called before each access to the store or its row cache.
    func requireReadable(_ store: Store) throws {
        try store.requireOpen()
        guard let token = try generationToRead(), !token.includes(store) else { return }
        let pinned = parent == nil ? "the context" : "the outermost parent context"
        throw CoreError(
            .objectGone, code: .managedObjectReferentialIntegrity,
            "\(Coordinator.shown(store.path)) was added to the coordinator after the query generation of \(pinned); "
                + "pin \(pinned) again with cst_context_set_query_generation (pin, setQueryGeneration)",
            file: store.path)
    }
}

// MARK: - Advancing

extension Context {
    /// Moves a pinned context to the newest state. Loaded values stay until they are refreshed.
    func advanceGeneration() throws {
        guard generation != nil else { return }
        // If this fails, the next read tries again and reports the error.
        generation = Generation(token: .current)
        _ = try generationToRead()
    }

    /// Runs a save into the stores. A save that wrote changes moves a pinned context to the newest state.
    ///
    /// Conflict resolution unpins the context to read the newest state, so the former generation is restored after the
    /// save.
    func saveAndAdvance(_ save: () throws -> SavePlan) throws -> SavePlan {
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
