import CorestoneValues
import Synchronization

extension QueryGenerationToken {
    /// Verifies, in debug builds:
    /// - `current` does not have pins.
    /// - A store is pinned at most once.
    ///
    /// Called once, because tokens are immutable. The checks below verify the mutable generation of a context.
    func checkInvariants() {
        #if DEBUG
            precondition(!isCurrent || pins.isEmpty, "the current generation has a pin")
            for (place, pin) in pins.enumerated() {
                precondition(!pins[..<place].contains { $0.store === pin.store }, "a generation pins a store twice")
            }
        #endif
    }
}

extension GenerationState {
    /// Verifies, in debug builds:
    /// - The flag is set exactly if there is a generation.
    /// - A state that the application chose is not `current`.
    ///
    /// Called after the context set its generation. Only the context's queue sets and clears the generation. In
    /// between, threads of nested contexts only replace `current` by a state, which does not affect these conditions.
    func checkInvariants() {
        #if DEBUG
            let generation = value.withLock { $0 }
            precondition(
                isSet.load(ordering: .acquiring) == (generation != nil),
                "the flag is set without a generation, or not set with one")
            if let generation {
                precondition(
                    !generation.isChosen || !generation.token.isCurrent,
                    "the current generation is marked as chosen by the application")
            }
        #endif
    }
}

extension Generation {
    /// Verifies, in debug builds, that a generation after its first read is not `current`.
    ///
    /// Called under the lock of the `GenerationState`, when a thread has replaced `current` or another thread did so
    /// before.
    func checkPinned() {
        #if DEBUG
            precondition(!token.isCurrent, "a generation is current after its first read")
        #endif
    }
}

extension Context {
    /// Verifies, in debug builds:
    /// - A nested context does not have a generation. It reads the pins of its outermost parent.
    /// - All pins are of stores of the context's coordinator, although a store may have been removed since.
    ///
    /// Called after the context set its generation.
    func checkGeneration() {
        #if DEBUG
            guard let generation else { return }
            precondition(parent == nil, "a nested context has a generation")
            precondition(
                generation.token.pins.allSatisfy { $0.store.coordinator == ObjectIdentifier(coordinator) },
                "a generation pins a store of another coordinator")
        #endif
    }
}
