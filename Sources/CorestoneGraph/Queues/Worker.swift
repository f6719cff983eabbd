import CPlatform
import CorestoneValues
import Glibc
import Synchronization

/// A thread of the pool. Members are used with the pool's mutex unless stated otherwise.
final class Worker: @unchecked Sendable {
    /// The work of a worker.
    enum Job {
        case serve(SerialQueue)
        /// The watch; see `Workers.runWatch`.
        case watch
    }

    /// The next job, which the thread removes when it begins the job.
    var job: Job?
    /// Whether the worker serves a queue.
    var isServing = false
    /// The queue that the worker serves; used only by its own thread.
    var queue: SerialQueue?
    /// The number of nested waits. Another worker may run during them.
    var waits = 0
    /// Whether another worker may run in its place, because the worker sleeps for an unknown reason.
    var isStalled = false
    /// The thread's ID; 0 until it runs.
    let number = Atomic<UInt64>(0)
    /// The number of blocks that the worker has completed. Written by its own thread, read by the watch.
    let ended = Atomic<Int>(0)
    var lastSample = Sample()
    /// The thread's name in the system, before truncation. Used with the mutex of the served queue.
    private var name = ""
    private let called = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    /// The state of a worker at the last round of the watch.
    struct Sample {
        var round = 0
        var ended = 0
        /// The processor time in nanoseconds.
        var time: UInt64 = 0
        /// The number of rounds for which the worker has been running the same block.
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

    /// Whether the worker counts as running.
    var isActive: Bool { isServing && waits == 0 && !isStalled }

    /// Wakes an idle thread.
    func call() { sem_post(called) }

    /// Waits for a call. Returns false after the time-out.
    func waitForCall(nanoseconds: UInt64) -> Bool { platform_wait(called, nanoseconds) }

    func takeJob() -> Job? {
        defer { job = nil }
        return job
    }

    /// Sets the name of the thread to a context's name, which the system may truncate.
    func setThreadName(_ label: ContextLabel) {
        let newName = label.name ?? "corestone"
        if newName == name { return }
        name = newName
        // The system stores 15 bytes. Characters that do not fit are omitted.
        var short = newName
        while short.utf8.count > 15 { short.removeLast() }
        platform_set_thread_name(number.load(ordering: .relaxed), short)
    }

    func noteEnd() { ended.store(ended.load(ordering: .relaxed) &+ 1, ordering: .relaxed) }

    /// The worker of the calling thread; nil for other threads.
    static var own: Worker? {
        platform_worker().map { Unmanaged<Worker>.fromOpaque($0).takeUnretainedValue() }
    }
}
