import CPlatform
import CorestoneValues
import Glibc
import Synchronization

/// The threads that do what queues were given and nobody waits for. They serve all queues, a queue one at a time; where there is
/// nothing to do there are none.
///
/// At most `most` do work at a time. One that waits, for a queue or for the main thread, leaves its place to another one, and so
/// does one that sleeps in the host's code while queues wait (`keepWatch`). Of all there are `limit` at most; the last one that
/// does not wait may not, since nobody could do what the others wait for.
///
/// The mutex comes after that of a queue.
final class Workers: @unchecked Sendable {
    static let shared = Workers()

    /// With the one that keeps watch, and the one that ends idle reads of all stores, sixteen.
    static let most = 14
    static let limit = 256
    /// How long one without work stays.
    static let idleNanoseconds: UInt64 = 500_000_000

    private static let label = ContextLabel(origin: nil)

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    /// Queues whose next piece of work may begin, and which no thread serves yet.
    var ready = Line<SerialQueue>()
    /// Those without work; the one that came last is called first.
    private var idle: [Worker] = []
    var all: [Worker] = []
    /// How many there are.
    private let total = Atomic<Int>(0)
    /// How many may go on with work.
    var active = 0
    /// How many pieces of work have not ended.
    private let pending = Atomic<Int>(0)
    /// Whether queues wait, for those who would rather not take the mutex.
    private let isCrowded = Atomic(false)
    /// Queues on which work waits behind a thread of the host's, which may end without giving them back.
    var held: [SerialQueue] = []
    /// Whether one of them keeps watch.
    var isWatched = false

    init() {
        pthread_mutex_init(mutex, nil)
        platform_prepare_workers { worker in
            if let worker { Workers.shared.lose(Unmanaged<Worker>.fromOpaque(worker)) }
        }
    }

    func withMutex<Result>(_ body: () throws -> Result) rethrows -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body()
    }

    // MARK: For queues

    /// To be called before a queue takes a piece of work.
    /// - Throws: `.noMemory` when there is no thread, and the system gives none.
    func expectWork(of whose: ContextLabel) throws {
        pending.add(1, ordering: .sequentiallyConsistent)
        if total.load(ordering: .sequentiallyConsistent) > 0 { return }
        let code = withMutex { total.load(ordering: .relaxed) > 0 ? 0 : create(nil) }
        guard code != 0 else { return }
        pending.subtract(1, ordering: .sequentiallyConsistent)
        throw CoreError(
            .noMemory,
            "cannot create a thread for the queue of \(whose.text): \(StorePlace.text(of: code)); end other threads or raise the "
                + "thread limit")
    }

    /// A piece of work has ended.
    func didWork() { pending.subtract(1, ordering: .sequentiallyConsistent) }

    /// Has a queue served, which calls this once until it is. With the queue's mutex.
    func submit(_ queue: SerialQueue) {
        withMutex {
            ready.append(queue)
            dispatch()
        }
    }

    /// Has somebody look now and then whether the thread that has a queue has ended. With the queue's mutex, once until
    /// `SerialQueue.needsWatch` says that it no longer has to be.
    func watch(_ queue: SerialQueue) {
        withMutex {
            held.append(queue)
            beginWatch()
        }
    }

    /// Whether queues wait to be served.
    var hasOthers: Bool { isCrowded.load(ordering: .relaxed) }

    // MARK: Threads

    /// Gives queues to threads while there are places. With the mutex.
    func dispatch() {
        while active < Workers.most, let queue = ready.first, launch(.serve(queue)) { ready.removeFirst() }
        isCrowded.store(!ready.isEmpty, ordering: .relaxed)
        if !ready.isEmpty { beginWatch() }
    }

    private func beginWatch() { if !isWatched { isWatched = launch(.watch) } }

    /// Has a thread without work do something, or a new one. False when there is none. With the mutex.
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

    /// A new thread, which waits to be called when it is given nothing to do. Gives the system's error. With the mutex.
    private func create(_ job: Worker.Job?) -> Int32 {
        guard total.load(ordering: .relaxed) < Workers.limit else { return EAGAIN }
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        defer { pthread_attr_destroy(&attributes) }
        let worker = Worker(job), box = Unmanaged.passRetained(worker)
        // Known by its number from here on: the handle is no good once a function of the host's has ended the thread.
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

    /// At the end of a thread that a function of the host's ended in the midst of its work.
    private func lose(_ worker: Unmanaged<Worker>) {
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

    /// What a thread does.
    private func run(_ worker: Worker) {
        while let job = next(worker) {
            switch job {
            case .serve(let queue): queue.serve(worker)
            case .watch:
                worker.take(Workers.label)
                keepWatch()
            }
            // In the child of a host that forked within its work there is nothing to go on with.
            if platform_is_forked() { return }
        }
    }

    /// What a thread does next; nil when it is to end.
    private func next(_ worker: Worker) -> Worker.Job? {
        let job = withMutex { () -> Worker.Job? in
            if let job = worker.takeJob() { return job }
            if worker.isServing { if let queue = nextQueue(for: worker) { return .serve(queue) } }
            if !idle.contains(where: { $0 === worker }) { idle.append(worker) }
            return nil
        }
        return job ?? waitForJob(worker)
    }

    /// For one that has served a queue; nil where there is none, or its place is taken. With the mutex.
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
                // A job that was there before the thread was is already taken, and its call comes late.
                if let job = withMutex(worker.takeJob) { return job }
            } else if withMutex({ mayEnd(worker) }) {
                return nil
            }
        }
    }

    /// With the mutex.
    private func mayEnd(_ worker: Worker) -> Bool {
        // Called in this very moment.
        if worker.job != nil { return false }
        // The last one stays while there is work, which may yet wait for something else.
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

    /// Runs `wait`, in which the calling thread waits for others: its place is another one's meanwhile, if it is a worker.
    ///
    /// - Parameter refusal: what is thrown where nobody would be left to do what it may wait for. nil for a wait that ends by itself.
    func whileWaiting<Result>(orThrow refusal: (() -> CoreError)? = nil, _ wait: () throws -> Result) throws -> Result {
        guard let worker = Worker.own else { return try wait() }
        let mayWait = withMutex { () -> Bool in
            if worker.isActive {
                guard refusal == nil || canSpareOne else { return false }
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

    /// Whether there is somebody else, or can be, for what queues are given. With the mutex.
    private var canSpareOne: Bool {
        if active > 1 || !idle.isEmpty { return true }
        return ready.isEmpty ? total.load(ordering: .relaxed) < Workers.limit : create(nil) == 0
    }

    /// Whether queues have work for which there is no thread and the system gives none, since all that there are wait.
    var isStuck: Bool {
        withMutex {
            dispatch()
            return !ready.isEmpty && active == 0
        }
    }
}
