import CPlatform
import Glibc
import Synchronization

/// A lock that threads get in the order in which they ask for it. Its holder may take it again.
///
/// It is that of a store: as long as a thread holds one, it must not wait for a context's queue (`platform_holds_store`).
package final class FairLock: @unchecked Sendable {
    /// 1 while somebody has it, and 2 for each thread that waits. While one waits it passes from hand to hand and is never free.
    private let state = Atomic<UInt>(0)
    /// The holder's number; 0 for nobody.
    private let holder = Atomic<UInt64>(0)
    /// How often the holder took it again.
    private var depth = 0
    private let rank: LockRank
    private let number: UInt32
    private var kind: UInt32 { UInt32(rank == .writer ? PLATFORM_STORE : PLATFORM_CONNECTION) }
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private var waiting: [UnsafeMutablePointer<sem_t>] = []

    /// `number` orders locks of one rank.
    package init(_ rank: LockRank, number: UInt32 = 0) {
        self.rank = rank
        self.number = number
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Whether the calling thread has it.
    package var isMine: Bool { holder.load(ordering: .relaxed) == platform_thread_id() }

    package func with<Result>(_ body: () throws -> Result) rethrows -> Result {
        lock()
        defer { unlock() }
        return try body()
    }

    package func lock() { _ = lock { false } }

    /// For a thread that has another lock of the rank, such as a callback that runs within the use of one store and uses another:
    /// the two need not come in the order in which all others take them, so waiting may have no end.
    /// - Returns: false when others had it all the time.
    package func lock(seconds: UInt64) -> Bool {
        let end = monotonicNanoseconds() + seconds * 1_000_000_000
        return LockOrder.withoutOrder { lock { monotonicNanoseconds() > end } }
    }

    /// - Parameter isCancelled: asked every 20 milliseconds while others are before this thread.
    /// - Returns: false when the thread does not have the lock, since `isCancelled` said so.
    package func lock(unless isCancelled: () -> Bool) -> Bool {
        if isMine {
            depth += 1
            return true
        }
        LockOrder.willWait(for: self, rank, number)
        if !state.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged, !waitForTurn(isCancelled) {
            return false
        }
        holder.store(platform_thread_id(), ordering: .relaxed)
        LockOrder.didTake(self, rank, number)
        platform_did_take(kind)
        return true
    }

    package func unlock() {
        if depth > 0 {
            depth -= 1
            return
        }
        platform_did_leave(kind)
        holder.store(0, ordering: .relaxed)
        if !state.compareExchange(expected: 1, desired: 0, ordering: .releasing).exchanged { handOver() }
        LockOrder.didLeave(self)
    }

    private func waitForTurn(_ isCancelled: () -> Bool) -> Bool {
        pthread_mutex_lock(mutex)
        let (before, _) = state.add(2, ordering: .acquiringAndReleasing)
        if before & 1 == 0 {
            // Given back meanwhile; nobody else can have it, since one that waits keeps others from taking it.
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
        while !turn.waitAWhile() {
            guard isCancelled() else { continue }
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            // It may have been handed over at the same moment.
            guard let place = waiting.firstIndex(of: turn) else { return true }
            waiting.remove(at: place)
            state.subtract(2, ordering: .acquiringAndReleasing)
            return false
        }
        // Whoever handed it over may not be done with the semaphore before it lets go of the mutex.
        pthread_mutex_lock(mutex)
        pthread_mutex_unlock(mutex)
        return true
    }

    private func handOver() {
        pthread_mutex_lock(mutex)
        state.subtract(2, ordering: .acquiringAndReleasing)
        sem_post(waiting.removeFirst())
        pthread_mutex_unlock(mutex)
    }
}

extension UnsafeMutablePointer<sem_t> {
    /// Waits for a semaphore 20 milliseconds at most; false when it was not posted.
    package func waitAWhile() -> Bool { platform_wait(self, 20_000_000) }
}
