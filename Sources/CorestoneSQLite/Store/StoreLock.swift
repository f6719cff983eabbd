import Glibc

/// The lock that every entry point of a store takes, with a condition for its reaper thread. A thread may take it
/// again.
final class StoreLock: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    init() {
        var mutexKind = pthread_mutexattr_t()
        pthread_mutexattr_init(&mutexKind)
        pthread_mutexattr_settype(&mutexKind, Int32(PTHREAD_MUTEX_RECURSIVE))
        pthread_mutex_init(mutex, &mutexKind)
        pthread_mutexattr_destroy(&mutexKind)
        var conditionKind = pthread_condattr_t()
        pthread_condattr_init(&conditionKind)
        pthread_condattr_setclock(&conditionKind, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &conditionKind)
        pthread_condattr_destroy(&conditionKind)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    @inline(__always) func lock() { pthread_mutex_lock(mutex) }
    @inline(__always) func unlock() { pthread_mutex_unlock(mutex) }

    func signal() { pthread_cond_signal(condition) }
    /// Waits without the lock, then has it again.
    func wait() { pthread_cond_wait(condition, mutex) }
    func wait(milliseconds: Int) {
        var deadline = timespec()
        clock_gettime(CLOCK_MONOTONIC, &deadline)
        let nanoseconds = deadline.tv_nsec + milliseconds % 1000 * 1_000_000
        deadline.tv_sec += milliseconds / 1000 + nanoseconds / 1_000_000_000
        deadline.tv_nsec = nanoseconds % 1_000_000_000
        pthread_cond_timedwait(condition, mutex, &deadline)
    }
}
