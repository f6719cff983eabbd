import CPlatform
import CorestoneValues
import Glibc
import Synchronization

/// Ends the idle read transactions of a store's connections. One thread does this for all stores of the process
/// (`ReaperThread`); it runs only while a store has open transactions.
final class ReadReaper: @unchecked Sendable {
    /// Ends what is idle; whether anything is left that has to be looked at again. Set before the first read.
    var endIdle: () -> Bool = { false }

    /// Whether the thread leaves the store alone. Becomes false with the thread's mutex only.
    fileprivate let sleeps = Atomic(true)
    // With the thread's mutex.
    fileprivate var idleRounds = 0
    fileprivate var isStopped = false

    /// To be called before a transaction begins; false when there is no thread to end it.
    func begin() -> Bool { sleeps.load(ordering: .relaxed) ? wake() : true }

    private func wake() -> Bool {
        ReaperThread.shared.withMutex {
            guard !isStopped, ReaperThread.shared.look(after: self) else { return false }
            sleeps.store(false, ordering: .relaxed)
            return true
        }
    }

    /// Nothing is ended after this. No connection may be in the caller's hands.
    func stop() {
        // After a fork the thread is the parent's, and so may be its mutex.
        if platform_is_forked() { return }
        ReaperThread.shared.withMutex {
            isStopped = true
            sleeps.store(true, ordering: .relaxed)
            ReaperThread.shared.forget(self)
        }
    }
}

/// The thread of all `ReadReaper`s.
private final class ReaperThread: @unchecked Sendable {
    static let shared = ReaperThread()
    /// How often a store is looked at in vain before it is left alone.
    private static let idleRounds = 20

    private static let roundNanoseconds: UInt64 = 50_000_000
    /// For how many rounds it waits for a store, once it has none.
    private static let patience = 20

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    // With the mutex.
    private var awake: [ReadReaper] = []
    private var current: ReadReaper?
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

    /// False when there is no thread, and the system gives none. With the mutex.
    func look(after reaper: ReadReaper) -> Bool {
        if !isRunning { isRunning = start() }
        guard isRunning else { return false }
        reaper.idleRounds = 0
        if !awake.contains(where: { $0 === reaper }) { awake.append(reaper) }
        return true
    }

    /// With the mutex; waits until the thread is done with it.
    func forget(_ reaper: ReadReaper) {
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

    /// With the mutex, which others have while the store is asked.
    private func look(at reaper: ReadReaper) {
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
        // A reader that began a transaction before that may not have seen it.
        if ask(reaper), !reaper.isStopped { reaper.sleeps.store(false, ordering: .relaxed) }
        if reaper.sleeps.load(ordering: .relaxed) { awake.removeAll { $0 === reaper } }
    }

    private func ask(_ reaper: ReadReaper) -> Bool {
        pthread_mutex_unlock(mutex)
        defer { pthread_mutex_lock(mutex) }
        return asCall(reaper.endIdle)
    }
}
