import CPlatform
import Glibc
import Synchronization

/// A recursive lock that threads acquire in the order of their requests.
///
/// Such locks guard the saves and the connections of a store. A thread that holds such a lock must not wait for a
/// context's queue (`platform_holds_store`).
package final class FairLock: @unchecked Sendable {
    /// The state: 1 while the lock is held, plus 2 for each waiting thread.
    ///
    /// While threads wait, each holder passes the lock on directly, so the lock is never free.
    private let state = Atomic<UInt>(0)
    /// The number of the holding thread; 0 while the lock is free or being passed on.
    private let holder = Atomic<UInt64>(0)
    /// The number of further, nested acquisitions by the holder.
    private var depth = 0
    private let rank: LockRank
    private let number: UInt32
    private var kind: UInt32 { UInt32(rank == .writer ? PLATFORM_STORE : PLATFORM_CONNECTION) }
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private var waiting: [UnsafeMutablePointer<sem_t>] = []

    /// Creates a lock. `number` orders locks of one rank.
    package init(_ rank: LockRank, number: UInt32 = 0) {
        self.rank = rank
        self.number = number
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Whether the calling thread holds the lock.
    package var isHeldByThisThread: Bool { holder.load(ordering: .relaxed) == platform_thread_id() }

    package func with<Result>(_ body: () throws -> Result) rethrows -> Result {
        lock()
        defer { unlock() }
        return try body()
    }

    package func lock() { _ = lock { false } }

    /// Acquires the lock with a time-out, even if the thread holds another lock of the same rank.
    ///
    /// An example is a callback that runs during the use of one store and uses another store. Two threads may acquire
    /// the two locks in different orders, so an unlimited wait could be a deadlock.
    ///
    /// - Parameter seconds: the time-out.
    /// - Returns: false if the wait timed out.
    package func lock(seconds: UInt64) -> Bool {
        let end = monotonicNanoseconds() + seconds * 1_000_000_000
        return LockOrder.withoutOrder { lock { monotonicNanoseconds() > end } }
    }

    /// Acquires the lock, unless the wait is cancelled.
    ///
    /// - Parameter isCancelled: called about every 20 milliseconds while the thread waits.
    /// - Returns: false, without the lock, if `isCancelled` returned true.
    package func lock(unless isCancelled: () -> Bool) -> Bool {
        if isHeldByThisThread {
            depth += 1
            return true
        }
        LockOrder.willWait(for: self, rank, number)
        if !state.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged, !waitForTurn(isCancelled) {
            return false
        }
        holder.store(platform_thread_id(), ordering: .relaxed)
        LockOrder.didAcquire(self, rank, number)
        platform_did_acquire(kind)
        return true
    }

    package func unlock() {
        if depth > 0 {
            depth -= 1
            return
        }
        platform_did_release(kind)
        holder.store(0, ordering: .relaxed)
        if !state.compareExchange(expected: 1, desired: 0, ordering: .releasing).exchanged { wakeNext() }
        LockOrder.didRelease(self)
    }

    private func waitForTurn(_ isCancelled: () -> Bool) -> Bool {
        pthread_mutex_lock(mutex)
        let (before, _) = state.add(2, ordering: .acquiringAndReleasing)
        if before & 1 == 0 {
            // The lock was released meanwhile. No other thread can acquire it, because `state` already counts this
            // thread as waiting.
            state.subtract(1, ordering: .acquiringAndReleasing)
            pthread_mutex_unlock(mutex)
            return true
        }
        let turn = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
        sem_init(turn, 0, 0)
        waiting.append(turn)
        pthread_mutex_unlock(mutex)
        defer {
            sem_destroy(turn)
            turn.deallocate()
        }
        while !turn.waitBriefly() {
            guard isCancelled() else { continue }
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            // The lock may have been passed to this thread in the meantime.
            guard let place = waiting.firstIndex(of: turn) else { return true }
            waiting.remove(at: place)
            state.subtract(2, ordering: .acquiringAndReleasing)
            return false
        }
        // The thread that passed the lock on may still use the semaphore until it releases the mutex.
        pthread_mutex_lock(mutex)
        pthread_mutex_unlock(mutex)
        return true
    }

    private func wakeNext() {
        pthread_mutex_lock(mutex)
        state.subtract(2, ordering: .acquiringAndReleasing)
        sem_post(waiting.removeFirst())
        pthread_mutex_unlock(mutex)
    }
}

extension UnsafeMutablePointer<sem_t> {
    /// Waits for a semaphore for at most 20 milliseconds. Returns false if it was not posted.
    package func waitBriefly() -> Bool { platform_wait(self, 20_000_000) }
}
