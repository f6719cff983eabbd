import CPlatform
import Glibc
import Synchronization

/// The thread that ends idle read transactions of a store's connections. It sleeps while there are none.
final class ReadReaper: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private let sleeps = Atomic(true)
    private var thread: pthread_t?
    private var isStopping = false
    /// Ends what is idle; whether anything is left that it will have to look at again. Set before the first read.
    var endIdle: () -> Bool = { false }

    private static let patience = 50

    init() {
        pthread_mutex_init(mutex, nil)
        var kind = pthread_condattr_t()
        pthread_condattr_init(&kind)
        pthread_condattr_setclock(&kind, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &kind)
        pthread_condattr_destroy(&kind)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// To be called before a transaction begins; false when nobody would end it.
    func begin() -> Bool { sleeps.load(ordering: .relaxed) ? wake() : true }

    private func wake() -> Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        guard !isStopping, thread != nil || start() else { return false }
        sleeps.store(false, ordering: .relaxed)
        pthread_cond_signal(condition)
        return true
    }

    private func start() -> Bool {
        var thread = pthread_t()
        let context = Unmanaged.passRetained(self)
        let code = pthread_create(
            &thread, nil,
            { context in
                if let context { Unmanaged<ReadReaper>.fromOpaque(context).takeRetainedValue().run() }
                return nil
            }, context.toOpaque())
        guard code == 0 else {
            context.release()
            return false
        }
        self.thread = thread
        return true
    }

    /// Ends the thread. No connection may be in the caller's hands.
    func stop() {
        pthread_mutex_lock(mutex)
        isStopping = true
        sleeps.store(true, ordering: .relaxed)
        let thread = thread
        self.thread = nil
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
        // After a fork the thread is the parent's.
        if let thread, !platform_is_forked() { pthread_join(thread, nil) }
    }

    private func run() {
        pthread_mutex_lock(mutex)
        var idleRounds = 0
        while !isStopping {
            if idleRounds >= 20 {
                sleeps.store(true, ordering: .relaxed)
                // Whoever took a connection before that may not have seen it.
                pthread_mutex_unlock(mutex)
                let isNeeded = endIdle()
                pthread_mutex_lock(mutex)
                if isNeeded { sleeps.store(false, ordering: .relaxed) }
                while !isStopping, sleeps.load(ordering: .relaxed) { pthread_cond_wait(condition, mutex) }
                idleRounds = 0
                continue
            }
            wait(milliseconds: ReadReaper.patience)
            pthread_mutex_unlock(mutex)
            idleRounds = endIdle() ? 0 : idleRounds + 1
            pthread_mutex_lock(mutex)
        }
        pthread_mutex_unlock(mutex)
    }

    private func wait(milliseconds: Int) {
        var deadline = timespec()
        clock_gettime(CLOCK_MONOTONIC, &deadline)
        let nanoseconds = deadline.tv_nsec + milliseconds % 1000 * 1_000_000
        deadline.tv_sec += milliseconds / 1000 + nanoseconds / 1_000_000_000
        deadline.tv_nsec = nanoseconds % 1_000_000_000
        pthread_cond_timedwait(condition, mutex, &deadline)
    }
}
