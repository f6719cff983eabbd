import CPlatform
import CorestoneValues
import Glibc
import Synchronization

/// Gives one thread at a time its turn, in order of arrival: callers that wait do their work on their own threads, the rest is
/// done by a worker thread that ends when it has been idle for a while.
final class SerialQueue: @unchecked Sendable {
    private enum Entry {
        case work(() -> Void)
        case turn(Turn)
    }

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    /// For the worker: there may be work for it.
    private let arrived = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var entries = Line<Entry>()
    private let current = Atomic<UInt64>(0)
    private var worker: pthread_t?
    /// The thread that closed it to guests, and is none itself; 0 while it is open.
    private var closer: UInt64 = 0
    private let label: ContextLabel

    private static let idleSeconds = 2

    init(_ label: ContextLabel) {
        self.label = label
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(arrived, nil)
    }

    deinit {
        pthread_cond_destroy(arrived)
        pthread_mutex_destroy(mutex)
        arrived.deallocate()
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
            if worker == nil { try startWorker() }
            entries.append(.work(work))
            passOn()
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
                while !turn.wait(seconds: 1) { takeFromEnded() }
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
        withMutex {
            current.store(0, ordering: .releasing)
            passOn()
        }
    }

    /// Lets the next one in, if the queue is free. With the mutex.
    private func passOn() {
        guard holder == 0, let next = entries.first else { return }
        switch next {
        case .work: pthread_cond_signal(arrived)
        case .turn(let turn):
            entries.removeFirst()
            current.store(turn.thread, ordering: .releasing)
            turn.give()
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

    // MARK: The worker

    private func startWorker() throws {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        defer { pthread_attr_destroy(&attributes) }
        var thread = pthread_t()
        let box = Unmanaged.passRetained(self)
        let result = pthread_create(
            &thread, &attributes,
            { argument in
                if let argument { Unmanaged<SerialQueue>.fromOpaque(argument).takeRetainedValue().work() }
                return nil
            }, box.toOpaque())
        guard result == 0 else {
            box.release()
            throw CoreError(.noMemory, "the system gives no thread for the queue of \(label.text) (error \(result))")
        }
        worker = thread
        name(thread)
    }

    /// Has the worker thread bear the context's name, as far as the system keeps it.
    func takeName() { withMutex { if let worker { name(worker) } } }

    private func name(_ thread: pthread_t) {
        // The system keeps 15 bytes; a character that does not fit is left out.
        var name = label.name ?? "corestone"
        while name.utf8.count > 15 { name.removeLast() }
        platform_set_thread_name(thread, name)
    }

    /// What the worker does: work when its turn comes, until there is none for a while.
    private func work() {
        pthread_mutex_lock(mutex)
        while true {
            if var work = nextWork() {
                current.store(platform_thread_id(), ordering: .releasing)
                pthread_mutex_unlock(mutex)
                work()
                // What it held may end here, and calls the host: not with the mutex.
                work = {}
                pthread_mutex_lock(mutex)
                current.store(0, ordering: .releasing)
                passOn()
            } else if !waitForWork() {
                let former = holder
                if former != 0, !threadIsAlive(former) { take(from: former) } else if !hasWork { break }
            }
        }
        worker = nil
        pthread_mutex_unlock(mutex)
    }

    private var hasWork: Bool {
        entries.contains { if case .work = $0 { true } else { false } }
    }

    private func nextWork() -> (() -> Void)? {
        guard holder == 0, case .work(let work)? = entries.first else { return nil }
        entries.removeFirst()
        return work
    }

    /// False when none came for the idle time.
    private func waitForWork() -> Bool {
        var deadline = timespec()
        clock_gettime(CLOCK_REALTIME, &deadline)
        deadline.tv_sec += SerialQueue.idleSeconds
        return pthread_cond_timedwait(arrived, mutex, &deadline) == 0
    }
}

func threadIsAlive(_ thread: UInt64) -> Bool {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 32) { buffer in
        platform_thread_name(thread, buffer.baseAddress, 32)
    }
}

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

    /// False when the time is up.
    func wait(seconds: Int) -> Bool {
        var deadline = timespec()
        clock_gettime(CLOCK_REALTIME, &deadline)
        deadline.tv_sec += seconds
        while sem_timedwait(given, &deadline) != 0 { if errno != EINTR { return false } }
        return true
    }
}

/// Elements in order of arrival, taken out at the front, or anywhere by the place that `append` gave.
struct Line<Element> {
    private var elements: [Element?] = []
    /// How many left the front of `elements`, and how many were ever cut off before it.
    private var head = 0
    private var cut = 0

    var first: Element? { head < elements.count ? elements[head] : nil }
    var isEmpty: Bool { head == elements.count }

    @discardableResult
    mutating func append(_ element: Element) -> Int {
        elements.append(element)
        return cut + elements.count - 1
    }

    mutating func removeFirst() {
        elements[head] = nil
        head += 1
        skip()
    }

    /// Nothing happens when it left already.
    mutating func remove(at place: Int) {
        guard place - cut >= head else { return }
        elements[place - cut] = nil
        skip()
    }

    func contains(where condition: (Element) -> Bool) -> Bool {
        elements[head...].contains { $0.map(condition) ?? false }
    }

    private mutating func skip() {
        while head < elements.count, elements[head] == nil { head += 1 }
        guard head == elements.count || head > 64 && head > elements.count / 2 else { return }
        elements.removeFirst(head)
        cut += head
        head = 0
    }
}
