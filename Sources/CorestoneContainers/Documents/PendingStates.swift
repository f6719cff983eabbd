import CPlatform

extension Document {
    /// The states that observers have not received yet, in order.
    ///
    /// One thread at a time delivers them, so that an earlier state never follows a later one. It also delivers the
    /// states that other threads add meanwhile.
    struct PendingStates {
        private var pending: [State] = []
        /// The thread that delivers.
        private var deliverer: UInt64?
        /// The number of nested deliveries of that thread, because a handler may change the state.
        private var depth = 0

        /// Adds a state.
        ///
        /// - Returns: Whether this thread must deliver states until `next` returns nil.
        mutating func add(_ state: State) -> Bool {
            let thread = platform_thread_id()
            pending.append(state)
            guard deliverer ?? thread == thread else { return false }
            deliverer = thread
            depth += 1
            return true
        }

        /// Removes and returns the next state; nil after the last one.
        mutating func next() -> State? {
            if !pending.isEmpty { return pending.removeFirst() }
            depth -= 1
            if depth == 0 { deliverer = nil }
            return nil
        }
    }
}
