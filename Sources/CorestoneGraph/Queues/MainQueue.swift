import CPlatform
import CorestoneValues
import Glibc

/// The queue of main contexts. Linux has no main run loop: the host says which thread is the main one, and drains the queue
/// there; a descriptor tells its event loop when.
public enum MainQueue {
    private final class State: @unchecked Sendable {
        let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        let arrived = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
        var thread: UInt64 = 0
        var work = Line<() -> Void>()
        /// How many pieces of work ever came, how many left, and how many had come when it was last drained.
        var added = 0, taken = 0, limit = 0
        /// Whether the main thread runs what comes while it waits for something else.
        var isServed = false
        /// Readable while work waits; -1 until somebody asks for it.
        var descriptor: Int32 = -1
        /// Called when work comes to an empty queue.
        var wake: (@Sendable () -> Void)?

        init() {
            pthread_mutex_init(mutex, nil)
            var attributes = pthread_condattr_t()
            pthread_condattr_init(&attributes)
            pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
            pthread_cond_init(arrived, &attributes)
            pthread_condattr_destroy(&attributes)
        }

        func with<Result>(_ body: () throws -> Result) rethrows -> Result {
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            return try body()
        }
    }

    private static let state = State()

    /// The main thread; 0 when none is bound.
    package static var boundThread: UInt64 { state.with { state.thread } }

    /// The thread that has to go on before work of the main queue runs; 0 when nobody keeps it from that.
    static var holder: UInt64 { state.with { state.isServed ? 0 : state.thread } }

    /// Makes the calling thread the main one. A thread stays it until it ends.
    public static func bind() throws {
        try state.with {
            let current = platform_thread_id()
            guard state.thread == 0 || state.thread == current || !threadIsAlive(state.thread) else {
                throw CoreError(
                    .wrongThread,
                    "the main queue is already bound to \(nameOfThread(state.thread)) and cannot be bound to \(nameOfThread(current)); "
                        + "bind it again after that thread has ended")
            }
            state.thread = current
        }
    }

    /// Makes the thread on which the process began the main one, if it is the calling one and no thread is yet.
    package static func bindFirstThread() {
        let current = platform_thread_id()
        guard platform_thread_number(current) == UInt32(bitPattern: getpid()) else { return }
        state.with { if state.thread == 0 { state.thread = current } }
    }

    /// Runs what waits; waits up to `timeoutMilliseconds` for something (0: not at all, below: for ever). Returns how many
    /// pieces of work ran.
    public static func drain(timeoutMilliseconds: Int32) throws -> Int {
        let bound = boundThread
        guard bound == platform_thread_id() else {
            throw CoreError(
                .wrongThread,
                bound == 0
                    ? "the main queue is not bound to a thread; call cst_main_queue_bind (main_queue.bind) first"
                    : threadIsAlive(bound)
                        ? "only the main thread, \(nameOfThread(bound)), can drain the main queue"
                        : "the main queue is bound to \(nameOfThread(bound)); call cst_main_queue_bind (main_queue.bind) "
                            + "on this thread first")
        }
        // The work may be to lend a context to another thread, which needs the store.
        try Coordinator.requireNoStoreInUse("drain the main queue")
        waitForWork(timeoutMilliseconds)
        // What the work itself enqueues waits for the next drain, so that a drain always ends. What it drains itself, it takes from
        // this one.
        let limit = state.with {
            state.limit = state.added
            clearSignal()
            return state.limit
        }
        var count = 0
        while let work = next(before: limit) {
            work()
            count += 1
        }
        return count
    }

    private static func next(before limit: Int) -> (() -> Void)? {
        state.with {
            guard state.taken < limit, let work = state.work.first else { return nil }
            state.work.removeFirst()
            state.taken += 1
            return work
        }
    }

    /// On the main thread: does what the queue of a context was given, and meanwhile what comes to the main queue, since one may
    /// wait for the other.
    /// - Throws: code 132000 when the wait would never end; `.noMemory` when the system gives no thread.
    static func serve(whileWaitingFor queue: SerialQueue, _ whose: ContextLabel) throws {
        guard !queue.isIdle else { return }
        let isDone = Flag()
        try queue.enqueue(isGuest: true) { MainQueue.enqueue { isDone.isSet = true } }
        while !isDone.isSet {
            try Waits.whileWaiting(for: .queue(queue), whose, serves: true) { waitForWork(1000) }
            _ = try drain(timeoutMilliseconds: 0)
        }
    }

    /// Whether those who wait for the main queue wait for nobody. With the lock of `Waits`.
    static func setServed(_ isServed: Bool) { state.with { state.isServed = isServed } }

    /// Of the main thread alone.
    private final class Flag: @unchecked Sendable {
        var isSet = false
    }

    private static func waitForWork(_ timeout: Int32) {
        if timeout == 0 { return }
        var deadline = timespec()
        clock_gettime(CLOCK_MONOTONIC, &deadline)
        let nanoseconds = deadline.tv_nsec + Int(max(timeout, 0) % 1000) * 1_000_000
        deadline.tv_sec += Int(max(timeout, 0) / 1000) + nanoseconds / 1_000_000_000
        deadline.tv_nsec = nanoseconds % 1_000_000_000
        state.with {
            while state.work.isEmpty {
                if timeout < 0 {
                    pthread_cond_wait(state.arrived, state.mutex)
                } else if pthread_cond_timedwait(state.arrived, state.mutex, &deadline) != 0 {
                    return
                }
            }
        }
    }

    /// A descriptor that is readable while work waits.
    public static func descriptor() throws -> Int32 {
        try state.with {
            if state.descriptor >= 0 { return state.descriptor }
            let descriptor = platform_event_new()
            guard descriptor >= 0 else {
                throw CoreError(
                    .noMemory,
                    "cannot create a descriptor for the main queue: \(StorePlace.text(of: errno)); close other files, or raise the limit of open files (ulimit -n)"
                )
            }
            state.descriptor = descriptor
            if !state.work.isEmpty { signal() }
            return descriptor
        }
    }

    /// Has `wake` called, on any thread, when work comes to the empty queue, for a host whose loop is better told than asked.
    /// It has to see to a `drain` on the main thread, and is called once for what waits already.
    public static func setWaker(_ wake: (@Sendable () -> Void)?) {
        let waits = state.with {
            state.wake = wake
            return !state.work.isEmpty
        }
        if waits { wake?() }
    }

    static func enqueue(_ work: @escaping () -> Void) {
        let wake = state.with {
            let isFirst = state.added == state.limit
            state.work.append(work)
            state.added += 1
            signal()
            pthread_cond_broadcast(state.arrived)
            return isFirst ? state.wake : nil
        }
        wake?()
    }

    private static func signal() {
        if state.descriptor >= 0 { platform_event_signal(state.descriptor) }
    }

    private static func clearSignal() {
        if state.descriptor >= 0 { platform_event_clear(state.descriptor) }
    }
}
