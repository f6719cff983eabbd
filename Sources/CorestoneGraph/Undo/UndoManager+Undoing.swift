import CorestoneValues

extension UndoManager {
    /// Whether there is a step to undo, including unrecorded changes of this thread's contexts.
    public var canUndo: Bool {
        if isBehind { return true }
        return lock.with { mode == .recording && (!undoStack.isEmpty || open?.hasActions == true) }
    }

    /// Whether there is a step to redo. Recording a change discards these steps.
    public var canRedo: Bool { !isBehind && lock.with { mode == .recording && !redoStack.isEmpty } }

    public var isUndoing: Bool { lock.with { mode == .undoing } }
    public var isRedoing: Bool { lock.with { mode == .redoing } }

    /// Undoes the newest step, which can then be redone. An open group is closed first.
    ///
    /// - Returns: Whether there was a step to undo.
    /// - Throws: `.invalidArgument` within an undo or redo, and if nested groups are open.
    ///   An error that prevents a context from undoing its changes (`.wrongThread`, a closed store), before anything is
    ///   undone.
    ///   The error of an action. After the error of an action, the remaining actions can still be undone, and so can a
    ///   context's action that failed before it changed objects. The actions that were undone can be redone.
    @discardableResult
    public func undo() throws -> Bool {
        try requireIdle("undo")
        try checkpoint()
        guard groupingLevel < 2 else {
            throw CoreError(
                .invalidArgument,
                "\(groupingLevel) nested undo groups are open; call cst_undo_manager_end_group (end_undo_grouping, "
                    + "endUndoGrouping) first")
        }
        if groupingLevel == 1 { endGroup() }
        return try perform(.undoing)
    }

    /// Undoes the last closed group within the open group, or the newest step if no group is open.
    ///
    /// - Returns: Whether there was a group to undo.
    /// - Throws: As `undo()`.
    ///   `.invalidArgument` if the open group does not contain a closed group, or if actions were registered after its
    ///   last closed group.
    @discardableResult
    public func undoNestedGroup() throws -> Bool {
        try requireIdle("undo a nested group")
        try checkpoint()
        closeEventGroup()
        guard let (outer, steps) = try takeNestedGroup() else { return try perform(.undoing) }
        defer {
            lock.with {
                (open, suspended) = (outer, nil)
                if undoStack.count > steps { outer.items.append(.group(undoStack.removeLast())) }
            }
        }
        return try perform(.undoing)
    }

    /// Moves the last group in the open group to the undo stack, so that it is undone like any other step.
    ///
    /// - Returns: The open group, which is suspended, and the number of steps on the stack before; nil if no group is
    ///   open.
    private func takeNestedGroup() throws -> (outer: UndoGroup, steps: Int)? {
        try lock.with {
            guard let outer = open else { return nil }
            guard case .group(let group)? = outer.items.last else {
                throw CoreError(
                    .invalidArgument,
                    (outer.hasGroups
                        ? "cannot undo the last nested undo group, because actions were registered after it"
                        : "cannot undo a nested undo group, because the open group does not contain one")
                        + "; call cst_undo_manager_end_group (end_undo_grouping, endUndoGrouping)"
                        + (outer.depth == 1 ? ", or cst_undo_manager_undo (undo)" : " first"))
            }
            let steps = undoStack.count
            outer.items.removeLast()
            undoStack.append(group)
            (open, suspended) = (nil, outer)
            return (outer, steps)
        }
    }

    /// Redoes the step that was undone last.
    ///
    /// - Returns: Whether there was a step to redo.
    /// - Throws: As `undo()`.
    ///   `.invalidArgument` if a group is open that the application began.
    @discardableResult
    public func redo() throws -> Bool {
        try requireIdle("redo")
        try checkpoint()
        closeEventGroup()
        guard groupingLevel == 0 else {
            throw CoreError(
                .invalidArgument,
                (groupingLevel == 1 ? "an undo group is" : "\(groupingLevel) nested undo groups are")
                    + " open; call cst_undo_manager_end_group (end_undo_grouping, endUndoGrouping) first")
        }
        return try perform(.redoing)
    }

    private func requireIdle(_ operation: String) throws {
        guard (lock.with { mode == .recording }) else {
            throw CoreError(
                .invalidArgument,
                "cannot \(operation) while an undo or redo is running; try again after the running one has ended")
        }
    }

    /// Runs the newest group of a stack.
    ///
    /// Actions that are registered in the meantime become the newest group of the opposite stack.
    private func perform(_ doing: Mode) throws -> Bool {
        guard let group = (lock.with { doing == .undoing ? undoStack.last : redoStack.last }) else {
            return false
        }
        let actions = group.actionsToUndo
        for action in actions { try action.check() }
        // Stored in `running` for `removeAllActions`, because an action of the application may release a context whose
        // actions follow.
        let rest = UndoGroup(name: group.name)
        rest.items = actions.reversed().map { .action($0) }
        try lock.with {
            // Another thread may have changed the stacks.
            guard mode == .recording, open == nil, group === (doing == .undoing ? undoStack.last : redoStack.last)
            else {
                throw CoreError(
                    .wrongThread,
                    "another thread or an observer used the undo manager as the \(doing == .undoing ? "undo" : "redo") began. "
                        + "Use it from one thread at a time, and register actions in observers of CST_UNDO_CHECKPOINT "
                        + "(checkpoint) only")
            }
            if doing == .undoing { undoStack.removeLast() } else { redoStack.removeLast() }
            mode = doing
            running = rest
        }
        listeners.notify(doing == .undoing ? .willUndo : .willRedo, self)
        beginGroup(UndoGroup(name: group.name))
        var failure: (any Error)?
        while failure == nil, let action = (lock.with { rest.newest }) {
            do {
                try action.run()
                // Changes that an action of the application makes in a context are part of the opposite step.
                try recordAll()
                lock.with { rest.remove(action) }
            } catch {
                failure = error
                if !action.canBeRepeated { lock.with { rest.remove(action) } }
            }
        }
        // Closes groups that an action left open.
        while groupingLevel > 1 { endGroup() }
        endGroup()
        lock.with {
            mode = .recording
            running = nil
            if !rest.items.isEmpty {
                if doing == .undoing { undoStack.append(rest) } else { redoStack.append(rest) }
            }
            checkInvariants()
        }
        listeners.notify(doing == .undoing ? .didUndo : .didRedo, self)
        // Objects without changes merge the saves of other writers that were skipped.
        for recorder in lock.with({ recorders }) { recorder.usableContext?.changeMerger.mergeDeferred() }
        if let failure { throw failure }
        return true
    }

    private func recordAll() throws {
        for recorder in lock.with({ recorders }) { try recorder.usableContext?.processPendingChanges() }
    }
}
