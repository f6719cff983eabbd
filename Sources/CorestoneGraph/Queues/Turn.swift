import CPlatform
import Glibc

/// A semaphore on which one thread waits for another one.
final class Turn: @unchecked Sendable {
    let thread = platform_thread_id()
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    /// Whether the semaphore was posted. Read with the mutex of a queue.
    private(set) var isSignalled = false

    init() { sem_init(semaphore, 0, 0) }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func signal() {
        isSignalled = true
        sem_post(semaphore)
    }

    func wait() { while sem_wait(semaphore) != 0 {} }

    /// Waits at most `nanoseconds` of the monotonic clock. Returns false after the time-out.
    func wait(nanoseconds: UInt64) -> Bool { platform_wait(semaphore, nanoseconds) }
}
