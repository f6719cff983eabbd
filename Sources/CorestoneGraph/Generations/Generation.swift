import CorestoneValues
import Synchronization

/// The state of the stores that a pinned context reads.
struct Generation: Sendable {
    /// The token; `current` until the context's first read, unless the application chose a state.
    var token: QueryGenerationToken
    /// Whether the application chose this state.
    ///
    /// Otherwise it was the newest state at the context's first read, or at its last save, merge or reset.
    var isChosen = false
}

/// The generation of a context. The context's nested contexts read it too, on their own threads.
final class GenerationState: Sendable {
    let isSet = Atomic(false)
    let value = Locked<Generation?>(nil)

    @inline(__always)
    var isNone: Bool { !isSet.load(ordering: .acquiring) }

    /// The generation; nil if the context is not pinned, which is known from one atomic flag.
    var generation: Generation? {
        get { isSet.load(ordering: .acquiring) ? value.withLock { $0 } : nil }
        set {
            // The former generation may be deallocated here and close a connection, so this must not happen within the
            // lock.
            let former = value.withLock { generation in
                defer { generation = newValue }
                return generation
            }
            withExtendedLifetime(former) {}
            isSet.store(newValue != nil, ordering: .releasing)
            checkInvariants()
        }
    }

    /// Replaces `current` with a state.
    ///
    /// Returns the state to read: that of another thread if it replaced `current` before; nil if the context is no
    /// longer pinned.
    func pin(to token: QueryGenerationToken) -> QueryGenerationToken? {
        value.withLock { generation in
            if generation?.token.isCurrent == true { generation?.token = token }
            generation?.checkPinned()
            return generation?.token
        }
    }
}
