extension Context {
    func recordUndo() {}
    func closeUndoGroup() {}
}
