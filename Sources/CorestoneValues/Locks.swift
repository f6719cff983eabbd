import Glibc

/// A recursive mutex.
package final class RecursiveLock: @unchecked Sendable {
    @usableFromInline let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    @usableFromInline let rank: LockRank

    package init(_ rank: LockRank) {
        self.rank = rank
        var attributes = pthread_mutexattr_t()
        pthread_mutexattr_init(&attributes)
        pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_RECURSIVE))
        pthread_mutex_init(mutex, &attributes)
        pthread_mutexattr_destroy(&attributes)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    @inlinable
    package func with<Result>(_ body: () throws -> Result) rethrows -> Result {
        LockOrder.willWait(for: self, rank)
        pthread_mutex_lock(mutex)
        LockOrder.didAcquire(self, rank)
        defer {
            pthread_mutex_unlock(mutex)
            LockOrder.didRelease(self)
        }
        return try body()
    }
}

/// A value guarded by a lock, which is a POSIX mutex, because ThreadSanitizer supports it.
package final class Locked<Value>: @unchecked Sendable {
    private let lock: RecursiveLock
    private var value: Value

    package init(_ value: Value, _ rank: LockRank = .leaf) {
        lock = RecursiveLock(rank)
        self.value = value
    }

    package func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        try lock.with { try body(&value) }
    }
}
