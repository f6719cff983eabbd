/// The inbox of a context, the inboxes of its children, and the IDs to be posted to the children.
struct ContextLinks {
    /// The inbox for changes, permanent IDs and removed stores, to which other contexts and threads post.
    let inbox: ContextInbox
    let children = ContextFollowers()
    /// IDs that became permanent and were not posted to the nested contexts yet.
    private(set) var renamed: [Renaming] = []

    /// Records an ID that became permanent.
    mutating func note(_ renaming: Renaming) { renamed.append(renaming) }

    /// Removes and returns the recorded IDs.
    @discardableResult
    mutating func takeRenamed() -> [Renaming] {
        defer { renamed = [] }
        return renamed
    }
}
