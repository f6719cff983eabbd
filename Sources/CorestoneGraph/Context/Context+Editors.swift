import CorestoneValues

/// An object with changes that are not in the managed objects yet, for example a text field that is being edited.
///
/// The counterpart of Core Data's `NSEditor`.
public protocol Editor: AnyObject {
    /// Applies the editor's changes to the managed objects. Called on the context's queue.
    ///
    /// - Throws: An error if the changes cannot be applied, for example because a value is invalid.
    func commitEditing() throws
    /// Discards the editor's changes. Called on the context's queue.
    func discardEditing()
}

/// The editors that are registered with a context, in the order of their registration. Thread-safe.
final class ContextEditors: Sendable {
    private struct Registered {
        let number: Int
        let editor: any Editor
    }

    private struct Content {
        var all: [Registered] = []
        var lastNumber = 0
    }

    private let content = Locked(Content())

    /// Registers an editor, and returns the number of its registration.
    @discardableResult
    func add(_ editor: any Editor) -> Int {
        content.withLock { content in
            if let known = content.all.first(where: { $0.editor === editor }) { return known.number }
            content.lastNumber += 1
            content.all.append(Registered(number: content.lastNumber, editor: editor))
            return content.lastNumber
        }
    }

    func remove(_ editor: any Editor) { remove { $0.editor === editor } }
    func remove(_ number: Int) { remove { $0.number == number } }
    /// Removes all editors when the context is deallocated.
    func end() { remove { _ in true } }

    /// Removes editors. They are released outside the lock, because their deallocation may run code of the application.
    private func remove(_ isRemoved: (Registered) -> Bool) {
        let removed = content.withLock { content in
            defer { content.all.removeAll(where: isRemoved) }
            return content.all.filter(isRemoved)
        }
        withExtendedLifetime(removed) {}
    }

    /// Calls `body` for each editor, unless an earlier call removed it.
    func forEach(_ body: (any Editor) throws -> Void) rethrows {
        for each in content.withLock({ $0.all }) {
            if content.withLock({ $0.all.contains { $0.number == each.number } }) { try body(each.editor) }
        }
    }
}

/// The registration of an editor, which ends when its token is cancelled or released.
private final class EditorRegistration: Observer {
    private let editors: ContextEditors
    private let number: Int

    init(_ editor: any Editor, _ editors: ContextEditors) {
        (self.editors, number) = (editors, editors.add(editor))
    }

    func cancel() { editors.remove(number) }
}

extension Context {
    /// Registers an editor, which the context retains until its editing ends. Has no effect for a registered editor.
    ///
    /// Can be used on any thread.
    public func objectDidBeginEditing(_ editor: any Editor) { editors.add(editor) }

    /// Deregisters an editor. Has no effect for an editor that is not registered. Can be used on any thread.
    public func objectDidEndEditing(_ editor: any Editor) { editors.remove(editor) }

    /// Registers an editor until the token is cancelled or released.
    package func edit(with editor: any Editor) -> Observation { Observation(EditorRegistration(editor, editors)) }

    /// Makes every registered editor apply its changes, in the order of registration, before a save for example.
    ///
    /// Editors stay registered until `objectDidEndEditing`, which they may call. A save does not call this function.
    /// Must be used on the context's queue.
    ///
    /// - Throws: The error of the first editor that fails. Editors before it have applied their changes, and later ones
    ///   are not called.
    ///   `.wrongThread` if the call is not on the context's queue.
    ///   `.invalidArgument` in a lifecycle hook.
    public func commitEditing() throws {
        try checkQueue()
        try refuseInHook("commit the editors of the context")
        try editors.forEach { try $0.commitEditing() }
    }

    /// Makes every registered editor discard its changes, in the order of registration.
    ///
    /// Must be used on the context's queue.
    ///
    /// - Throws: `.wrongThread` if the call is not on the context's queue.
    public func discardEditing() throws {
        try checkQueue()
        editors.forEach { $0.discardEditing() }
    }
}
