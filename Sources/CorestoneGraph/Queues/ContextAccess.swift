/// Why a context accepts calls or refuses them.
struct ContextAccess {
    /// How often the owning thread has taken the context.
    var holds = Holds()
    /// The thread that closed the context to callbacks, and its reason; see `Context.closed(for:_:)`.
    var closer: UInt64 = 0
    var closure = Closure.save
    /// Whether the context was closed. Its owner becomes `endedOwner` when the thread that closed it has finished.
    var hasEnded = false
    /// Whether a container or document returns this context to every caller, so that only the container closes it.
    var isShared = false
}

extension Context {
    /// See `ContextAccess.isShared`.
    package var isShared: Bool {
        get { access.isShared }
        set { access.isShared = newValue }
    }
}
