import CorestoneGraph
import CorestoneValues

/// The time at which `perform` runs its block.
public enum PerformSchedule: Sendable {
    /// Immediately if the caller is on the context's queue, else like `enqueued`.
    case immediate
    /// After all blocks that are already in the context's queue.
    case enqueued
}

extension Context {
    /// Runs `body` on the context's queue, and returns the result of `body` or rethrows its error.
    ///
    /// No thread is blocked while the block waits for the queue.
    ///
    ///     let ids = try await context.perform { context in
    ///         try context.fetch("Employee", "age > %d", 40).map(\.objectID)
    ///     }
    ///
    /// Objects belong to the queue and are not `Sendable`, so the block cannot return them. It can return their IDs.
    /// Pending changes are processed at the end of the block, but not saved.
    ///
    /// - Throws: `CancellationError` if the task is cancelled before the block begins. The block then never runs.
    ///   `.invalidArgument` if the context is confined to the calling thread and therefore does not have a queue,
    ///   unless `schedule` is `.immediate`.
    ///   `.wrongThread` if the context is confined to another thread.
    ///   `.invalidHandle` if the context is closed before the block begins. The block then does not run.
    ///   `.noMemory` if no thread can be created.
    ///   The error of `body`.
    nonisolated(nonsending) public func perform<Result: Sendable>(
        schedule: PerformSchedule = .immediate, _ body: @escaping @Sendable (Context) throws -> Result
    ) async throws -> Result {
        try Task.checkCancellation()
        if schedule == .immediate && isOwn { return try performAndWait(body) }
        let turn = PerformTurn<Result>(body)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                turn.wait(with: continuation)
                do { try enqueue({ context in try turn.run(context) }, refused: { turn.refuse($0) }) } catch {
                    turn.end(.failure(error))
                }
            }
        } onCancel: {
            turn.cancel()
        }
    }

    /// Runs `body` on the context's queue, waits for its end, and returns its result or rethrows its error.
    ///
    /// Can be called on any thread. Calls can be nested, including a call for a parent context within a block of its
    /// child, but not a call for a child within a block of its parent.
    ///
    /// The block runs on the calling thread if the queue is private. For the main queue, it runs on the main thread,
    /// which must drain that queue meanwhile. The block may return objects if the caller is on the queue; elsewhere,
    /// the use of these objects throws `.wrongThread`.
    ///
    /// - Throws: `.wrongThread` if the context is confined to another thread.
    ///   `.wrongThread` with code 132000 if the call would deadlock, because the thread that runs the queue waits for a
    ///   queue that this thread runs.
    ///   `.invalidHandle` if the context is closed.
    ///   The error of `body`.
    public func performAndWait<Result>(_ body: (Context) throws -> Result) throws -> Result {
        var result: Result?
        try runAndWait { result = try body($0) }
        guard let result else {
            throw CoreError(
                .internal,
                "the queue of \(name.map { "context \"\($0)\"" } ?? "a context") dropped a block without running it; report it as a defect of the library"
            )
        }
        return result
    }
}

/// An enqueued block, and the task that awaits its result.
///
/// Either the queue runs the block, or the block is cancelled or rejected.
private final class PerformTurn<Result: Sendable>: Sendable {
    private struct State {
        var body: (@Sendable (Context) throws -> Result)?
        var continuation: CheckedContinuation<Result, any Error>?
    }

    private let state: Locked<State>

    init(_ body: @escaping @Sendable (Context) throws -> Result) { state = Locked(State(body: body)) }

    func wait(with continuation: CheckedContinuation<Result, any Error>) {
        let isCancelled = state.withLock { state in
            state.continuation = continuation
            return state.body == nil
        }
        if isCancelled { end(.failure(CancellationError())) }
    }

    func run(_ context: Context) throws {
        guard let body = takeBody() else { return }
        let result = Swift.Result { try body(context) }
        // Pending changes of the block are processed before its caller continues.
        try? context.processPendingChanges()
        end(result)
    }

    func cancel() { refuse(CancellationError()) }

    /// Resumes the task with `error` if the block did not begin; the block then never runs.
    func refuse(_ error: any Error) { if takeBody() != nil { end(.failure(error)) } }

    func end(_ result: Swift.Result<Result, any Error>) {
        let continuation = state.withLock { state in
            defer { state.continuation = nil }
            return state.continuation
        }
        continuation?.resume(with: result)
    }

    private func takeBody() -> (@Sendable (Context) throws -> Result)? {
        state.withLock { state in
            defer { state.body = nil }
            return state.body
        }
    }
}
