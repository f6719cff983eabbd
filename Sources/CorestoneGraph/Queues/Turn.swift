import CPlatform
import Glibc

/// A thread that waits for something that another one gives.
final class Turn: @unchecked Sendable {
    let thread = platform_thread_id()
    private let given = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    /// Asked for with the mutex of a queue.
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

    /// False when the time is up, by a clock that nobody sets.
    func wait(nanoseconds: UInt64) -> Bool { platform_wait(given, nanoseconds) }
}
