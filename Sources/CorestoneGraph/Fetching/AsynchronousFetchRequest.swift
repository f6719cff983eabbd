import CorestoneModel
import CorestoneValues
import Synchronization

/// A fetch that starts immediately and delivers its result later.
///
/// If possible, another thread reads the rows, and only the objects are created on the context's queue. Fetches of
/// dictionaries, from several stores, with FETCH expressions, and in pinned or nested contexts run on the queue.
///
/// The request requires a context with a private queue or of the main queue. `Context.execute` returns an
/// `AsynchronousFetchResult` immediately.
public final class AsynchronousFetchRequest: PersistentStoreRequest, @unchecked Sendable {
    /// The fetch request, which is copied when this request is executed.
    public let fetchRequest: FetchRequest
    /// The expected number of objects, for the progress; 0 if it is unknown.
    public var estimatedResultCount = 0
    private let completion: ((AsynchronousFetchResult) -> Void)?

    /// Creates an asynchronous fetch.
    ///
    /// - Parameter completion: Called once on the context's queue when the fetch succeeded, failed or was cancelled.
    ///   Called on another thread if the context was closed before.
    public init(_ fetchRequest: FetchRequest, completion: ((AsynchronousFetchResult) -> Void)? = nil) {
        self.fetchRequest = fetchRequest
        self.completion = completion
        super.init()
    }

    public override var requestType: UInt32 { RequestType.fetch.rawValue }

    /// Starts the fetch and returns its result object.
    ///
    /// - Throws: `.invalidArgument` if the context is confined to its thread.
    ///   The errors of preparing the fetch.
    override func perform(in context: Context) throws -> RequestResult {
        guard context.queueType != .caller else {
            throw CoreError(
                .invalidArgument,
                "an asynchronous fetch\(fetchRequest.entityName.map { " of \($0)" } ?? "") needs a context with a "
                    + "queue, not one that is confined to its thread; call cst_context_fetch (fetch) instead, or "
                    + "create the context with CST_QUEUE_PRIVATE (background_context, .privateQueue) or CST_QUEUE_MAIN "
                    + "(main_context, .main)",
                entity: fetchRequest.entityName)
        }
        try fetchRequest.resolve(in: context.coordinator.model)
        let result = AsynchronousFetchResult(fetchRequest.copy(), context, estimate: estimatedResultCount)
        try result.begin(completion)
        return .asynchronous(result)
    }
}

/// A running asynchronous fetch and its result.
///
/// The progress and `cancel` can be used on any thread, the result only on the queue of the context.
public final class AsynchronousFetchResult: @unchecked Sendable {
    /// The progress of a fetch.
    public struct Progress: Sendable, Hashable {
        /// The number of rows read so far.
        public internal(set) var completedUnitCount = 0
        /// The expected number of rows, or 0 without an estimate; after a successful fetch, the actual number.
        public internal(set) var totalUnitCount = 0
        /// Whether the fetch succeeded, failed or was cancelled.
        public internal(set) var isFinished = false
    }

    private let fetchRequest: FetchRequest
    private let context: Context
    private let currentProgress: Locked<Progress>
    private let isStopped = Atomic(false)
    private let outcome = Locked<Result<RequestResult, any Error>?>(nil)

    init(_ fetchRequest: FetchRequest, _ context: Context, estimate: Int) {
        self.fetchRequest = fetchRequest
        self.context = context
        currentProgress = Locked(Progress(totalUnitCount: max(estimate, 0)))
    }

    deinit {
        // Releases the objects before the context, because this result may have the last reference to the context.
        let last = outcome.withLock { outcome in
            defer { outcome = nil }
            return outcome
        }
        withExtendedLifetime(last) {}
    }

    public var progress: Progress { currentProgress.withLock { $0 } }
    public var isCancelled: Bool { isStopped.load(ordering: .relaxed) }

    /// The result of the fetch; nil while it runs and after a failure.
    public var finalResult: RequestResult? { try? outcome.withLock { $0 }?.get() }

    /// The error of the fetch; nil while it runs and after success. Its status is `.cancelled` after a cancellation.
    public var operationError: (any Error)? {
        if case .failure(let error) = outcome.withLock({ $0 }) { error } else { nil }
    }

    /// Cancels the fetch, also during a read. Can be called on any thread. Has no effect on a finished fetch.
    public func cancel() { isStopped.store(true, ordering: .relaxed) }
}

// MARK: - Execution

/// A fetch in progress, which retains its result. Used by one thread at a time.
private final class RunningFetch: @unchecked Sendable {
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
    /// Starts the fetch. Runs on the queue of the context.
    fileprivate func begin(_ completion: ((AsynchronousFetchResult) -> Void)?) throws {
        guard let ahead = try context.fetchAhead(of: fetchRequest) else {
            return try context.enqueue({ _ in self.finish(nil, completion) }, refused: { self.fail($0, completion) })
        }
        // The reading thread retains only `underway`, from which the queue takes `self`. The result's objects are
        // therefore deallocated on the queue.
        let (context, underway) = (context, RunningFetch(self))
        try context.readsAhead().enqueue {
            let read = Result { try underway.read(ahead) }
            let end: (Context) -> Void = { _ in underway.take()?.finish(read, completion) }
            let refused: (any Error) -> Void = { underway.take()?.fail($0, completion) }
            // The completion must run in any case, so it is queued even if the queue rejects new blocks.
            do { try context.enqueue(end, refused: refused) } catch {
                context.enqueueAnyway(end, refused: refused)
            }
        }
    }

    /// Reads the rows. Runs on the reading thread.
    fileprivate func read(_ ahead: FetchAhead) throws -> FetchAhead {
        var ahead = ahead
        try requireNotCancelled()
        try ahead.read(isStopped: { self.isCancelled }) { count in
            self.currentProgress.withLock { $0.completedUnitCount = count }
        }
        return ahead
    }

    /// Creates the result and calls the completion. Runs on the queue of the context.
    fileprivate func finish(_ read: Result<FetchAhead, any Error>?, _ completion: ((AsynchronousFetchResult) -> Void)?)
    {
        let result = Result {
            let ahead = try read?.get()
            try requireNotCancelled()
            return try context.using(ahead, isStopped: { self.isCancelled }) { try context.execute(fetchRequest) }
        }
        outcome.withLock { $0 = result }
        let count = (try? result.get())?.count
        currentProgress.withLock { progress in
            progress.isFinished = true
            guard let count else { return }
            (progress.completedUnitCount, progress.totalUnitCount) = (count, count)
        }
        completion?(self)
    }

    /// Reports the failure of a fetch whose context was closed before the fetch finished.
    fileprivate func fail(_ error: any Error, _ completion: ((AsynchronousFetchResult) -> Void)?) {
        outcome.withLock { $0 = .failure(error) }
        currentProgress.withLock { $0.isFinished = true }
        completion?(self)
    }

    private func requireNotCancelled() throws {
        if isCancelled {
            throw CoreError(
                .cancelled, "the fetch\(fetchRequest.entityName.map { " of \($0)" } ?? "") was cancelled",
                entity: fetchRequest.entityName)
        }
    }
}
