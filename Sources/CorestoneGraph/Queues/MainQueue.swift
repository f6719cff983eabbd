import CPlatform
import CorestoneFileSystem
import CorestoneValues
import Glibc

/// The queue of main contexts.
///
/// Linux does not have a main run loop, so the application binds a thread as the main thread and drains the queue
/// there. A descriptor notifies the application's event loop of waiting blocks.
public enum MainQueue {
    private final class State: @unchecked Sendable {
        let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        let arrived = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
        var thread: UInt64 = 0
        var work = FIFOQueue<() -> Void>()
        /// The numbers of blocks that were queued, that were removed, and that had been queued at the last drain.
        var added = 0, taken = 0, limit = 0
        /// Whether the main thread runs queued blocks while it waits for another queue.
        var isServed = false
        /// The descriptor, which is readable while blocks wait; -1 until it is requested.
        var descriptor: Int32 = -1
        /// The function that is called when the first block is queued after a drain has begun.
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

    /// The ID of the main thread; 0 if no thread is bound.
    package static var boundThread: UInt64 { state.with { state.thread } }

    /// The ID of the thread that must continue before queued blocks can run; 0 if no thread blocks them.
    static var holder: UInt64 { state.with { state.isServed ? 0 : state.thread } }

    /// Binds the calling thread as the main thread. Idempotent.
    ///
    /// Another thread can be bound only after this thread has ended.
    ///
    /// - Throws: `.wrongThread` if another thread is bound and has not ended.
    public static func bind() throws {
        try state.with {
            let current = platform_thread_id()
            guard state.thread == 0 || state.thread == current || !threadIsAlive(state.thread) else {
                throw CoreError(
                    .wrongThread,
                    "the main queue is bound to \(nameOfThread(state.thread)) and cannot be bound to \(nameOfThread(current)); call "
                        + "cst_main_queue_bind (main_queue.bind, MainQueue.bind) after "
                        + "\(nameOfThread(state.thread)) has ended")
            }
            state.thread = current
        }
    }

    /// Binds the initial thread of the process as the main thread, if it is the calling thread and no thread is bound.
    package static func bindFirstThread() {
        let current = platform_thread_id()
        guard platform_thread_number(current) == UInt32(bitPattern: getpid()) else { return }
        state.with { if state.thread == 0 { state.thread = current } }
    }

    /// Runs the waiting blocks.
    ///
    /// - Parameter timeoutMilliseconds: The longest wait for the first block; 0 does not wait, a negative value waits
    ///   indefinitely.
    /// - Returns: The number of blocks that ran.
    /// - Throws: `.wrongThread` if the calling thread is not the main thread.
    ///   `.invalidArgument` during a fetch, a save or a coordinator's perform.
    public static func drain(timeoutMilliseconds: Int32) throws -> Int {
        let (bound, current) = (boundThread, platform_thread_id())
        guard bound == current else {
            guard bound != 0 else {
                throw CoreError(
                    .wrongThread,
                    "the main queue is not bound to a thread; call cst_main_queue_bind (main_queue.bind, "
                        + "MainQueue.bind) first")
            }
            let (user, owner) = (nameOfThread(current), nameOfThread(bound))
            throw CoreError(
                .wrongThread,
                threadIsAlive(bound)
                    ? "the main queue is bound to \(owner) and cannot be drained on \(user); call "
                        + "cst_main_queue_drain (main_queue.drain, MainQueue.drain) on \(owner)"
                    : "the main queue is bound to \(owner); call cst_main_queue_bind (main_queue.bind, "
                        + "MainQueue.bind) on \(user) first")
        }
        // A block may lend a context to another thread. That thread would wait for the lock of the store that this
        // thread holds.
        try Coordinator.requireNoStoreInUse("drain the main queue")
        waitForWork(timeoutMilliseconds)
        // Blocks that are queued meanwhile wait for the next drain, so that the number of blocks is limited. A nested
        // drain also runs the blocks that this drain has not run yet.
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

    /// Waits, on the main thread, until a context's queue has run its blocks.
    ///
    /// The call runs blocks of the main queue in the meantime, because blocks of the two queues may wait for each
    /// other.
    ///
    /// - Throws: Code 132000 if the wait would be a deadlock.
    ///   `.noMemory` if no thread can be created.
    static func serve(whileWaitingFor queue: SerialQueue, _ label: ContextLabel) throws {
        guard !queue.isIdle else { return }
        let isDone = Flag()
        try queue.enqueue(isFromApplication: true) { MainQueue.enqueue { isDone.isSet = true } }
        while !isDone.isSet {
            try WaitGraph.whileWaiting(for: .queue(queue), label, serves: true) { waitForWork(1000) }
            _ = try drain(timeoutMilliseconds: 0)
        }
    }

    /// Sets whether the main thread runs blocks while it waits.
    ///
    /// If it does, threads that wait for the main queue do not count as waiting for the main thread. Must be called
    /// with the lock of `WaitGraph`.
    static func setServed(_ isServed: Bool) { state.with { state.isServed = isServed } }

    /// A flag that only the main thread uses.
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

    /// Returns a descriptor that is readable while blocks wait for a drain. The library owns the descriptor.
    ///
    /// - Throws: `.noMemory` if the system cannot create a descriptor.
    public static func descriptor() throws -> Int32 {
        try state.with {
            if state.descriptor >= 0 { return state.descriptor }
            let descriptor = platform_event_new()
            guard descriptor >= 0 else {
                let error = SystemError.last
                throw CoreError(
                    .noMemory,
                    "cannot create an event descriptor for the main queue: \(error.text)"
                        + error.remedyForDescriptors)
            }
            state.descriptor = descriptor
            if !state.work.isEmpty { signal() }
            return descriptor
        }
    }

    /// Sets a function that is called, on any thread, when the first block is queued after a drain has begun.
    ///
    /// The function is for event loops that cannot poll a descriptor, and must cause a `drain` on the main thread. If
    /// blocks are already waiting, the function is called once immediately.
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
