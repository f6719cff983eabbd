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
        listeners.observe(kind, handler)
    }
}

typealias UndoListeners = Listeners<UndoNotification, UndoManager>
