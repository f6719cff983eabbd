import CorestoneGraph

extension Context {
    /// What the context tells, as a sequence of IDs for another task: objects stay on the context's queue, IDs may leave it.
    ///
    ///     for await ids in context.notifications(.didSaveObjectIDs) { … }
    ///
    /// It begins with the call, ends when the context does, and when the task is cancelled or the iteration left. Saves do not
    /// wait for it: what nobody took yet is kept as `buffering` says.
    /// - Parameter buffering: `.unbounded` loses nothing; `.bufferingNewest(n)` forgets the oldest beyond `n`, for a reader that
    ///   only wants to know that something changed.
    public func notifications(
        _ kind: ContextNotification,
        buffering: AsyncStream<ChangedIDs>.Continuation.BufferingPolicy = .unbounded
    ) -> AsyncStream<ChangedIDs> {
        AsyncStream(bufferingPolicy: buffering) { continuation in
            let observation = observe(kind, ended: { continuation.finish() }) { _, changes in
                continuation.yield(changes.ids)
            }
            continuation.onTermination = { _ in observation.cancel() }
        }
    }
}

extension Coordinator {
    /// What the coordinator tells, as a sequence for another task; as `Context.notifications`.
    ///
    ///     for await changes in coordinator.notifications(.storesDidChange) { … }
    public func notifications(
        _ kind: CoordinatorNotification,
        buffering: AsyncStream<StoreChanges>.Continuation.BufferingPolicy = .unbounded
    ) -> AsyncStream<StoreChanges> {
        AsyncStream(bufferingPolicy: buffering) { continuation in
            let observation = observe(kind, ended: { continuation.finish() }) { _, changes in
                continuation.yield(changes)
            }
            continuation.onTermination = { _ in observation.cancel() }
        }
    }
}
