/// The notifications of an undo manager, which are posted on the thread that causes them.
public enum UndoNotification: UInt32, Sendable, CaseIterable {
    /// The application is about to open or close a group, to undo or redo a step, or to disable or enable registration.
    ///
    /// Actions that an observer has collected must be registered now.
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
