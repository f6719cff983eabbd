import CPlatform
import CorestoneValues
import Glibc
import Synchronization

/// Gives one thread at a time its turn, in order of arrival: callers that wait do their work on their own threads, the rest is
/// done by a thread of the pool.
final class SerialQueue: @unchecked Sendable {
    private enum Entry {
        case work(() -> Void)
        case turn(Turn)
    }

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private var entries = Line<Entry>()
    /// How many of them are work.
    private var workCount = 0
    private let current = Atomic<UInt64>(0)
    /// Whether the pool knows that there is work to do.
    private var isSubmitted = false
    /// The worker that does it.
    private var servant: Worker?
    /// Whether the pool looks whether the thread that has the queue has ended.
    private var isWatched = false
    /// The thread that closed it to guests, and is none itself; 0 while it is open.
    private var closer: UInt64 = 0
    let label: ContextLabel

    /// How many pieces of work are done at a stretch while other queues wait for a thread.
    private static let fairCount = 16
    /// For how many seconds a thread waits behind work that finds no thread.
    private static let starvation = 3

    init(_ label: ContextLabel) {
        self.label = label
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// The thread that has the queue; 0 for none.
    var holder: UInt64 { current.load(ordering: .acquiring) }

    private func withMutex<Result>(_ body: () throws -> Result) rethrows -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body()
    }

    // MARK: Closing

    /// Lets in no guest any more but one thread. What waits already has its turn.
    func close(but thread: UInt64) { withMutex { closer = thread } }

    func open() { withMutex { closer = 0 } }

    var isClosed: Bool { withMutex { closer != 0 } }

    /// Whether somebody waits for a turn.
    var isAwaited: Bool { withMutex { !entries.isEmpty } }

    /// Whether it has work for which there is no thread.
    private var isStarved: Bool { withMutex { isSubmitted } && Workers.shared.isStuck }

    /// Whether nobody has it, and nobody waits for a turn.
    var isIdle: Bool { withMutex { holder == 0 && entries.isEmpty } }

    /// With the mutex.
    private func admits(_ isGuest: Bool) -> Bool { !isGuest || closer == 0 || closer == platform_thread_id() }

    /// With the mutex.
    private func requireAdmission(_ isGuest: Bool) throws { if !admits(isGuest) { throw label.refusal } }

    /// Runs `work` later.
    /// - Parameter isGuest: whether it comes from a host, and is refused when the queue was closed.
    /// - Throws: when the system gives no thread for it.
    func enqueue(isGuest: Bool = false, _ work: @escaping () -> Void) throws {
        try withMutex {
            try requireAdmission(isGuest)
            try Workers.shared.expectWork(of: label)
            entries.append(.work(work))
            workCount += 1
            if holder == 0 { passOn() } else { watchHolder() }
        }
    }

    /// Runs `body` on the caller's thread when its turn comes.
    /// - Throws: code 132000 when the turn would never come; what `body` throws.
    func run(isGuest: Bool = false, _ body: () throws -> Void) throws {
        try acquire(isGuest: isGuest)
        defer { release() }
        try body()
    }

    /// Gives the calling thread, which does not have the queue, its turn.
    func acquire(isGuest: Bool = false) throws {
        if tryAcquire(isGuest: isGuest) { return }
        let turn = Turn()
        let place = try withMutex {
            try requireAdmission(isGuest)
            let place = entries.append(.turn(turn))
            passOn()
            return place
        }
        do {
            try Waits.whileWaiting(for: .queue(self), label) {
                var starved = 0
                while !turn.wait(nanoseconds: 1_000_000_000) {
                    takeFromEnded()
                    starved = isStarved ? starved + 1 : 0
                    if starved == SerialQueue.starvation { throw Waits.withoutThread(label) }
                }
            }
        } catch {
            let isMine = withMutex {
                entries.remove(at: place)
                return turn.isGiven
            }
            if isMine { release() }
            throw error
        }
    }

    /// Takes the queue if nobody has it and nobody waits for it.
    /// - Parameter asksForEnded: looks whether who has it has ended, which costs more than the rest.
    func tryAcquire(isGuest: Bool = false, asksForEnded: Bool = false) -> Bool {
        if asksForEnded { takeFromEnded() }
        return withMutex {
            guard holder == 0, entries.isEmpty, admits(isGuest) else { return false }
            current.store(platform_thread_id(), ordering: .releasing)
            return true
        }
    }

    /// The calling thread gives the queue to the next one.
    func release() {
        // Whoever had the mutex in that moment is not here to give it back.
        if platform_is_forked() { return }
        withMutex {
            current.store(0, ordering: .releasing)
            passOn()
        }
    }

    /// Gives the queue to the next one in the place of a thread that will not, if that one has it.
    func release(for thread: UInt64) { withMutex { take(from: thread) } }

    /// Lets the next one in, if the queue is free. With the mutex.
    private func passOn() {
        guard holder == 0, let next = entries.first else { return }
        switch next {
        case .work:
            guard servant == nil, !isSubmitted else { return }
            isSubmitted = true
            Workers.shared.submit(self)
        case .turn(let turn):
            entries.removeFirst()
            current.store(turn.thread, ordering: .releasing)
            turn.give()
            watchHolder()
        }
    }

    /// A thread that ended while it had the queue cannot give it back.
    private func takeFromEnded() {
        let former = holder
        if former != 0, !threadIsAlive(former) { withMutex { take(from: former) } }
    }

    /// With the mutex.
    private func take(from former: UInt64) {
        guard holder == former else { return }
        current.store(0, ordering: .releasing)
        passOn()
    }

    // MARK: Work

    /// On a worker's thread: does the work that is at the front, and goes on as long as there is some.
    func serve(_ worker: Worker) {
        worker.queue = self
        defer { worker.queue = nil }
        pthread_mutex_lock(mutex)
        isSubmitted = false
        servant = worker
        var count = 0
        while var work = nextWork() {
            current.store(platform_thread_id(), ordering: .releasing)
            worker.take(label)
            pthread_mutex_unlock(mutex)
            work()
            // What it held may end here, and calls the host: not with the mutex.
            work = {}
            // The child of a fork: whoever had a mutex then is not here to give it back.
            if platform_is_forked() { return }
            worker.noteEnd()
            Workers.shared.didWork()
            pthread_mutex_lock(mutex)
            current.store(0, ordering: .releasing)
            count += 1
            if count >= SerialQueue.fairCount, Workers.shared.hasOthers { break }
        }
        servant = nil
        passOn()
        pthread_mutex_unlock(mutex)
    }

    /// The thread of a worker that serves the queue ends in the midst of a piece of work.
    func leave(_ worker: Worker) {
        withMutex {
            guard servant === worker else { return }
            servant = nil
            current.store(0, ordering: .releasing)
            passOn()
        }
    }

    private func nextWork() -> (() -> Void)? {
        guard holder == 0, case .work(let work)? = entries.first else { return nil }
        entries.removeFirst()
        workCount -= 1
        return work
    }

    /// Has the thread that works for it bear the context's name, as far as the system keeps it.
    func takeName() { withMutex { servant?.take(label) } }

    /// Work that waits for a thread of the host's would wait for ever if that ends. With the mutex.
    private func watchHolder() {
        guard workCount > 0, servant == nil, !isWatched else { return }
        isWatched = true
        Workers.shared.watch(self)
    }

    /// Takes the queue from a thread that has ended. False when there is nothing more to look at.
    func needsWatch() -> Bool {
        takeFromEnded()
        return withMutex {
            isWatched = workCount > 0 && servant == nil && holder != 0
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
