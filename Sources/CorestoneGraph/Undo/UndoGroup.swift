import CorestoneValues

/// An undo group: actions and nested groups that are undone together.
final class UndoGroup {
    /// An element of a group.
    enum Item {
        case action(UndoAction)
        case group(UndoGroup)
    }

    var items: [Item] = []
    var name = ""
    /// The enclosing group while this group is open. After closing, this group is an item of the enclosing group.
    var parent: UndoGroup?
    /// Whether the group was opened automatically, and is closed with the event.
    let isOfEvent: Bool

    init(isOfEvent: Bool = false, name: String = "") {
        self.isOfEvent = isOfEvent
        self.name = name
    }

    /// The last item if it is an action; otherwise nil.
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

    /// Removes an action if it is the last item.
    func remove(_ action: UndoAction) { if newest === action { items.removeLast() } }

    /// Removes the actions of a target, and nested groups that become empty.
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
    /// Opens a group, nested in the open group if the application opened that group.
    ///
    /// Earlier changes of this thread's contexts are recorded first, and a group that was opened automatically is
    /// closed.
    public func beginUndoGrouping() throws {
        try checkpoint()
        closeEventGroup()
        beginGroup(UndoGroup(), isNested: true)
    }

    /// Runs `body` within a new undo group, with a name for menus.
    ///
    /// The group is recorded even if `body` throws.
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

    /// Opens a group.
    ///
    /// - Parameter isNested: Whether the group is nested in the open group, if there is one.
    func beginGroup(_ group: UndoGroup, isNested: Bool = false) {
        let former = lock.with {
            defer { open = group }
            // The open group is read where it is replaced, so that two threads do not nest groups in the same parent
            // and end that parent twice.
            if isNested { group.parent = open }
            return open
        }
        // Released outside the lock, because the deallocation of an action may call the application.
        withExtendedLifetime(former) {}
        listeners.notify(.didOpenGroup, self)
    }

    /// Closes the innermost group, after recording the changes of this thread's contexts.
    ///
    /// The outermost group becomes an undo step. An empty group is discarded.
    ///
    /// - Throws: `.invalidArgument` if no group is open, or if the open group belongs to a running undo or redo.
    public func endUndoGrouping() throws {
        try checkpoint()
        let (isOpen, isOwn) = lock.with { (open != nil, mode == .recording || open?.parent != nil) }
        guard isOpen, isOwn else {
            throw CoreError(
                .invalidArgument,
                isOpen
                    ? "the open undo group belongs to the running undo or redo; end only groups that the action began"
                    : "the undo manager does not have an open group; call cst_undo_manager_begin_group "
                        + "(begin_undo_grouping, beginUndoGrouping) first")
        }
        endGroup()
    }

    func endGroup() {
        listeners.notify(.willCloseGroup, self)
        let outdated = lock.with { () -> [UndoGroup] in
            defer { checkInvariants() }
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
        listeners.notify(.didCloseGroup, self)
    }

    /// Closes a group that was opened automatically.
    func closeEventGroup() { if (lock.with { open?.isOfEvent }) == true { endGroup() } }

    /// The number of open groups, nested in each other.
    public var groupingLevel: Int { lock.with { open?.depth ?? 0 } }

    // MARK: Names

    /// Sets the name of the current step, for menus.
    ///
    /// If no group is open, a group is opened for the current event, unless automatic groups or registration are
    /// disabled.
    public func setActionName(_ name: String) {
        if (lock.with { open }) == nil {
            guard groupsByEvent, isRegistrationEnabled else { return }
            beginGroup(UndoGroup(isOfEvent: true))
        }
        lock.with { open?.outermost.name = name }
    }

    /// The name of the next step to undo; empty without such a step.
    public var undoActionName: String {
        let isBehind = isBehind
        return lock.with {
            if mode == .recording, let open, isBehind || open.hasActions { return open.outermost.name }
            return isBehind ? "" : undoStack.last?.name ?? ""
        }
    }

    /// The name of the next step to redo; empty without such a step.
    public var redoActionName: String { canRedo ? lock.with { redoStack.last?.name ?? "" } : "" }

    /// The title of the menu item: "Undo" with the name of the next step to undo.
    public var undoMenuItemTitle: String { title("Undo", undoActionName) }
    /// The title of the menu item: "Redo" with the name of the next step to redo.
    public var redoMenuItemTitle: String { title("Redo", redoActionName) }

    private func title(_ verb: String, _ name: String) -> String { name.isEmpty ? verb : "\(verb) \(name)" }
}
