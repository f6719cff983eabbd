import CorestoneValues

/// Actions that are undone together, and groups within the group.
final class UndoGroup {
    enum Item {
        case action(UndoAction)
        case group(UndoGroup)
    }

    var items: [Item] = []
    var name = ""
    /// The group in which this one was begun, as long as this one is open: closed, it is an item of that one.
    var parent: UndoGroup?
    /// Whether it opened by itself, and closes with the event.
    let isOfEvent: Bool

    init(parent: UndoGroup? = nil, isOfEvent: Bool = false, name: String = "") {
        self.parent = parent
        self.isOfEvent = isOfEvent
        self.name = name
    }

    /// The action registered last, where the last item is one.
    var newest: UndoAction? { if case .action(let action)? = items.last { action } else { nil } }
    var depth: Int { 1 + (parent?.depth ?? 0) }
    var hasGroups: Bool { items.contains { if case .group = $0 { true } else { false } } }
    var outermost: UndoGroup { parent?.outermost ?? self }
    var hasActions: Bool { !items.isEmpty || parent?.hasActions ?? false }

    /// The actions in the order in which they are undone.
    var actionsToUndo: [UndoAction] {
        var actions: [UndoAction] = []
        collect(&actions)
        return actions
    }

    private func collect(_ actions: inout [UndoAction]) {
        for item in items.reversed() {
            switch item {
            case .action(let action): actions.append(action)
            case .group(let group): group.collect(&actions)
            }
        }
    }

    /// Takes out the newest action, if that is still this one.
    func remove(_ action: UndoAction) { if newest === action { items.removeLast() } }

    /// Takes out the actions about a target, and what groups are empty then.
    func remove(_ target: UInt, into outdated: inout [UndoAction]) {
        items = items.filter { item in
            switch item {
            case .action(let action):
                if action.target != target { return true }
                outdated.append(action)
                return false
            case .group(let group):
                group.remove(target, into: &outdated)
                return !group.items.isEmpty
            }
        }
    }
}

extension UndoManager {
    /// Opens a group, within the one that is open if the host began that. What contexts of this thread changed before is
    /// recorded first, and a group that opened by itself closes.
    public func beginUndoGrouping() throws {
        try checkpoint()
        closeEventGroup()
        beginGroup(UndoGroup(parent: lock.with { open }))
    }

    /// Runs `body` as a step of its own, with a name for menus. The step is there also when the body throws.
    public func group<Result>(_ name: String? = nil, _ body: () throws -> Result) throws -> Result {
        try beginUndoGrouping()
        if let name { setActionName(name) }
        let result: Result
        do { result = try body() } catch {
            try? endUndoGrouping()
            throw error
        }
        try endUndoGrouping()
        return result
    }

    func beginGroup(_ group: UndoGroup) {
        let former = lock.with {
            defer { open = group }
            return open
        }
        // Outside the lock: the end of an action may be the host's.
        withExtendedLifetime(former) {}
        listeners.tell(.didOpenGroup, self)
    }

    /// Closes the innermost group, with what contexts of this thread changed since it opened. The outermost group becomes a
    /// step to undo; an empty one is forgotten.
    /// - Throws: `.invalidArgument` when no group is open; nothing happens then.
    public func endUndoGrouping() throws {
        try checkpoint()
        guard (lock.with { open.map { !(mode != .recording && $0.parent == nil) } }) == true else {
            throw CoreError(
                .invalidArgument,
                "no undo group is open; call cst_undo_manager_begin_group (begin_undo_grouping, beginUndoGrouping) first"
            )
        }
        endGroup()
    }

    func endGroup() {
        listeners.tell(.willCloseGroup, self)
        let outdated = lock.with { () -> [UndoGroup] in
            guard let group = open else { return [] }
            open = group.parent
            if group.items.isEmpty { return [] }
            if let parent = group.parent {
                group.parent = nil
                parent.items.append(.group(group))
                return []
            }
            if mode == .undoing { redoStack.append(group) } else { undoStack.append(group) }
            return trim()
        }
        withExtendedLifetime(outdated) {}
        listeners.tell(.didCloseGroup, self)
    }

    /// Closes the group that opened by itself.
    func closeEventGroup() { if (lock.with { open?.isOfEvent }) == true { endGroup() } }

    /// How many groups are open, one within the other.
    public var groupingLevel: Int { lock.with { open?.depth ?? 0 } }

    // MARK: Names

    /// Names the step that is being recorded, for menus. Where no group is open, one opens for the event that runs.
    public func setActionName(_ name: String) {
        if (lock.with { open }) == nil {
            guard groupsByEvent, isRegistrationEnabled else { return }
            beginGroup(UndoGroup(isOfEvent: true))
        }
        lock.with { open?.outermost.name = name }
    }

    /// The name of what an undo would undo; empty for none.
    public var undoActionName: String {
        let isBehind = isBehind
        return lock.with {
            if mode == .recording, let open, isBehind || open.hasActions { return open.outermost.name }
            return isBehind ? "" : undoStack.last?.name ?? ""
        }
    }

    /// The name of what a redo would redo; empty for none.
    public var redoActionName: String { canRedo ? lock.with { redoStack.last?.name ?? "" } : "" }

    /// "Undo" with the name of what an undo would undo.
    public var undoMenuItemTitle: String { title("Undo", undoActionName) }
    /// "Redo" with the name of what a redo would redo.
    public var redoMenuItemTitle: String { title("Redo", redoActionName) }

    private func title(_ verb: String, _ name: String) -> String { name.isEmpty ? verb : "\(verb) \(name)" }
}
