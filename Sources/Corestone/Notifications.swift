import CorestoneGraph

extension Context {
    /// Returns the notifications of a context as a sequence of object IDs for another task.
    ///
    /// Objects must stay on the context's queue, but IDs can be used elsewhere.
    ///
    ///     for await ids in context.notifications(.didSaveObjectIDs) { … }
    ///
    /// The sequence begins with the call. It ends when the context is closed or deallocated, when the task that reads
    /// it is cancelled, or when the sequence and its iterator are released. Saves do not wait for the reader: pending
    /// elements are buffered according to `buffering`.
    ///
    /// - Parameter buffering: `.unbounded` keeps all elements. `.bufferingNewest(n)` keeps the newest `n`, for a reader
    ///   that only needs to detect a change.
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
    /// Returns the notifications of a coordinator as a sequence for another task, like `Context.notifications`.
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
