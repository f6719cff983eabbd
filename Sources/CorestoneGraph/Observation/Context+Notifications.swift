extension Context {
    /// Calls `handler` on the context's queue whenever the context posts `kind`, until the token is cancelled or ends. Any thread
    /// may ask. The handler may use the context at will: change, save, reset. It is not called more than 8 times within itself.
    public func observe(
        _ kind: ContextNotification, _ handler: @escaping (Context, ContextChanges) -> Void
    ) -> Observation {
        listeners.observe(kind) { handler($0.context, $0.changes) }
    }

    /// Tells those who listen for `kind`. Costs one look, and `changes` are not asked for, where nobody does.
    func post(_ kind: ContextNotification, _ changes: @autoclosure () -> ContextChanges = ContextChanges()) {
        listeners.tell(kind, (self, changes()))
    }

    /// Whether anybody listens for `kind`.
    func hears(_ kind: ContextNotification) -> Bool { listeners.hears(kind) }
}

typealias ContextListeners = Listeners<ContextNotification, (context: Context, changes: ContextChanges)>
