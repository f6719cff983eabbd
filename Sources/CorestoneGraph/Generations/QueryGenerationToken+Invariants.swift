extension QueryGenerationToken {
    /// Verifies, in debug builds:
    /// - `current` does not have pins.
    /// - A store is pinned at most once.
    func checkInvariants() {
        #if DEBUG
            precondition(!isCurrent || pins.isEmpty, "the current generation has a pin")
            for (place, pin) in pins.enumerated() {
                precondition(!pins[..<place].contains { $0.store === pin.store }, "a generation pins a store twice")
            }
        #endif
    }
}
