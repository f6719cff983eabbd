extension Context {
    /// Calls `handler` on the context's queue whenever the context posts `kind`, until the token is cancelled or ends. Any thread
    /// may ask. The handler may use the context at will: change, save, reset. It is not called more than 8 times within itself.
    public func observe(
        _ kind: ContextNotification, _ handler: @escaping (Context, ContextChanges) -> Void
    ) -> Observation { observation.listeners.observe(kind, { handler($0.context, $0.changes) }) }

    /// The same, and calls `ended` once when the context ends before the token, on whatever thread lets go of it.
    public func observe(
        _ kind: ContextNotification, ended: @escaping @Sendable () -> Void,
        _ handler: @escaping (Context, ContextChanges) -> Void
    ) -> Observation { observation.listeners.observe(kind, { handler($0.context, $0.changes) }, ended: ended) }

    /// Tells those who listen for `kind`. Costs one look, and `changes` are not asked for, where nobody does.
    func post(_ kind: ContextNotification, _ changes: @autoclosure () -> ContextChanges = ContextChanges()) {
        if hears(kind) { keepingHold { observation.listeners.tell(kind, (self, changes())) } }
    }

    /// The context ends, and has nothing more to tell.
    func endListening() {
        observation.listeners.end()
        observation.trackers.end()
    }

    /// Whether anybody listens for `kind`.
    func hears(_ kind: ContextNotification) -> Bool { observation.listeners.hears(kind) }
}

typealias ContextListeners = Listeners<ContextNotification, (context: Context, changes: ContextChanges)>

/// What those hear of a context who track results of fetches.
enum TrackedNews: UInt32, Sendable {
    /// An event ended, or others saved something.
    case event = 1
    /// A save is done, or objects have got their IDs.
    case save
    /// Never told: asks for the properties that an event changed.
    case slots
}
