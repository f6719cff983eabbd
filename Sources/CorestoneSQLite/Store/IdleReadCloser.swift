import CPlatform
import CorestoneValues
import Glibc
import Synchronization

/// A closer of the idle read transactions of a store's connections.
///
/// One thread (`ReaperThread`) ends these transactions for all stores of the process. It runs while a store has open
/// transactions, and about two seconds longer.
final class IdleReadCloser: @unchecked Sendable {
    /// Ends idle transactions, and returns whether open transactions are left. Set before the first read.
    var endIdle: () -> Bool = { false }

    /// Whether the thread ignores the store. Set to false only under the thread's mutex.
    fileprivate let sleeps = Atomic(true)
    // Protected by the thread's mutex.
    fileprivate var idleRounds = 0
    fileprivate var isStopped = false

    /// Prepares for a transaction that begins next. Returns false if no thread can be started to end the transaction.
    func begin() -> Bool { sleeps.load(ordering: .relaxed) ? wake() : true }

    private func wake() -> Bool {
        ReaperThread.shared.withMutex {
            guard !isStopped, ReaperThread.shared.look(after: self) else { return false }
            sleeps.store(false, ordering: .relaxed)
            return true
        }
    }

    /// Stops ending transactions of the store. The caller must not have acquired a connection.
    func stop() {
        // After a fork, the thread does not exist in the child, and the mutex may be locked.
        if platform_is_forked() { return }
        ReaperThread.shared.withMutex {
            isStopped = true
            sleeps.store(true, ordering: .relaxed)
            ReaperThread.shared.forget(self)
        }
    }
}

/// The thread of all `IdleReadCloser`s.
private final class ReaperThread: @unchecked Sendable {
    static let shared = ReaperThread()
    /// The number of rounds without open transactions after which a store is ignored.
    private static let idleRounds = 20

    private static let roundNanoseconds: UInt64 = 50_000_000
    /// The number of rounds without stores after which the thread ends.
    private static let patience = 20

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    // Protected by the mutex.
    private var awake: [IdleReadCloser] = []
    private var current: IdleReadCloser?
    private var number: UInt64 = 0
    private var isRunning = false

    private init() {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    func withMutex<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    /// Watches a store. Returns false if the thread cannot be started. Must be called under the mutex.
    func look(after reaper: IdleReadCloser) -> Bool {
        if !isRunning { isRunning = start() }
        guard isRunning else { return false }
        reaper.idleRounds = 0
        if !awake.contains(where: { $0 === reaper }) { awake.append(reaper) }
        return true
    }

    /// Stops watching a store, and waits until the thread does not use it. Must be called under the mutex.
    func forget(_ reaper: IdleReadCloser) {
        awake.removeAll { $0 === reaper }
        while current === reaper, number != platform_thread_id() { pthread_cond_wait(condition, mutex) }
    }

    private func start() -> Bool {
        platform_start_thread(
            { _ in
                ReaperThread.shared.run()
                return nil
            }, nil) == 0
    }

    private func run() {
        withMutex { number = platform_thread_id() }
        var unneeded = 0
        while true {
            platform_sleep(ReaperThread.roundNanoseconds)
            let isNeeded = withMutex { () -> Bool in
                for reaper in awake where !reaper.isStopped { look(at: reaper) }
                unneeded = awake.isEmpty ? unneeded + 1 : 0
                if unneeded == ReaperThread.patience { isRunning = false }
                return isRunning
            }
            if !isNeeded { return }
        }
    }

    /// Examines a store. Must be called under the mutex, which is released while the store ends its transactions.
    private func look(at reaper: IdleReadCloser) {
        current = reaper
        defer {
            current = nil
            pthread_cond_broadcast(condition)
        }
        if ask(reaper) {
            reaper.idleRounds = 0
            return
        }
        reaper.idleRounds += 1
        if reaper.idleRounds < ReaperThread.idleRounds { return }
        reaper.sleeps.store(true, ordering: .relaxed)
        // A thread that began a transaction just before may have read the former value of `sleeps`.
        if ask(reaper), !reaper.isStopped { reaper.sleeps.store(false, ordering: .relaxed) }
        if reaper.sleeps.load(ordering: .relaxed) { awake.removeAll { $0 === reaper } }
    }

    private func ask(_ reaper: IdleReadCloser) -> Bool {
        pthread_mutex_unlock(mutex)
        defer { pthread_mutex_lock(mutex) }
        return withCallScope(reaper.endIdle)
    }
}
