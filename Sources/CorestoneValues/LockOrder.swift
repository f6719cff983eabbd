import Glibc

/// The order of locks.
///
/// So that two threads cannot deadlock, a thread that holds a lock acquires only the same lock again, locks of later
/// ranks, and locks of the same rank with larger numbers. An exception is a wait with a time-out.
/// `docs/ARCHITECTURE.md`, section "Threads", describes each lock.
package enum LockRank: UInt8, Sendable {
    /// The lock that serialises saves into a store.
    ///
    /// Locks of several stores are acquired in the order in which the stores were added.
    case writer
    /// A connection to a store, or a store that does not support parallel reads.
    case connection
    /// The stores of a coordinator that are watched for remote changes.
    case watches
    /// The list of a coordinator's stores.
    case stores
    /// The state of a store that its watcher last saw. The lock is also held while a save is committed.
    case watch
    /// The connections of a store, and the threads that wait for a connection.
    case connections
    /// The row cache of a store.
    case rows
    /// The lock that serialises changes of model files.
    case modelFiles
    /// Locks under which no other lock is acquired.
    case leaf
}

/// The check, in debug builds, that each thread acquires locks in the order of their ranks.
package enum LockOrder {
    #if DEBUG
        /// The function that reports a violation. Tests of the check replace it.
        package nonisolated(unsafe) static var refuse: (String) -> Void = { assertionFailure($0) }

        private final class Held {
            var locks: [(lock: ObjectIdentifier, rank: LockRank, number: UInt32)] = []
            /// Whether the current wait has a time-out.
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

    /// Runs `body`, whose wait for a lock has a time-out, without the check of the order.
    package static func withoutOrder<Result>(_ body: () -> Result) -> Result {
        #if DEBUG
            let held = held
            held.waitsAWhile = true
            defer { held.waitsAWhile = false }
        #endif
        return body()
    }

    /// Checks the order before a thread waits for a lock. `number` orders locks of one rank.
    @inlinable @inline(__always)
    package static func willWait(for lock: AnyObject, _ rank: LockRank, _ number: UInt32 = 0) {
        #if DEBUG
            check(lock, rank, number)
        #endif
    }

    @inlinable @inline(__always)
    package static func didAcquire(_ lock: AnyObject, _ rank: LockRank, _ number: UInt32 = 0) {
        #if DEBUG
            note(lock, rank, number)
        #endif
    }

    @inlinable @inline(__always)
    package static func didRelease(_ lock: AnyObject) {
        #if DEBUG
            forget(lock)
        #endif
    }
}
