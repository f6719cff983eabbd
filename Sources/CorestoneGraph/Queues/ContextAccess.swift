/// The state that decides whether a context accepts or rejects calls.
struct ContextAccess {
    /// The nested uses of the context by the owning thread.
    var holds = OwnershipDepth()
    /// The thread that closed the context to callbacks, and its reason; see `Context.closed(for:_:)`.
    var closer: UInt64 = 0
    var closure = BlockingOperation.save
    /// Whether the context was closed. Its owner becomes `endedOwner` when the thread that closed it has finished.
    var hasEnded = false
    /// Whether a container or document returns this context to every caller, so that only the container closes it.
    var isShared = false
}

extension Context {
    /// The value of `ContextAccess.isShared`.
    package var isShared: Bool {
        get { access.isShared }
        set { access.isShared = newValue }
    }
}
