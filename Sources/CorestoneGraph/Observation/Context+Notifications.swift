import CorestoneValues
import Synchronization

extension Context {
    /// Calls `handler` on the context's queue whenever the context posts `kind`, until the token is cancelled or ends. Any thread
    /// may ask. The handler may use the context at will: change, save, reset. It is not called more than 8 times within itself.
    public func observe(
        _ kind: ContextNotification, _ handler: @escaping (Context, ContextChanges) -> Void
    ) -> Observation {
        Observation(listeners.add(kind, handler))
    }

    /// Tells those who listen for `kind`. Costs one look, and `changes` are not asked for, where nobody does.
    func post(_ kind: ContextNotification, _ changes: @autoclosure () -> ContextChanges = ContextChanges()) {
        if hears(kind) { listeners.tell(kind, self, changes()) }
    }

    /// Whether anybody listens for `kind`.
    func hears(_ kind: ContextNotification) -> Bool { listeners.hears(kind) }
}

/// Who listens to one context.
final class ContextListeners: Sendable {
    /// A bit for each kind that somebody listens for.
    private let kinds = Atomic<UInt32>(0)
    private let listeners = Locked<[ContextListener]>([])

    func add(_ kind: ContextNotification, _ handler: @escaping (Context, ContextChanges) -> Void) -> ContextListener {
        let listener = ContextListener(kind, self, handler)
        change { $0.append(listener) }
        return listener
    }

    fileprivate func remove(_ listener: ContextListener) { change { $0.removeAll { $0 === listener } } }

    private func change(_ body: (inout [ContextListener]) -> Void) {
        listeners.withLock { all in
            body(&all)
            kinds.store(all.reduce(0) { $0 | $1.kind.bit }, ordering: .relaxed)
        }
    }

    func hears(_ kind: ContextNotification) -> Bool { kinds.load(ordering: .relaxed) & kind.bit != 0 }

    func tell(_ kind: ContextNotification, _ context: Context, _ changes: ContextChanges) {
        for listener in listeners.withLock({ $0 }) where listener.kind == kind { listener.tell(context, changes) }
    }
}

/// One who listens to a context.
final class ContextListener: Observer, @unchecked Sendable {
    let kind: ContextNotification
    private let list: ContextListeners
    private let handler: (Context, ContextChanges) -> Void
    private let state = ObserverState()

    init(
        _ kind: ContextNotification, _ list: ContextListeners, _ handler: @escaping (Context, ContextChanges) -> Void
    ) {
        self.kind = kind
        self.list = list
        self.handler = handler
    }

    func tell(_ context: Context, _ changes: ContextChanges) { state.tell { handler(context, changes) } }

    func cancel() { if state.cancel() { list.remove(self) } }
}

extension ContextNotification {
    fileprivate var bit: UInt32 { 1 << rawValue }
}
