import CPlatform
import CorestoneValues
import Glibc

/// Runs one piece of work at a time, in order of arrival: waiting callers on their own threads, the rest on a worker thread
/// that ends when it has been idle for a while.
final class SerialQueue: @unchecked Sendable {
    private enum Entry {
        case work(() -> Void)
        /// A caller that waits for its turn.
        case turn(UInt64)
    }

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var entries: [Entry] = []
    private var isBusy = false
    private var hasWorker = false
    private var lastTurn: UInt64 = 0

    private static let idleSeconds = 2

    init() {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(changed, nil)
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        changed.deallocate()
        mutex.deallocate()
    }

    /// Runs `work` later.
    func enqueue(_ work: @escaping () -> Void) throws {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        if !hasWorker { try startWorker() }
        entries.append(.work(work))
        pthread_cond_broadcast(changed)
    }

    /// Runs `body` on the caller's thread when its turn comes.
    func run<Result>(_ body: () throws -> Result) rethrows -> Result {
        pthread_mutex_lock(mutex)
        lastTurn += 1
        let turn = lastTurn
        entries.append(.turn(turn))
        while !isTurn(turn) { pthread_cond_wait(changed, mutex) }
        entries.removeFirst()
        isBusy = true
        pthread_mutex_unlock(mutex)
        defer { finish() }
        return try body()
    }

    private func isTurn(_ turn: UInt64) -> Bool {
        if isBusy { return false }
        if case .turn(turn) = entries.first { return true }
        return false
    }

    private func finish() {
        pthread_mutex_lock(mutex)
        isBusy = false
        pthread_cond_broadcast(changed)
        pthread_mutex_unlock(mutex)
    }

    private func startWorker() throws {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        defer { pthread_attr_destroy(&attributes) }
        var thread = pthread_t()
        let box = Unmanaged.passRetained(self)
        let result = pthread_create(
            &thread, &attributes,
            { argument in
                if let argument { Unmanaged<SerialQueue>.fromOpaque(argument).takeRetainedValue().work() }
                return nil
            }, box.toOpaque())
        guard result == 0 else {
            box.release()
            throw CoreError(.noMemory, "the system gives no thread for the queue of a context (error \(result))")
        }
        hasWorker = true
    }

    /// The worker: takes work when its turn comes, ends after a while without any.
    private func work() {
        pthread_mutex_lock(mutex)
        while true {
            if !isBusy, case .work(let work) = entries.first {
                entries.removeFirst()
                isBusy = true
                pthread_mutex_unlock(mutex)
                work()
                finish()
                pthread_mutex_lock(mutex)
                continue
            }
            if !waitForChange() {
                if entries.isEmpty { break }
            }
        }
        hasWorker = false
        pthread_mutex_unlock(mutex)
    }

    /// False when nothing changed for the idle time.
    private func waitForChange() -> Bool {
        var deadline = timespec()
        clock_gettime(CLOCK_REALTIME, &deadline)
        deadline.tv_sec += SerialQueue.idleSeconds
        return pthread_cond_timedwait(changed, mutex, &deadline) == 0
    }
}
