import CorestoneValues
import Synchronization

/// The observers of one subject, which posts notifications of several kinds.
final class Listeners<Kind: RawRepresentable<UInt32> & Sendable, Payload>: Sendable {
    /// A bit for each kind that has an observer.
    private let kinds = Atomic<UInt32>(0)
    private let all = Locked<[Listener<Kind, Payload>]>([])
    /// Whether several threads may post at the same time.
    private let isShared: Bool

    init(isShared: Bool = false) { self.isShared = isShared }

    func observe(
        _ kind: Kind, _ handler: @escaping (Payload) -> Void, ended: (@Sendable () -> Void)? = nil
    ) -> Observation {
        let listener = Listener(kind, self, isShared ? SharedObserverState() : ObserverState(), ended, handler)
        change { $0.append(listener) }
        return Observation(listener)
    }

    /// Removes all observers when the subject is closed or deallocated.
    func end() {
        if kinds.load(ordering: .relaxed) == 0 { return }
        var former: [Listener<Kind, Payload>] = []
        change { swap(&former, &$0) }
        for listener in former { listener.end() }
    }

    fileprivate func remove(_ listener: Listener<Kind, Payload>) { change { $0.removeAll { $0 === listener } } }

    private func change(_ body: (inout [Listener<Kind, Payload>]) -> Void) {
        all.withLock { all in
            body(&all)
            kinds.store(all.reduce(0) { $0 | 1 << $1.kind.rawValue }, ordering: .relaxed)
        }
    }

    /// Whether `kind` has at least one observer.
    func hasObservers(_ kind: Kind) -> Bool { kinds.load(ordering: .relaxed) & 1 << kind.rawValue != 0 }

    /// Notifies the observers of `kind`.
    ///
    /// Without observers, `payload` is not evaluated, and the cost is one atomic load.
    func notify(_ kind: Kind, _ payload: @autoclosure () -> Payload) {
        guard hasObservers(kind) else { return }
        let payload = payload()
        for listener in all.withLock({ $0 }) where listener.kind.rawValue == kind.rawValue { listener.notify(payload) }
    }

    /// Returns a function for each observer of `kind`, which notifies the observer unless its observation ends first.
    func calls(_ kind: Kind, _ payload: Payload) -> [() -> Void] {
        guard hasObservers(kind) else { return [] }
        return all.withLock { $0 }.filter { $0.kind.rawValue == kind.rawValue }.map { listener in
            { listener.notify(payload) }
        }
    }
}

/// An observer of one kind of notification.
private final class Listener<Kind: RawRepresentable<UInt32> & Sendable, Payload>: Observer, @unchecked Sendable {
    let kind: Kind
    private let list: Listeners<Kind, Payload>
    private let state: ObserverState
    private let ended: (@Sendable () -> Void)?
    /// The function to be called; nil after the observation ended.
    private let handler: Locked<((Payload) -> Void)?>

    init(
        _ kind: Kind, _ list: Listeners<Kind, Payload>, _ state: ObserverState, _ ended: (@Sendable () -> Void)?,
        _ handler: @escaping (Payload) -> Void
    ) {
        self.kind = kind
        self.list = list
        self.state = state
        self.ended = ended
        self.handler = Locked(handler)
    }

    /// Ends the observation when the subject is closed or deallocated.
    ///
    /// The application still owns the token. The handler is released, after `ended` was called.
    func end() {
        if !state.isCancelled { ended?() }
        handler.releaseHandler()
    }

    func notify(_ payload: Payload) { if let handler = handler.withLock({ $0 }) { state.notify { handler(payload) } } }

    func cancel() {
        guard state.cancel() else { return }
        list.remove(self)
        handler.releaseHandler()
    }
}
