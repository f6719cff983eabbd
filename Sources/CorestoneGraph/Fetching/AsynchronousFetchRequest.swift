import CorestoneModel
import CorestoneValues
import Synchronization

/// A fetch that keeps the queue of its context free: another thread reads the rows, and only what is made of them is
/// made on the queue.
///
/// For contexts with a queue, private or main. `Context.execute` gives an `AsynchronousFetchResult` at once.
public final class AsynchronousFetchRequest: PersistentStoreRequest, @unchecked Sendable {
    /// Copied when the request is carried out.
    public let fetchRequest: FetchRequest
    /// How many objects the host expects, for the progress; 0 when it does not know.
    public var estimatedResultCount = 0
    private let completion: ((AsynchronousFetchResult) -> Void)?

    /// - Parameter completion: called once, on the context's queue, when the fetch is done, has failed or was cancelled; on another thread
    ///   when the context was closed before.
    public init(_ fetchRequest: FetchRequest, completion: ((AsynchronousFetchResult) -> Void)? = nil) {
        self.fetchRequest = fetchRequest
        self.completion = completion
        super.init()
    }

    public override var requestType: UInt32 { RequestType.fetch.rawValue }

    /// - Throws: `.invalidArgument` for a context that is confined to its thread.
    override func perform(in context: Context) throws -> RequestResult {
        guard context.queueType != .caller else {
            throw CoreError(
                .invalidArgument,
                "an asynchronous fetch\(fetchRequest.entityName.map { " of \($0)" } ?? "") needs a context with a queue; fetch "
                    + "synchronously, or use a context with a private queue or of the main queue",
                entity: fetchRequest.entityName)
        }
        try fetchRequest.resolve(in: context.coordinator.model)
        let result = AsynchronousFetchResult(fetchRequest.copy(), context, estimate: estimatedResultCount)
        try result.begin(completion)
        return .asynchronous(result)
    }
}

/// A fetch that is under way, and what came of it. Progress and `cancel` are for any thread, what was found for the queue of
/// the context.
public final class AsynchronousFetchResult: @unchecked Sendable {
    /// How far a fetch has come.
    public struct Progress: Sendable, Hashable {
        /// Rows read so far.
        public internal(set) var completedUnitCount = 0
        /// As many as the host expects, in the end as many as there are; 0 while nobody knows.
        public internal(set) var totalUnitCount = 0
        /// Done, failed or cancelled.
        public internal(set) var isFinished = false
    }

    private let fetchRequest: FetchRequest
    private let context: Context
    private let known: Locked<Progress>
    private let isStopped = Atomic(false)
    private let outcome = Locked<Result<RequestResult, any Error>?>(nil)

    init(_ fetchRequest: FetchRequest, _ context: Context, estimate: Int) {
        self.fetchRequest = fetchRequest
        self.context = context
        known = Locked(Progress(totalUnitCount: max(estimate, 0)))
    }

    deinit {
        // Objects end before their context may: this is the queue's thread, and the host's may be about to let go of it.
        let last = outcome.withLock { outcome in
            defer { outcome = nil }
            return outcome
        }
        withExtendedLifetime(last) {}
    }

    public var progress: Progress { known.withLock { $0 } }
    public var isCancelled: Bool { isStopped.load(ordering: .relaxed) }

    /// What was found; nil before the end, and after a failure.
    public var finalResult: RequestResult? { try? outcome.withLock { $0 }?.get() }

    /// Why nothing was found; nil before the end, and after success. `.cancelled` after a cancellation.
    public var operationError: (any Error)? {
        if case .failure(let error) = outcome.withLock({ $0 }) { error } else { nil }
    }

    /// Stops the fetch, in the middle of a row if need be. Any thread; nothing happens when it is done.
    public func cancel() { isStopped.store(true, ordering: .relaxed) }
}

// MARK: - Under way

/// Has the result from the beginning to its end. Of one thread at a time.
private final class Underway: @unchecked Sendable {
    private var result: AsynchronousFetchResult?

    init(_ result: AsynchronousFetchResult) { self.result = result }

    func read(_ ahead: FetchAhead) throws -> FetchAhead {
        guard let result else {
            throw CoreError(
                .internal,
                "the asynchronous fetch ended before its result was read; report it as a defect of the library")
        }
        return try result.read(ahead)
    }

    func take() -> AsynchronousFetchResult? {
        defer { result = nil }
        return result
    }
}

extension AsynchronousFetchResult {
    /// On the queue of the context.
    fileprivate func begin(_ completion: ((AsynchronousFetchResult) -> Void)?) throws {
        guard let ahead = try context.fetchAhead(of: fetchRequest) else {
            return try context.enqueue({ _ in self.finish(nil, completion) }, refused: { self.fail($0, completion) })
        }
        // The thread that reads lets go of the result before the queue does, where its objects may end.
        let (context, underway) = (context, Underway(self))
        try context.readsAhead().enqueue {
            let read = Result { try underway.read(ahead) }
            let end: (Context) -> Void = { _ in underway.take()?.finish(read, completion) }
            let refused: (any Error) -> Void = { underway.take()?.fail($0, completion) }
            // An end must not be lost.
            do { try context.enqueue(end, refused: refused) } catch {
                context.enqueueAnyway(end, refused: refused)
            }
        }
    }

    /// On the thread that reads.
    fileprivate func read(_ ahead: FetchAhead) throws -> FetchAhead {
        var ahead = ahead
        try requireGoing()
        try ahead.read(isStopped: { self.isCancelled }) { count in
            self.known.withLock { $0.completedUnitCount = count }
        }
        return ahead
    }

    /// On the queue of the context.
    fileprivate func finish(_ read: Result<FetchAhead, any Error>?, _ completion: ((AsynchronousFetchResult) -> Void)?)
    {
        let result = Result {
            let ahead = try read?.get()
            try requireGoing()
            return try context.using(ahead, isStopped: { self.isCancelled }) { try context.execute(fetchRequest) }
        }
        outcome.withLock { $0 = result }
        let count = (try? result.get())?.count
        known.withLock { progress in
            progress.isFinished = true
            guard let count else { return }
            (progress.completedUnitCount, progress.totalUnitCount) = (count, count)
        }
        completion?(self)
    }

    /// The context was closed before the end: tells of it all the same.
    fileprivate func fail(_ error: any Error, _ completion: ((AsynchronousFetchResult) -> Void)?) {
        outcome.withLock { $0 = .failure(error) }
        known.withLock { $0.isFinished = true }
        completion?(self)
    }

    private func requireGoing() throws {
        if isCancelled {
            throw CoreError(
                .cancelled, "the fetch\(fetchRequest.entityName.map { " of \($0)" } ?? "") was cancelled",
                entity: fetchRequest.entityName)
        }
    }
}
