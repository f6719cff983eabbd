import CPlatform
import Glibc

/// A semaphore on which one thread waits for another one.
final class Turn: @unchecked Sendable {
    let thread = platform_thread_id()
    private let given = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    /// Whether the semaphore was posted. Read with the mutex of a queue.
    private(set) var isGiven = false

    init() { sem_init(given, 0, 0) }

    deinit {
        sem_destroy(given)
        given.deallocate()
    }

    func give() {
        isGiven = true
        sem_post(given)
    }

    func wait() { while sem_wait(given) != 0 {} }

    /// Waits at most `nanoseconds` of the monotonic clock. Returns false after the time-out.
    func wait(nanoseconds: UInt64) -> Bool { platform_wait(given, nanoseconds) }
}
