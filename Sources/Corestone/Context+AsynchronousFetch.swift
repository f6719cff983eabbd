import CorestoneGraph
import CorestoneValues

extension Context {
    /// Executes a request asynchronously: another thread reads the rows.
    ///
    /// `body` receives the result on the context's queue. No thread is blocked while the task waits.
    ///
    ///     let names = try await context.fetchAsynchronously(request) { result in
    ///         guard case .objects(let people) = result else { return [] }
    ///         return try people.map { try $0.get("name") ?? "" }
    ///     }
    ///
    /// For progress reports, pass an `AsynchronousFetchRequest` to `execute` instead.
    ///
    /// - Throws: `.cancelled` if the task is cancelled. A read in progress is interrupted.
    ///   `.invalidArgument` if the context is confined to a thread.
    ///   The errors of the fetch and of `body`.
    nonisolated(nonsending) public func fetchAsynchronously<Result: Sendable>(
        _ request: FetchRequest, _ body: @escaping @Sendable (RequestResult) throws -> Result
    ) async throws -> Result {
        let running = Running()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let asynchronous = AsynchronousFetchRequest(request) { result in
                    continuation.resume(
                        with: Swift.Result {
                            if let error = result.operationError { throw error }
                            guard let found = result.finalResult else {
                                throw CoreError(
                                    .internal,
                                    "the asynchronous fetch of \(request.entityName ?? "objects") ended without a result; report it as a defect of the library",
                                    entity: request.entityName)
                            }
                            return try body(found)
                        })
                }
                func begin(_ context: Context) {
                    do {
                        guard case .asynchronous(let result) = try context.execute(asynchronous) else { return }
                        running.begin(result)
                    } catch { continuation.resume(throwing: error) }
                }
                do {
                    if isOwn { begin(self) } else { try enqueue(begin, refused: { continuation.resume(throwing: $0) }) }
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        } onCancel: {
            running.cancel()
        }
    }
}

/// A fetch that a task awaits. The task can be cancelled before the fetch begins.
private final class Running: Sendable {
    private let state = Locked<(result: AsynchronousFetchResult?, isCancelled: Bool)>((nil, false))

    func begin(_ result: AsynchronousFetchResult) {
        let isCancelled = state.withLock { state in
            state.result = result
            return state.isCancelled
        }
        if isCancelled { result.cancel() }
    }

    func cancel() {
        let result = state.withLock { state in
            state.isCancelled = true
            return state.result
        }
        result?.cancel()
    }
}
