import CPlatform
import CorestoneValues
import Glibc
import Synchronization

/// A thread of the pool. What is not said to be its own is used with the pool's mutex.
final class Worker: @unchecked Sendable {
    enum Job {
        case serve(SerialQueue)
        /// See `Workers.keepWatch`.
        case watch
    }

    /// Given to a thread that has none, and taken by it.
    var job: Job?
    /// Whether it serves a queue.
    var isServing = false
    /// The queue that it serves, while it does. Its thread's own.
    var queue: SerialQueue?
    /// How many waits it is in; its place is another one's meanwhile.
    var waits = 0
    /// Whether somebody else has its place, since it sleeps without our knowing why.
    var isStalled = false
    /// The number of it; 0 until it runs.
    let number = Atomic<UInt64>(0)
    /// How many pieces of work it ended. Its own, read by the watch.
    let ended = Atomic<Int>(0)
    var seen = Seen()
    /// The name that the system has for it. With the mutex of the queue that it serves.
    private var name = ""
    private let called = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    /// What the watch saw of it.
    struct Seen {
        var round = 0
        var ended = 0
        /// Nanoseconds on a processor.
        var time: UInt64 = 0
        /// For how many rounds it is at the same piece of work.
        var age = 0
    }

    init(_ job: Job?) {
        self.job = job
        sem_init(called, 0, 0)
    }

    deinit {
        sem_destroy(called)
        called.deallocate()
    }

    /// Whether it may go on with work.
    var isActive: Bool { isServing && waits == 0 && !isStalled }

    /// Wakes a thread that has none to do.
    func call() { sem_post(called) }

    /// False when nobody called for so long.
    func waitForCall(nanoseconds: UInt64) -> Bool { platform_wait(called, nanoseconds) }

    func takeJob() -> Job? {
        defer { job = nil }
        return job
    }

    /// Has the thread bear a context's name, as far as the system keeps it.
    func take(_ label: ContextLabel) {
        let wanted = label.name ?? "corestone"
        if wanted == name { return }
        name = wanted
        // The system keeps 15 bytes; a character that does not fit is left out.
        var short = wanted
        while short.utf8.count > 15 { short.removeLast() }
        platform_set_thread_name(number.load(ordering: .relaxed), short)
    }

    func noteEnd() { ended.store(ended.load(ordering: .relaxed) &+ 1, ordering: .relaxed) }

    /// The one that the calling thread is; nil for a thread of the host's.
    static var own: Worker? {
        platform_worker().map { Unmanaged<Worker>.fromOpaque($0).takeUnretainedValue() }
    }
}
