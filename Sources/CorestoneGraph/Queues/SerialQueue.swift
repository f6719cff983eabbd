import CPlatform
import CorestoneValues
import Glibc
import Synchronization

// How a thread or a block gets its turn. The queue's mutex guards `entries`; it is never held while a block runs. Lock
// order: the mutex of a queue, then the mutex of the pool. The lock of `WaitGraph` is not held while a thread waits.
//
// 1. A thread calls `acquire`, for `Context.runAndWait` or `Context.lock`. If the queue is free and has no entries,
//    `tryAcquire` stores the thread in `holder`. This is the usual case, in which neither `WaitGraph` nor the pool is
//    used.
// 2. Otherwise `acquire` adds a `Turn`, a semaphore of the thread, to `entries`. A queue that is being closed rejects
//    entries of the application, except those of the closing thread (`requireAdmission`, `.invalidHandle`).
// 3. `WaitGraph.whileWaiting` follows the chain of owners under its lock. A wait that would close a cycle fails with
//    code 132000; otherwise the wait is recorded. A thread that holds a lock of a store must not wait
//    (`Coordinator.requireNoStoreInUse`).
// 4. `Workers.whileWaiting` frees the slot of a waiting worker, so that another worker can run the blocks for which it
//    waits. It fails if no other worker is left (`isAnotherWorkerAvailable`).
// 5. The thread waits in `Turn.wait`, one second at a time. Between the waits it releases the queue of a thread that
//    has ended (`releaseIfHolderEnded`). If no thread is available for three seconds for the blocks before its entry
//    (`isStarved`), `acquire` fails with `WaitGraph.noThreadError`.
// 6. After any of these failures, `acquire` removes the entry. If the turn was signalled in the meantime, `acquire`
//    releases the queue to the next entry.
// 7. A block is added by `enqueue`, on any thread. `Workers.expectWork` first ensures that the pool has a worker; if no
//    thread can be created, the block is not added (`.noMemory`).
// 8. `release` and the end of `serve` call `serveNext` under the mutex. If the first entry is a turn, its thread
//    becomes `holder` before it wakes, so no other thread can acquire the queue in between. If the first entry is a
//    block, the queue is submitted to the pool (`Workers.submit`), once (`isSubmitted`).
// 9. `Workers.dispatch` assigns submitted queues to idle or new workers while fewer than `Workers.most` run. Other
//    queues stay in `Workers.ready`, in order.
// 10. A worker runs `serve`: it removes the blocks at the front one by one and runs each as `holder`, without the
//     mutex. It stops at a turn, or after `maximumConsecutiveBlocks` blocks if other queues wait, and calls
//     `serveNext`. Errors of a block are handled within it (`Context.performQueued`).
// 11. While queues wait for a worker, or blocks wait for a thread of the application, `Workers.runWatch` runs on a
//     worker ten times per second. It reassigns the slots of workers that sleep in application code, and releases the
//     queues of threads that have ended (`needsWatch`). If application code ends a worker's thread,
//     `Workers.removeEnded` calls `leave`.
// 12. After a fork, `release` and `serve` return in the child without using the mutex, which a thread that does not
//     exist there may hold.

/// A serial queue, in order of arrival.
///
/// Waiting callers run their blocks on their own threads. A thread of the pool runs the queued blocks.
final class SerialQueue: @unchecked Sendable {
    /// A waiting block or thread.
    private enum Entry {
        case work(() -> Void)
        case turn(Turn)
    }

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private var entries = FIFOQueue<Entry>()
    /// The number of queued blocks in `entries`.
    private var workCount = 0
    private let current = Atomic<UInt64>(0)
    /// Whether the queue is submitted to the pool, and no worker serves it yet.
    private var isSubmitted = false
    /// The worker that serves the queue.
    private var servingWorker: Worker?
    /// Whether the pool watches for the end of the thread that owns the queue.
    private var isWatched = false
    /// The thread that closed the queue to blocks of the application; 0 if open. Blocks of this thread are accepted.
    private var closer: UInt64 = 0
    let label: ContextLabel

    /// The maximum number of blocks that run in sequence while other queues wait for a thread.
    private static let maximumConsecutiveBlocks = 16
    /// The number of seconds for which a thread waits behind blocks that cannot run because no thread is available.
    private static let starvation = 3

    init(_ label: ContextLabel) {
        self.label = label
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// The ID of the thread that owns the queue; 0 while the queue is free.
    var holder: UInt64 { current.load(ordering: .acquiring) }

    private func withMutex<Result>(_ body: () throws -> Result) rethrows -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body()
    }

    // MARK: Closing

    /// Rejects new blocks of the application from now on, except those of one thread.
    ///
    /// Blocks and threads that already wait are still served.
    func close(but thread: UInt64) { withMutex { closer = thread } }

    func open() { withMutex { closer = 0 } }

    var isClosed: Bool { withMutex { closer != 0 } }

    /// Whether a block or a thread waits for the queue.
    var isAwaited: Bool { withMutex { !entries.isEmpty } }

    /// Whether the queue has blocks for which no thread is available.
    private var isStarved: Bool { withMutex { isSubmitted } && Workers.shared.isStuck }

    /// Whether no thread owns the queue, and no block or thread waits for it.
    var isIdle: Bool { withMutex { holder == 0 && entries.isEmpty } }

    /// Whether a block may be added. Called with the mutex.
    private func admits(_ isFromApplication: Bool) -> Bool {
        !isFromApplication || closer == 0 || closer == platform_thread_id()
    }

    /// Throws if a block must not be added. Called with the mutex.
    private func requireAdmission(_ isFromApplication: Bool) throws {
        if !admits(isFromApplication) { throw label.refusal }
    }

    /// Queues a block.
    ///
    /// - Parameter isFromApplication: Whether the block comes from the application, and is rejected if the queue is
    ///   closed.
    /// - Throws: `.noMemory` if no thread can be created for the block.
    ///   `.invalidHandle` if the queue rejects the block.
    func enqueue(isFromApplication: Bool = false, _ work: @escaping () -> Void) throws {
        try withMutex {
            try requireAdmission(isFromApplication)
            try Workers.shared.expectWork(of: label)
            entries.append(.work(work))
            workCount += 1
            if holder == 0 { serveNext() } else { watchHolder() }
        }
    }

    /// Runs `body` on the calling thread after all earlier entries.
    ///
    /// - Throws: The errors of `acquire`.
    ///   The error of `body`.
    func run(isFromApplication: Bool = false, _ body: () throws -> Void) throws {
        try acquire(isFromApplication: isFromApplication)
        defer { release() }
        try body()
    }

    /// Acquires the queue for the calling thread, which must not own the queue already.
    ///
    /// - Throws: Code 132000 if the wait would be a deadlock, or if no thread is available for earlier blocks.
    ///   `.invalidHandle` if the queue rejects the thread.
    func acquire(isFromApplication: Bool = false) throws {
        if tryAcquire(isFromApplication: isFromApplication) { return }
        let turn = Turn()
        let place = try withMutex {
            try requireAdmission(isFromApplication)
            let place = entries.append(.turn(turn))
            serveNext()
            return place
        }
        do {
            try WaitGraph.whileWaiting(for: .queue(self), label) {
                var starved = 0
                while !turn.wait(nanoseconds: 1_000_000_000) {
                    releaseIfHolderEnded()
                    starved = isStarved ? starved + 1 : 0
                    if starved == SerialQueue.starvation { throw WaitGraph.noThreadError(label) }
                }
            }
        } catch {
            let isMine = withMutex {
                entries.remove(at: place)
                return turn.isSignalled
            }
            if isMine { release() }
            throw error
        }
    }

    /// Acquires the queue if no thread owns it, and no block or thread waits for it.
    ///
    /// - Parameter releasesEndedHolder: Whether to release the queue first if its owner thread has ended. This test is
    ///   slower than the rest of the call.
    func tryAcquire(isFromApplication: Bool = false, releasesEndedHolder: Bool = false) -> Bool {
        if releasesEndedHolder { releaseIfHolderEnded() }
        return withMutex {
            guard holder == 0, entries.isEmpty, admits(isFromApplication) else { return false }
            current.store(platform_thread_id(), ordering: .releasing)
            return true
        }
    }

    /// Releases the queue to the next entry.
    func release() {
        // In the child of a fork, the mutex may be held by a thread that does not exist there.
        if platform_is_forked() { return }
        withMutex {
            current.store(0, ordering: .releasing)
            serveNext()
        }
    }

    /// Releases the queue on behalf of another thread if that thread owns it.
    func release(for thread: UInt64) { withMutex { releaseOwnership(of: thread) } }

    /// Serves the next entry, if the queue is free. Called with the mutex.
    private func serveNext() {
        guard holder == 0, let next = entries.first else { return }
        switch next {
        case .work:
            guard servingWorker == nil, !isSubmitted else { return }
            isSubmitted = true
            Workers.shared.submit(self)
        case .turn(let turn):
            entries.removeFirst()
            current.store(turn.thread, ordering: .releasing)
            turn.signal()
            watchHolder()
        }
    }

    /// Releases the queue if its owner thread has ended, because that thread cannot release it.
    private func releaseIfHolderEnded() {
        let former = holder
        if former != 0, !threadIsAlive(former) { withMutex { releaseOwnership(of: former) } }
    }

    /// Releases the queue if the thread `former` owns it. Called with the mutex.
    private func releaseOwnership(of former: UInt64) {
        guard holder == former else { return }
        current.store(0, ordering: .releasing)
        serveNext()
    }

    // MARK: Blocks

    /// Runs, on a worker's thread, the blocks at the front of the queue.
    func serve(_ worker: Worker) {
        worker.queue = self
        defer { worker.queue = nil }
        pthread_mutex_lock(mutex)
        isSubmitted = false
        servingWorker = worker
        var count = 0
        while var work = nextWork() {
            current.store(platform_thread_id(), ordering: .releasing)
            worker.setThreadName(label)
            pthread_mutex_unlock(mutex)
            work()
            // Runs without the mutex, because the deallocation of captured objects may call the application.
            work = {}
            // In the child of a fork, a mutex may be held by a thread that does not exist there.
            if platform_is_forked() { return }
            worker.noteEnd()
            Workers.shared.didWork()
            pthread_mutex_lock(mutex)
            current.store(0, ordering: .releasing)
            count += 1
            if count >= SerialQueue.maximumConsecutiveBlocks, Workers.shared.hasOthers { break }
        }
        servingWorker = nil
        serveNext()
        pthread_mutex_unlock(mutex)
    }

    /// Releases the queue when the worker's thread ends within the current block.
    func leave(_ worker: Worker) {
        withMutex {
            guard servingWorker === worker else { return }
            servingWorker = nil
            current.store(0, ordering: .releasing)
            serveNext()
        }
    }

    private func nextWork() -> (() -> Void)? {
        guard holder == 0, case .work(let work)? = entries.first else { return nil }
        entries.removeFirst()
        workCount -= 1
        return work
    }

    /// Sets the name of the serving worker's thread to the context's name, which may be truncated.
    func updateThreadName() { withMutex { servingWorker?.setThreadName(label) } }

    /// Starts watching the owner thread. Called with the mutex.
    ///
    /// Queued blocks would wait indefinitely if that thread ended.
    private func watchHolder() {
        guard workCount > 0, servingWorker == nil, !isWatched else { return }
        isWatched = true
        Workers.shared.watch(self)
    }

    /// Releases the queue if its owner thread has ended.
    ///
    /// Returns false if the thread need not be watched any more.
    func needsWatch() -> Bool {
        releaseIfHolderEnded()
        return withMutex {
            isWatched = workCount > 0 && servingWorker == nil && holder != 0
            return isWatched
        }
    }
}

/// Whether a thread, which may be the calling one, has not ended.
func threadIsAlive(_ thread: UInt64) -> Bool {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 32) { buffer in
        platform_thread_name(thread, buffer.baseAddress, 32)
    }
}
