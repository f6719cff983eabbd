/// The connections of a context to its parent or coordinator and to its children.
struct ContextLinks {
    /// The inbox for changes, permanent IDs and removed stores, to which other contexts and threads post.
    let inbox: ContextInbox
    let children = ContextFollowers()
    /// IDs that became permanent and were not posted to the child contexts yet.
    var renamed: [Renaming] = []
}
