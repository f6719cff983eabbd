extension Context {
    /// Calls `handler` on the context's queue for each notification of `kind`.
    ///
    /// The observation ends when the token is cancelled or released, or when the context is closed or deallocated. This
    /// function may be called on any thread. The handler may change, save or reset the context. A handler is not called
    /// recursively more than 8 times.
    public func observe(
        _ kind: ContextNotification, _ handler: @escaping (Context, ContextChanges) -> Void
    ) -> Observation { observation.listeners.observe(kind, { handler($0.context, $0.changes) }) }

    /// Observes notifications like `observe(_:_:)`, and the end of the context.
    ///
    /// `ended` is called once if the context is closed or deallocated before the observation is cancelled, on the
    /// thread that closes or releases the context.
    public func observe(
        _ kind: ContextNotification, ended: @escaping @Sendable () -> Void,
        _ handler: @escaping (Context, ContextChanges) -> Void
    ) -> Observation { observation.listeners.observe(kind, { handler($0.context, $0.changes) }, ended: ended) }

    /// Notifies the observers of `kind`.
    ///
    /// Without observers, `changes` is not evaluated, and the cost is one atomic load.
    func post(_ kind: ContextNotification, _ changes: @autoclosure () -> ContextChanges = ContextChanges()) {
        if hasObservers(kind) { keepingHold { observation.listeners.notify(kind, (self, changes())) } }
    }

    /// Ends all observations when the context is closed or deallocated.
    func endNotifications() {
        observation.listeners.end()
        observation.trackers.end()
    }

    /// Whether `kind` has at least one observer.
    func hasObservers(_ kind: ContextNotification) -> Bool { observation.listeners.hasObservers(kind) }
}

typealias ContextListeners = Listeners<ContextNotification, (context: Context, changes: ContextChanges)>

/// The notifications for trackers of fetch results.
enum TrackedChange: UInt32, Sendable {
    /// An event ended, or a save of another writer was merged.
    case event = 1
    /// A save is complete, or objects received permanent IDs.
    case save
    /// Never posted. An observer of this kind requests the properties that an event changed.
    case slots
}
