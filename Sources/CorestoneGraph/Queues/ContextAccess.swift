/// The state that decides whether a context accepts or rejects calls.
struct ContextAccess {
    /// The nested uses of the context by the owning thread.
    var holds = OwnershipDepth()
    /// The thread that blocks the context for an operation, and the operation; see `Context.closed(for:_:)`.
    private(set) var closer: UInt64 = 0
    private(set) var closure = BlockingOperation.save
    /// Whether the context was closed. The owner becomes `endedOwner` when the block that closed the context has ended.
    private(set) var hasEnded = false
    /// Whether a container or document shares this context with its callers. Only the container or document closes it.
    fileprivate(set) var isShared = false

    /// Sets the thread that blocks the context, and the operation.
    mutating func close(by thread: UInt64, for operation: BlockingOperation) {
        (closer, closure) = (thread, operation)
    }

    /// Records that the context was closed.
    mutating func end() { hasEnded = true }
}

extension Context {
    /// The value of `ContextAccess.isShared`.
    package var isShared: Bool {
        get { access.isShared }
        set { access.isShared = newValue }
    }
}
