import CPlatform
import CorestoneValues
import Glibc
import Synchronization

/// A closer of the idle read transactions of a store's connections.
///
/// One thread (`ReadCloserThread`) ends these transactions for all stores of the process. It runs while a store has
/// open transactions, and about two seconds longer.
final class IdleReadCloser: @unchecked Sendable {
    /// Ends idle transactions, and returns whether a transaction may still be open. Set before the first read.
    var endIdleReads: () -> Bool = { false }

    /// Whether the thread ignores the store. Set to false only under the thread's mutex.
    fileprivate let isIgnored = Atomic(true)
    // Protected by the thread's mutex.
    fileprivate var idleRounds = 0
    fileprivate var isStopped = false

    /// Prepares for a transaction that begins next.
    ///
    /// - Returns: False after `stop`, or if no thread can be started to end the transaction.
    func begin() -> Bool { isIgnored.load(ordering: .relaxed) ? startWatching() : true }

    private func startWatching() -> Bool {
        ReadCloserThread.shared.withMutex {
            guard !isStopped, ReadCloserThread.shared.watch(self) else { return false }
            isIgnored.store(false, ordering: .relaxed)
            return true
        }
    }

    /// Stops ending transactions of the store. The caller must not have acquired a connection.
    func stop() {
        // After a fork, the thread does not exist in the child, and the mutex may be locked.
        if platform_is_forked() { return }
        ReadCloserThread.shared.withMutex {
            isStopped = true
            isIgnored.store(true, ordering: .relaxed)
            ReadCloserThread.shared.unwatch(self)
        }
    }
}

/// The thread of all `IdleReadCloser`s.
private final class ReadCloserThread: @unchecked Sendable {
    static let shared = ReadCloserThread()
    /// The number of rounds without open transactions after which a store is ignored.
    private static let idleRounds = 20

    private static let roundNanoseconds: UInt64 = 50_000_000
    /// The number of rounds without stores after which the thread ends.
    private static let emptyRounds = 20

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    // Protected by the mutex.
    private var watched: [IdleReadCloser] = []
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
    func watch(_ readCloser: IdleReadCloser) -> Bool {
        if !isRunning { isRunning = start() }
        guard isRunning else { return false }
        readCloser.idleRounds = 0
        if !watched.contains(where: { $0 === readCloser }) { watched.append(readCloser) }
        return true
    }

    /// Stops watching a store, and waits until the thread does not use it. Must be called under the mutex.
    func unwatch(_ readCloser: IdleReadCloser) {
        watched.removeAll { $0 === readCloser }
        while current === readCloser, number != platform_thread_id() { pthread_cond_wait(condition, mutex) }
    }

    private func start() -> Bool {
        platform_start_thread(
            { _ in
                ReadCloserThread.shared.run()
                return nil
            }, nil) == 0
    }

    private func run() {
        withMutex { number = platform_thread_id() }
        var unneeded = 0
        while true {
            platform_sleep(ReadCloserThread.roundNanoseconds)
            let isNeeded = withMutex { () -> Bool in
                for readCloser in watched where !readCloser.isStopped { closeIdleReads(of: readCloser) }
                unneeded = watched.isEmpty ? unneeded + 1 : 0
                if unneeded == ReadCloserThread.emptyRounds { isRunning = false }
                return isRunning
            }
            if !isNeeded { return }
        }
    }

    /// Examines a store. Must be called under the mutex, which is released while the store ends its transactions.
    private func closeIdleReads(of readCloser: IdleReadCloser) {
        current = readCloser
        defer {
            current = nil
            pthread_cond_broadcast(condition)
        }
        if endIdleReads(of: readCloser) {
            readCloser.idleRounds = 0
            return
        }
        readCloser.idleRounds += 1
        if readCloser.idleRounds < ReadCloserThread.idleRounds { return }
        readCloser.isIgnored.store(true, ordering: .relaxed)
        // A thread that began a transaction just before may have read the former value of `isIgnored`.
        if endIdleReads(of: readCloser), !readCloser.isStopped { readCloser.isIgnored.store(false, ordering: .relaxed) }
        if readCloser.isIgnored.load(ordering: .relaxed) { watched.removeAll { $0 === readCloser } }
    }

    private func endIdleReads(of readCloser: IdleReadCloser) -> Bool {
        pthread_mutex_unlock(mutex)
        defer { pthread_mutex_lock(mutex) }
        return withCallScope(readCloser.endIdleReads)
    }
}
