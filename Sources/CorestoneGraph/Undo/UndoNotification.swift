/// The notifications of an undo manager, which are posted on the thread that causes them.
public enum UndoNotification: UInt32, Sendable, CaseIterable {
    /// A group is about to be opened or closed, or a step to be undone or redone.
    ///
    /// Collected actions must be registered now.
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
    /// Calls `handler` for each notification of `kind`, until the token is cancelled or released.
    ///
    /// Can be called on any thread.
    public func observe(_ kind: UndoNotification, _ handler: @escaping (UndoManager) -> Void) -> Observation {
        listeners.observe(kind, handler)
    }
}

typealias UndoListeners = Listeners<UndoNotification, UndoManager>
