import CPlatform

extension Document {
    /// The states that observers have not received yet, in order.
    ///
    /// One thread at a time delivers states, so that an earlier state does not follow a later state of another thread.
    /// This thread also delivers the states that other threads add in the meantime. A handler may change the state. The
    /// nested delivery first notifies the remaining observers of the earlier state, so that every observer receives the
    /// states in order.
    struct PendingStates {
        /// One step of a delivery.
        enum Step {
            /// The delivery of a state begins. The caller passes the calls of the observers to `begin`.
            case state(State)
            /// The call of one observer.
            case call(() -> Void)
        }

        private var pending: [State] = []
        /// The remaining calls for the state whose delivery has begun.
        private var calls: [() -> Void] = []
        /// The ID of the thread that delivers states; nil if no thread does.
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

        /// Sets the calls for the state that `next` returned.
        mutating func begin(_ calls: [() -> Void]) { self.calls = calls }

        /// Removes and returns the next step; nil after the last one.
        mutating func next() -> Step? {
            if !calls.isEmpty { return .call(calls.removeFirst()) }
            if !pending.isEmpty { return .state(pending.removeFirst()) }
            depth -= 1
            if depth == 0 { deliverer = nil }
            return nil
        }
    }
}
