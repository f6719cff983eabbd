import CorestoneValues

/// A stack of steps that can be undone and redone, each a group of actions with a name.
///
/// Contexts record what an event of theirs changed (`Context.undoManager`), and hosts register actions of their own; one
/// manager may serve several contexts. A group that nobody began opens with the first action and closes when a context ends
/// its event. Any thread may call; actions run on the thread that undoes them, so a context's only on its queue.
public final class UndoManager: @unchecked Sendable {
    let lock = RecursiveLock(.leaf)
    // Guarded by the lock.
    var undoStack: [UndoGroup] = []
    var redoStack: [UndoGroup] = []
    /// The innermost group that is open.
    var open: UndoGroup?
    /// While a nested group is undone: the group that is open around it.
    var suspended: UndoGroup?
    /// While a group is undone: its actions that still have to run, the next one last.
    var running: UndoGroup?
    var mode = Mode.recording
    private var disabled = 0
    private var levels = 0
    private var groups = true
    /// The contexts that record here.
    var recorders: [UndoRecorder] = []
    let listeners = UndoListeners()
    /// The token by which C hosts know the manager; 0 when none was asked for.
    package var hostSlot: UInt = 0

    enum Mode { case recording, undoing, redoing }

    public init() {}

    // MARK: Actions

    /// Registers what undoes something that the host did. An action that is registered while another one is undone is how to
    /// redo that. Where no group is open one opens, to be closed when a context ends its event, or by the next undo.
    /// - Parameters:
    ///   - target: what the action is about, for `removeAllActions(for:)`; it is not kept.
    ///   - action: called at most once, when the action is undone. What it throws ends the undo.
    /// - Throws: `.invalidArgument` where groups are not begun by themselves and none is open.
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
                    "no undo group is open for the action; call cst_undo_manager_begin_group (begin_undo_grouping, "
                        + "beginUndoGrouping) first, or turn on automatic groups with cst_undo_manager_set_groups_by_event "
                        + "(groups_by_event, groupsByEvent)")
            }
            beginGroup(UndoGroup(isOfEvent: true))
        }
        let outdated = lock.with { () -> [UndoGroup] in
            // A listener may have taken the undo manager from the context that records.
            guard action.isWanted(by: recorders) else { return [] }
            open?.items.append(.action(action))
            defer { if mode == .recording { redoStack = [] } }
            return mode == .recording ? redoStack : []
        }
        // Outside the lock: the end of an action may be the host's.
        withExtendedLifetime(outdated) {}
    }

    /// Forgets every action, and lets actions be registered again. Groups that are open stay so.
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

    /// Forgets the actions about a target.
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

    /// The groups that are on no stack: those that are open, one within the other, and the one that is undone. Under the lock.
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

    /// Whether a group opens by itself with the first action of an event. True at first.
    public var groupsByEvent: Bool {
        get { lock.with { groups } }
        set { lock.with { groups = newValue } }
    }

    /// How many steps are kept; 0 for all of them. Fewer than there are forgets the oldest.
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

    /// Takes the steps out that are too many. Under the lock.
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

    /// What happens from now on cannot be undone, until registration is enabled as often as it was disabled. What contexts
    /// of this thread changed before is recorded first.
    public func disableUndoRegistration() {
        try? checkpoint()
        lock.with { disabled += 1 }
    }

    /// - Throws: `.invalidArgument` when registration is not disabled.
    public func enableUndoRegistration() throws {
        try? checkpoint()
        try lock.with {
            guard disabled > 0 else {
                throw CoreError(
                    .invalidArgument, "undo registration is not disabled; enable it only after disabling it")
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

    /// Whether several contexts record here.
    var isShared: Bool { lock.with { recorders.count > 1 } }

    /// Has the contexts that this thread may use record what they changed so far.
    func checkpoint() throws {
        listeners.tell(.checkpoint, self)
        for recorder in lock.with({ recorders }) { try recorder.usableContext?.processPendingChanges() }
    }

    /// Whether a context of this thread changed what is not recorded yet.
    var isBehind: Bool {
        isRegistrationEnabled && lock.with { recorders }.contains { $0.usableContext?.hasUndoableEvent ?? false }
    }
}

/// Something that can be undone.
class UndoAction {
    /// What it is about; 0 for nothing.
    let target: UInt

    init(target: UInt) { self.target = target }

    /// Throws if the action cannot be undone now. Changes nothing.
    func check() throws {}
    func run() throws {}
    /// Whether an action that failed has changed nothing, and may be undone later.
    var canBeRepeated: Bool { false }
    /// Whether the manager with these recorders should keep it.
    func isWanted(by recorders: [UndoRecorder]) -> Bool { true }
}

private final class HostAction: UndoAction {
    private let body: () throws -> Void

    init(target: UInt, _ body: @escaping () throws -> Void) {
        self.body = body
        super.init(target: target)
    }

    override func run() throws { try body() }
}
