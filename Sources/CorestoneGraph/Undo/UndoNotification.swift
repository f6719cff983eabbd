import CorestoneValues

/// What an undo manager tells those who listen to it, on the thread that causes it.
public enum UndoNotification: UInt32, Sendable, CaseIterable {
    /// A group is about to be begun or closed, or something to be undone or redone: whoever gathers actions registers them now.
    case checkpoint = 1
    case didOpenGroup
    case willCloseGroup
    case didCloseGroup
    case willUndo
    case didUndo
    case willRedo
    case didRedo
}

extension UndoManager {
    /// Calls `handler` whenever the manager posts `kind`, until the token is cancelled or ends. Any thread may ask.
    public func observe(_ kind: UndoNotification, _ handler: @escaping (UndoManager) -> Void) -> Observation {
        Observation(listeners.add(kind, handler))
    }
}

/// Who listens to one undo manager.
final class UndoListeners: Sendable {
    private let listeners = Locked<[UndoListener]>([])

    func add(_ kind: UndoNotification, _ handler: @escaping (UndoManager) -> Void) -> UndoListener {
        let listener = UndoListener(kind, self, handler)
        listeners.withLock { $0.append(listener) }
        return listener
    }

    fileprivate func remove(_ listener: UndoListener) { listeners.withLock { $0.removeAll { $0 === listener } } }

    func tell(_ kind: UndoNotification, _ manager: UndoManager) {
        for listener in listeners.withLock({ $0 }) where listener.kind == kind { listener.tell(manager) }
    }
}

final class UndoListener: Observer, @unchecked Sendable {
    let kind: UndoNotification
    private let list: UndoListeners
    private let handler: (UndoManager) -> Void
    private let state = ObserverState()

    init(_ kind: UndoNotification, _ list: UndoListeners, _ handler: @escaping (UndoManager) -> Void) {
        self.kind = kind
        self.list = list
        self.handler = handler
    }

    func tell(_ manager: UndoManager) { state.tell { handler(manager) } }

    func cancel() { if state.cancel() { list.remove(self) } }
}
