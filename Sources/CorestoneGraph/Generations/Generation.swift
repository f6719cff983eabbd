import CorestoneValues
import Synchronization

/// Which state of the stores a context reads, where that is not always the newest.
struct Generation: Sendable {
    /// `current` until the context first reads.
    var token: QueryGenerationToken
    /// Whether somebody chose this state for the context; else it is what was the newest when the context last caught up: when it was
    /// first read, saved, merged or reset.
    var isChosen = false
}

/// The generation of a context, which the contexts above it read too, on their own threads.
final class GenerationState: Sendable {
    private let isSet = Atomic(false)
    private let value = Locked<Generation?>(nil)

    @inline(__always)
    var isNone: Bool { !isSet.load(ordering: .acquiring) }

    /// Costs one look where there is none.
    var generation: Generation? {
        get { isSet.load(ordering: .acquiring) ? value.withLock { $0 } : nil }
        set {
            // The former one may end with this, and let go of a connection then.
            let former = value.withLock { generation in
                defer { generation = newValue }
                return generation
            }
            withExtendedLifetime(former) {}
            isSet.store(newValue != nil, ordering: .releasing)
        }
    }

    /// Puts a state in the place of `current`. Returns the one that is there, if somebody else was faster.
    func pin(to token: QueryGenerationToken) -> QueryGenerationToken? {
        value.withLock { generation in
            if generation?.token.isCurrent == true { generation?.token = token }
            return generation?.token
        }
    }
}
