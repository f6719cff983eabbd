import CPlatform
import CorestoneFileSystem
import CorestoneValues
import Glibc
import Synchronization

/// The thread pool, which runs the queued blocks for which no caller waits.
///
/// A worker serves one queue at a time. A pool that has been idle for a while does not have threads.
///
/// No worker begins to run while `most` workers run. A worker that waits for a queue or for the main thread does not
/// count, nor does a worker that sleeps in application code while queues wait (`runWatch`). The total is at most
/// `limit`. At least one worker must not wait, to run the blocks for which the other workers wait.
///
/// Lock order: the mutex of a queue before this mutex.
final class Workers: @unchecked Sendable {
    static let shared = Workers()

    /// The number of running workers at which no further worker begins to run.
    ///
    /// Together with the watch and the thread that ends idle reads of all stores, these are sixteen threads.
    static let most = 14
    static let limit = 256
    /// The time in nanoseconds after which an idle worker ends.
    static let idleNanoseconds: UInt64 = 500_000_000

    private static let label = ContextLabel(origin: nil)

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    /// The queues whose next block may run and that no worker serves yet.
    var ready = FIFOQueue<SerialQueue>()
    /// The idle workers. The last one to become idle is called first.
    private var idle: [Worker] = []
    var all: [Worker] = []
    /// The number of workers.
    private let total = Atomic<Int>(0)
    /// The number of running workers.
    var active = 0
    /// The number of blocks that have not ended.
    private let pending = Atomic<Int>(0)
    /// Whether queues wait for a worker; read without the mutex.
    private let isCrowded = Atomic(false)
    /// The queues whose blocks wait for a thread of the application.
    ///
    /// That thread may end without releasing the queue.
    var held: [SerialQueue] = []
    /// Whether a worker runs the watch.
    var isWatched = false

    init() {
        pthread_mutex_init(mutex, nil)
        platform_prepare_workers { worker in
            if let worker { Workers.shared.removeEnded(Unmanaged<Worker>.fromOpaque(worker)) }
        }
    }

    func withMutex<Result>(_ body: () throws -> Result) rethrows -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body()
    }

    // MARK: For queues

    /// Ensures that the pool has a worker for a block. Must be called before the block is added to a queue.
    ///
    /// - Throws: `.noMemory` if the pool does not have a worker and no thread can be created.
    func expectWork(of label: ContextLabel) throws {
        pending.add(1, ordering: .sequentiallyConsistent)
        if total.load(ordering: .sequentiallyConsistent) > 0 { return }
        let code = withMutex { total.load(ordering: .relaxed) > 0 ? 0 : create(nil) }
        guard code != 0 else { return }
        pending.subtract(1, ordering: .sequentiallyConsistent)
        throw CoreError(
            .noMemory,
            "cannot create a thread for the queue of \(label.text): \(SystemError(code).text); end other "
                + "threads, or raise the limit of threads (ulimit -u)")
    }

    /// Records the end of a block.
    func didWork() { pending.subtract(1, ordering: .sequentiallyConsistent) }

    /// Submits a queue, which must not be submitted again until it is served.
    ///
    /// Called with the queue's mutex.
    func submit(_ queue: SerialQueue) {
        withMutex {
            ready.append(queue)
            dispatch()
        }
    }

    /// Watches for the end of the thread that owns a queue. Called with the queue's mutex.
    ///
    /// The watch ends when `SerialQueue.needsWatch` returns false.
    func watch(_ queue: SerialQueue) {
        withMutex {
            held.append(queue)
            beginWatch()
        }
    }

    /// Whether queues wait to be served.
    var hasOthers: Bool { isCrowded.load(ordering: .relaxed) }

    // MARK: Threads

    /// Assigns queues to workers while fewer than `most` run. Called with the mutex.
    func dispatch() {
        while active < Workers.most, let queue = ready.first, launch(.serve(queue)) { ready.removeFirst() }
        isCrowded.store(!ready.isEmpty, ordering: .relaxed)
        if !ready.isEmpty { beginWatch() }
    }

    private func beginWatch() { if !isWatched { isWatched = launch(.watch) } }

    /// Assigns a job to an idle or new worker. Called with the mutex.
    ///
    /// Returns false if no worker is idle and no thread can be created.
    private func launch(_ job: Worker.Job) -> Bool {
        guard let worker = idle.popLast() else { return create(job) == 0 }
        begin(job, worker)
        worker.job = job
        worker.call()
        return true
    }

    private func begin(_ job: Worker.Job, _ worker: Worker) {
        guard case .serve = job else { return }
        worker.isServing = true
        active += 1
    }

    /// Creates a worker, which waits for a call if `job` is nil.
    ///
    /// Returns 0 or the system's error code. Called with the mutex.
    private func create(_ job: Worker.Job?) -> Int32 {
        guard total.load(ordering: .relaxed) < Workers.limit else { return EAGAIN }
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        defer { pthread_attr_destroy(&attributes) }
        let worker = Worker(job), box = Unmanaged.passRetained(worker)
        // From now on, the thread is identified by its ID, because the handle becomes invalid if application code ends
        // the thread.
        var thread = pthread_t()
        let code = pthread_create(
            &thread, &attributes,
            { argument in
                guard let argument else { return nil }
                platform_set_worker(argument)
                let worker = Unmanaged<Worker>.fromOpaque(argument)
                worker._withUnsafeGuaranteedRef {
                    $0.number.store(platform_thread_id(), ordering: .relaxed)
                    Workers.shared.run($0)
                }
                platform_set_worker(nil)
                worker.release()
                return nil
            }, box.toOpaque())
        guard code == 0 else {
            box.release()
            return code
        }
        total.add(1, ordering: .sequentiallyConsistent)
        all.append(worker)
        if let job { begin(job, worker) } else { idle.append(worker) }
        return 0
    }

    /// Removes a worker from the pool, because application code ends its thread within a block.
    private func removeEnded(_ worker: Unmanaged<Worker>) {
        let lost = worker.takeRetainedValue()
        didWork()
        withMutex {
            total.subtract(1, ordering: .sequentiallyConsistent)
            if lost.isActive { active -= 1 }
            all.removeAll { $0 === lost }
            dispatch()
        }
        lost.queue?.leave(lost)
    }

    /// Runs jobs until the worker ends. The main function of a worker thread.
    private func run(_ worker: Worker) {
        while let job = next(worker) {
            switch job {
            case .serve(let queue): queue.serve(worker)
            case .watch:
                worker.setThreadName(Workers.label)
                runWatch()
            }
            // If a block forked the process, the worker cannot continue in the child.
            if platform_is_forked() { return }
        }
    }

    /// Returns the next job of a worker; nil if the worker must end.
    private func next(_ worker: Worker) -> Worker.Job? {
        let job = withMutex { () -> Worker.Job? in
            if let job = worker.takeJob() { return job }
            if worker.isServing { if let queue = nextQueue(for: worker) { return .serve(queue) } }
            if !idle.contains(where: { $0 === worker }) { idle.append(worker) }
            return nil
        }
        return job ?? waitForJob(worker)
    }

    /// Returns the next queue for a worker that has served one. Called with the mutex.
    ///
    /// Returns nil if no queue is ready, or if too many workers run.
    private func nextQueue(for worker: Worker) -> SerialQueue? {
        if worker.isStalled {
            worker.isStalled = false
            active += 1
        }
        if active <= Workers.most, let queue = ready.first {
            ready.removeFirst()
            isCrowded.store(!ready.isEmpty, ordering: .relaxed)
            return queue
        }
        worker.isServing = false
        active -= 1
        return nil
    }

    private func waitForJob(_ worker: Worker) -> Worker.Job? {
        while true {
            if worker.waitForCall(nanoseconds: Workers.idleNanoseconds) {
                // The thread may have taken a job before it waited for the call that announced the job, so a call can
                // arrive without a job.
                if let job = withMutex(worker.takeJob) { return job }
            } else if withMutex({ mayEnd(worker) }) {
                return nil
            }
        }
    }

    /// Whether an idle worker may end. If so, removes it from the pool. Called with the mutex.
    private func mayEnd(_ worker: Worker) -> Bool {
        // A job was just assigned.
        if worker.job != nil { return false }
        // The last worker stays while there are blocks, because `expectWork` ensured a worker for each of them.
        let left = total.subtract(1, ordering: .sequentiallyConsistent).newValue
        if left == 0, pending.load(ordering: .sequentiallyConsistent) > 0 {
            total.add(1, ordering: .sequentiallyConsistent)
            return false
        }
        idle.removeAll { $0 === worker }
        all.removeAll { $0 === worker }
        return true
    }

    // MARK: Waits

    /// Runs `wait`, in which the calling thread waits for other threads.
    ///
    /// If the calling thread is a worker, another worker may run in the meantime.
    ///
    /// - Parameter refusal: The error to throw if no worker would be left to run the awaited blocks; nil for a wait
    ///   that does not depend on other blocks.
    func whileWaiting<Result>(orThrow refusal: (() -> CoreError)? = nil, _ wait: () throws -> Result) throws -> Result {
        guard let worker = Worker.own else { return try wait() }
        let mayWait = withMutex { () -> Bool in
            if worker.isActive {
                guard refusal == nil || isAnotherWorkerAvailable else { return false }
                active -= 1
            }
            worker.isStalled = false
            worker.waits += 1
            dispatch()
            return true
        }
        if !mayWait, let refusal { throw refusal() }
        defer {
            withMutex {
                worker.waits -= 1
                if worker.isActive { active += 1 }
            }
        }
        return try wait()
    }

    /// Whether another worker can serve queues, or can be created. Called with the mutex.
    private var isAnotherWorkerAvailable: Bool {
        if active > 1 || !idle.isEmpty { return true }
        return ready.isEmpty ? total.load(ordering: .relaxed) < Workers.limit : create(nil) == 0
    }

    /// Whether queues have blocks that cannot run, because all workers wait and no thread can be created.
    var isStuck: Bool {
        withMutex {
            dispatch()
            return !ready.isEmpty && active == 0
        }
    }
}
