/// The state that decides whether a context accepts or rejects calls.
struct ContextAccess {
    /// The nested uses of the context by the owning thread.
    var holds = OwnershipDepth()
    /// The thread that blocks the context for an operation, and the operation; see `Context.closed(for:_:)`.
    var closer: UInt64 = 0
    var closure = BlockingOperation.save
    /// Whether the context was closed. The owner becomes `endedOwner` when the block that closed the context has ended.
    var hasEnded = false
    /// Whether a container or document shares this context with its callers. Only the container or document closes it.
    var isShared = false
}

extension Context {
    /// The value of `ContextAccess.isShared`.
    package var isShared: Bool {
        get { access.isShared }
        set { access.isShared = newValue }
    }
}
