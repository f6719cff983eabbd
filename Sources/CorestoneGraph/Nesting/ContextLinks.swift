/// The connections of a context to its parent or coordinator and to its children.
struct ContextLinks {
    /// The inbox for changes, renamed IDs and removed stores from other contexts and threads.
    let inbox: ContextInbox
    let children = ContextFollowers()
    /// IDs that became permanent and were not passed to the children yet.
    var renamed: [Renaming] = []
}
