import CorestoneValues

/// An undo manager: stacks of steps that can be undone and redone.
///
/// Each step is a group of actions, and can have a name. Contexts record their changes (`Context.undoManager`), and the
/// application registers its own actions. Several contexts may share a manager.
///
/// An event of a context is the time between two calls of `processPendingChanges`. If the application has not begun a
/// group, the first action opens a group, which closes when a context ends its event.
///
/// Thread-safe. Actions run on the thread that calls `undo` or `redo`, so the actions of a context must be undone on
/// the context's queue. `UndoManager+Invariants.swift` lists the invariants, and `Restoration.swift` the steps of an
/// undo.
public final class UndoManager: @unchecked Sendable {
    /// Guards the state of the manager.
    let lock = RecursiveLock(.leaf)
    /// The steps to undo, the newest last.
    var undoStack: [UndoGroup] = []
    /// The steps to redo, the newest last.
    var redoStack: [UndoGroup] = []
    /// The innermost open group.
    var open: UndoGroup?
    /// The enclosing open group while a nested group is undone.
    var suspended: UndoGroup?
    /// The remaining actions of the group that is being undone or redone, the next one last.
    var running: UndoGroup?
    var mode = Mode.recording
    /// The number of calls of `disableUndoRegistration` that are still in effect.
    private var disabled = 0
    /// The value of `levelsOfUndo`.
    private var levels = 0
    /// The value of `groupsByEvent`.
    private var groups = true
    /// The recorders of the contexts that use this manager.
    var recorders: [UndoRecorder] = []
    let listeners = UndoListeners()
    /// An opaque value of the host bridge; 0 without a bridge.
    package var hostSlot: UInt = 0

    /// The current use of the manager: recording changes, undoing or redoing.
    enum Mode { case recording, undoing, redoing }

    public init() {}

    // MARK: Actions

    /// Registers an action that undoes a change of the application.
    ///
    /// An action that is registered during an undo belongs to a step for redo. If no group is open, a group is
    /// opened. This group closes when a context ends its event, when the application begins a group, or at the next
    /// undo or redo. While registration is disabled, the call has no effect.
    ///
    /// - Parameters:
    ///   - target: The subject of the action, for `removeAllActions(for:)`. Not retained.
    ///   - action: Called at most once, by an undo or redo. An error that it throws ends the undo or redo.
    /// - Throws: `.invalidArgument` if automatic groups are disabled and no group is open.
    public func registerUndo(target: AnyObject? = nil, _ action: @escaping () throws -> Void) throws {
        try registerUndo(target: UInt(bitPattern: target.map { Unmanaged.passUnretained($0).toOpaque() }), action)
    }

    package func registerUndo(target: UInt, _ action: @escaping () throws -> Void) throws {
        try register(HostAction(target: target, action))
    }

    func register(_ action: UndoAction) throws {
        if !isRegistrationEnabled { return }
        if (lock.with { open }) == nil {
            guard groupsByEvent else {
                throw CoreError(
                    .invalidArgument,
                    "the undo manager does not have an open group for the action; call cst_undo_manager_begin_group "
                        + "(begin_undo_grouping, beginUndoGrouping) first, or turn on automatic groups with "
                        + "cst_undo_manager_set_groups_by_event (groups_by_event, groupsByEvent)")
            }
            beginGroup(UndoGroup(isOfEvent: true))
        }
        let outdated = lock.with { () -> [UndoGroup] in
            // An observer may have removed the undo manager from the recording context.
            guard action.isWanted(by: recorders) else { return [] }
            open?.items.append(.action(action))
            defer { if mode == .recording { redoStack = [] } }
            return mode == .recording ? redoStack : []
        }
        // Released outside the lock, because the deallocation of an action may call the application.
        withExtendedLifetime(outdated) {}
    }

    /// Removes all actions and enables registration. Open groups remain open.
    public func removeAllActions() {
        lock.with { disabled = 0 }
        removeAll()
    }

    func removeAll() {
        let outdated = lock.with {
            let unfinished = unfinishedGroups
            defer {
                (undoStack, redoStack) = ([], [])
                for group in unfinished { group.items = [] }
            }
            return (undoStack, redoStack, unfinished.map(\.items))
        }
        withExtendedLifetime(outdated) {}
    }

    /// Removes the actions of a target.
    public func removeAllActions(for target: AnyObject) {
        removeAllActions(target: UInt(bitPattern: Unmanaged.passUnretained(target).toOpaque()))
    }

    package func removeAllActions(target: UInt) {
        var outdated: [UndoAction] = []
        lock.with {
            for group in undoStack + redoStack { group.remove(target, into: &outdated) }
            undoStack.removeAll(where: \.items.isEmpty)
            redoStack.removeAll(where: \.items.isEmpty)
            for group in unfinishedGroups { group.remove(target, into: &outdated) }
        }
    }

    /// The groups that are not on a stack: open groups, and the group that is undone or redone. Under the lock.
    private var unfinishedGroups: [UndoGroup] {
        var groups = running.map { [$0] } ?? []
        for innermost in [open, suspended] {
            var group = innermost
            while let next = group {
                groups.append(next)
                group = next.parent
            }
        }
        return groups
    }

    // MARK: Settings

    /// Whether the first action of an event opens a group automatically. Default: true.
    public var groupsByEvent: Bool {
        get { lock.with { groups } }
        set { lock.with { groups = newValue } }
    }

    /// The maximum number of steps to undo, and of steps to redo; 0 for no limit.
    ///
    /// Setting a maximum below the current number removes the oldest steps.
    public var levelsOfUndo: Int {
        get { lock.with { levels } }
        set {
            let outdated = lock.with {
                levels = max(newValue, 0)
                return trim()
            }
            withExtendedLifetime(outdated) {}
        }
    }

    /// Removes and returns the steps above the maximum. Under the lock.
    func trim() -> [UndoGroup] {
        if levels == 0 { return [] }
        var outdated: [UndoGroup] = []
        func shorten(_ stack: inout [UndoGroup]) {
            let surplus = stack.count - levels
            if surplus <= 0 { return }
            outdated += stack[..<surplus]
            stack.removeFirst(surplus)
        }
        shorten(&undoStack)
        shorten(&redoStack)
        return outdated
    }

    /// Disables registration until `enableUndoRegistration()` has been called the same number of times.
    ///
    /// `removeAllActions()` enables registration, too.
    ///
    /// Changes in between cannot be undone. Earlier changes of this thread's contexts are recorded first.
    public func disableUndoRegistration() {
        try? checkpoint()
        lock.with { disabled += 1 }
    }

    /// Enables registration after a call of `disableUndoRegistration()`.
    ///
    /// - Throws: `.invalidArgument` if registration is not disabled.
    public func enableUndoRegistration() throws {
        try? checkpoint()
        try lock.with {
            guard disabled > 0 else {
                throw CoreError(
                    .invalidArgument,
                    "undo registration is not disabled; call cst_undo_manager_enable (enable_undo_registration, "
                        + "enableUndoRegistration) once for each call of cst_undo_manager_disable "
                        + "(disable_undo_registration, disableUndoRegistration) since the last "
                        + "cst_undo_manager_remove_all (remove_all_actions, removeAllActions)")
            }
            disabled -= 1
        }
    }

    public var isRegistrationEnabled: Bool { lock.with { disabled == 0 } }

    // MARK: Contexts

    func add(_ recorder: UndoRecorder) { lock.with { recorders.append(recorder) } }

    func remove(_ recorder: UndoRecorder) {
        lock.with { recorders.removeAll { $0 === recorder } }
        removeAllActions(for: recorder)
    }

    /// Whether several contexts use this manager.
    var isShared: Bool { lock.with { recorders.count > 1 } }

    /// Makes the contexts that this thread may use record their changes so far.
    func checkpoint() throws {
        listeners.notify(.checkpoint, self)
        for recorder in lock.with({ recorders }) { try recorder.usableContext?.processPendingChanges() }
    }

    /// Whether a context of this thread has changes that are not recorded yet.
    var isBehind: Bool {
        isRegistrationEnabled && lock.with { recorders }.contains { $0.usableContext?.hasUndoableEvent ?? false }
    }
}

/// An action that undoes a change.
class UndoAction {
    /// The subject of the action; 0 without a subject.
    final var target: UInt

    init(target: UInt) { self.target = target }

    /// Throws if the action cannot run now. Does not change objects.
    func check() throws {}
    func run() throws {}
    /// Whether an action that failed did not change anything, so that it can run again later.
    var canBeRepeated: Bool { false }
    /// Whether a manager with these recorders keeps the action.
    func isWanted(by recorders: [UndoRecorder]) -> Bool { true }
}

/// An action of the application.
private final class HostAction: UndoAction {
    private let body: () throws -> Void

    init(target: UInt, _ body: @escaping () throws -> Void) {
        self.body = body
        super.init(target: target)
    }

    override func run() throws { try body() }
}
