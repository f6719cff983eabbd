import Glibc

/// Which locks may be taken by who holds one: those further down, or the same once more. So no two threads can wait for each
/// other. docs/ARCHITECTURE.md, "Threads", says what each is for.
package enum LockRank: UInt8, Sendable {
    /// Saves into a store take turns. Of several stores that of the one that was added first comes first.
    case writer
    /// A connection to a store, or a store that one thread at a time uses.
    case connection
    /// Which stores of a coordinator are watched for what others write.
    case watches
    /// Which stores a coordinator has.
    case stores
    /// What a watch has seen of a store, also while a save is committed.
    case watch
    /// Which connections a store has, and who waits for one.
    case connections
    /// The rows that a coordinator keeps of a store.
    case rows
    /// Changes of models in files take turns.
    case modelFiles
    /// Whatever takes no other lock while it is held.
    case leaf
}

/// Checks in debug builds, with each lock that is taken, that the calling thread keeps the order of locks.
package enum LockOrder {
    #if DEBUG
        /// What is done about a thread that does not; tests of the check replace it.
        package nonisolated(unsafe) static var refuse: (String) -> Void = { assertionFailure($0) }

        private final class Held {
            var locks: [(lock: ObjectIdentifier, rank: LockRank, number: UInt32)] = []
            /// Whether what is waited for now is given up after a while.
            var waitsAWhile = false
        }

        private static let key: pthread_key_t = {
            var key = pthread_key_t()
            pthread_key_create(&key) { held in if let held { Unmanaged<Held>.fromOpaque(held).release() } }
            return key
        }()

        private static var held: Held {
            if let known = pthread_getspecific(key) { return Unmanaged<Held>.fromOpaque(known).takeUnretainedValue() }
            let fresh = Held()
            pthread_setspecific(key, Unmanaged.passRetained(fresh).toOpaque())
            return fresh
        }

        @usableFromInline
        static func check(_ lock: AnyObject, _ rank: LockRank, _ number: UInt32) {
            if held.waitsAWhile { return }
            for other in held.locks where other.lock != ObjectIdentifier(lock) {
                if (other.rank.rawValue, other.number) < (rank.rawValue, number) { continue }
                refuse(
                    "a thread acquires the lock \(rank) \(number) while it holds the lock \(other.rank) \(other.number) of the "
                        + "same or a later rank")
            }
        }

        @usableFromInline
        static func note(_ lock: AnyObject, _ rank: LockRank, _ number: UInt32) {
            held.locks.append((ObjectIdentifier(lock), rank, number))
        }

        @usableFromInline
        static func forget(_ lock: AnyObject) {
            let held = held
            if let place = held.locks.lastIndex(where: { $0.lock == ObjectIdentifier(lock) }) {
                held.locks.remove(at: place)
            }
        }
    #endif

    /// Runs `body`, which waits for a lock no longer than for a while, so that no order is asked of it.
    package static func withoutOrder<Result>(_ body: () -> Result) -> Result {
        #if DEBUG
            let held = held
            held.waitsAWhile = true
            defer { held.waitsAWhile = false }
        #endif
        return body()
    }

    /// To be called before a lock is waited for. `number` orders locks of one rank.
    @inlinable @inline(__always)
    package static func willWait(for lock: AnyObject, _ rank: LockRank, _ number: UInt32 = 0) {
        #if DEBUG
            check(lock, rank, number)
        #endif
    }

    @inlinable @inline(__always)
    package static func didTake(_ lock: AnyObject, _ rank: LockRank, _ number: UInt32 = 0) {
        #if DEBUG
            note(lock, rank, number)
        #endif
    }

    @inlinable @inline(__always)
    package static func didLeave(_ lock: AnyObject) {
        #if DEBUG
            forget(lock)
        #endif
    }
}
