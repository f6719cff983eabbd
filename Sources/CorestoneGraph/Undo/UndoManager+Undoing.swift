import CorestoneValues

extension UndoManager {
    /// Whether there is something to undo, changes of this thread's contexts that are not recorded yet included.
    public var canUndo: Bool {
        if isBehind { return true }
        return lock.with { mode == .recording && (!undoStack.isEmpty || open?.hasActions == true) }
    }

    /// Whether there is something to redo. A change that is recorded forgets it.
    public var canRedo: Bool { !isBehind && lock.with { mode == .recording && !redoStack.isEmpty } }

    public var isUndoing: Bool { lock.with { mode == .undoing } }
    public var isRedoing: Bool { lock.with { mode == .redoing } }

    /// Undoes the newest step, which can then be redone. An open group closes first.
    /// - Returns: whether there was a step to undo.
    /// - Throws: `.invalidArgument` within an undo or redo, and when groups within a group are open; before anything is
    ///   undone, what keeps a context from undoing its changes (`.wrongThread`, a closed store); then what an action throws.
    ///   The actions that were not undone, and a context's that failed, stay to be undone; the others can be redone.
    @discardableResult
    public func undo() throws -> Bool {
        try requireIdle("undo")
        try checkpoint()
        guard groupingLevel < 2 else {
            throw CoreError(
                .invalidArgument,
                "\(groupingLevel) nested undo groups are open; end them before calling undo")
        }
        if groupingLevel == 1 { endGroup() }
        return try perform(.undoing)
    }

    /// Undoes the group that was closed last: within the open one if any, else the newest step.
    /// - Returns: whether there was one.
    /// - Throws: as `undo()`, and `.invalidArgument` when actions were registered after that group.
    @discardableResult
    public func undoNestedGroup() throws -> Bool {
        try requireIdle("undo a nested group")
        try checkpoint()
        closeEventGroup()
        guard let outer = (lock.with { open }) else { return try perform(.undoing) }
        guard case .group(let group)? = (lock.with { outer.items.last }) else {
            throw CoreError(
                .invalidArgument,
                ((lock.with { outer.hasGroups })
                    ? "cannot undo the last nested undo group, because actions were registered after it"
                    : "cannot undo a nested undo group, because the open group does not contain one")
                    + (groupingLevel == 1 ? "; end the open group, or call undo" : "; end the open group first"))
        }
        // For the while of the undo the group is a step like any other.
        let steps = lock.with {
            defer {
                outer.items.removeLast()
                undoStack.append(group)
                (open, suspended) = (nil, outer)
            }
            return undoStack.count
        }
        defer {
            lock.with {
                (open, suspended) = (outer, nil)
                if undoStack.count > steps { outer.items.append(.group(undoStack.removeLast())) }
            }
        }
        return try perform(.undoing)
    }

    /// Does again what was undone last.
    /// - Returns: whether there was something to redo.
    /// - Throws: as `undo()`.
    @discardableResult
    public func redo() throws -> Bool {
        try requireIdle("redo")
        try checkpoint()
        closeEventGroup()
        guard groupingLevel == 0 else {
            throw CoreError(
                .invalidArgument,
                groupingLevel == 1
                    ? "an undo group is open; end it before calling redo"
                    : "\(groupingLevel) nested undo groups are open; end them before calling redo")
        }
        return try perform(.redoing)
    }

    private func requireIdle(_ what: String) throws {
        guard (lock.with { mode == .recording }) else {
            throw CoreError(
                .invalidArgument, "cannot \(what) while an undo or redo is running; do so after it has ended")
        }
    }

    /// Runs the newest group of a stack; what is registered meanwhile becomes the opposite's newest.
    private func perform(_ doing: Mode) throws -> Bool {
        guard let group = (lock.with { doing == .undoing ? undoStack.last : redoStack.last }) else {
            return false
        }
        let actions = group.actionsToUndo
        for action in actions { try action.check() }
        // Kept where `removeAllActions` finds them: an action of the host's may end a context whose actions come after it.
        let rest = UndoGroup(name: group.name)
        rest.items = actions.reversed().map { .action($0) }
        try lock.with {
            // Another thread may have been faster.
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
        listeners.tell(doing == .undoing ? .willUndo : .willRedo, self)
        beginGroup(UndoGroup(name: group.name))
        var failure: (any Error)?
        while failure == nil, let action = (lock.with { rest.newest }) {
            do {
                try action.run()
                // What a host's action changed in a context is part of its opposite.
                try recordAll()
                lock.with { rest.remove(action) }
            } catch {
                failure = error
                if !action.canBeRepeated { lock.with { rest.remove(action) } }
            }
        }
        // Groups that an action left open.
        while groupingLevel > 1 { endGroup() }
        endGroup()
        lock.with {
            mode = .recording
            running = nil
            if rest.items.isEmpty { return }
            if doing == .undoing { undoStack.append(rest) } else { redoStack.append(rest) }
        }
        listeners.tell(doing == .undoing ? .didUndo : .didRedo, self)
        // Objects that have no changes any more get what others saved meanwhile.
        for recorder in lock.with({ recorders }) { recorder.usableContext?.mergeDeferred() }
        if let failure { throw failure }
        return true
    }

    private func recordAll() throws {
        for recorder in lock.with({ recorders }) { try recorder.usableContext?.processPendingChanges() }
    }
}
