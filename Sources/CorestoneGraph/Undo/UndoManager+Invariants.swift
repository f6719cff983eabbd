extension UndoManager {
    /// Verifies, in debug builds and under the lock:
    /// - A group is on one stack at most, and a group on a stack is not open.
    /// - The enclosing groups of an open group do not form a cycle.
    /// - `running` is set only while a group is undone or redone.
    ///
    /// Called when a group was closed, and after an undo or redo. Only stacks of at most 256 groups in all are checked,
    /// and the 256 innermost open groups.
    func checkInvariants() {
        #if DEBUG
            guard undoStack.count + redoStack.count <= 256 else { return }
            let closed = undoStack + redoStack
            precondition(Set(closed.map(ObjectIdentifier.init)).count == closed.count, "an undo group is on two stacks")
            var chain: Set<ObjectIdentifier> = []
            var group = open
            while let next = group, chain.count < 256 {
                precondition(chain.insert(ObjectIdentifier(next)).inserted, "open undo groups form a cycle")
                precondition(!closed.contains { $0 === next }, "an open undo group is on a stack")
                group = next.parent
            }
            if mode == .recording { precondition(running == nil, "an undo group runs while changes are recorded") }
        #endif
    }
}
