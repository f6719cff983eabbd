import CorestoneGraph
import CorestoneValues

/// When `perform` runs its block.
public enum PerformSchedule: Sendable {
    /// At once when the caller is on the context's queue already, else like `enqueued`.
    case immediate
    /// When everything that waits on the context's queue has run.
    case enqueued
}

extension Context {
    /// Runs `body` on the context's queue and gives back what it returns, or throws what it throws. No thread waits meanwhile.
    ///
    ///     let ids = try await context.perform { context in
    ///         try context.fetch("Employee", "age > %d", 40).map(\.objectID)
    ///     }
    ///
    /// Objects belong to the queue and are not `Sendable`, so the compiler keeps them from leaving the block; their IDs may.
    /// Changes are processed at the end of the block, but not saved.
    /// - Throws: `CancellationError` when the task is cancelled before the block began, which then never runs;
    ///   `.invalidArgument` for a context that is confined to the calling thread and so has no queue, unless `schedule` is
    ///   `.immediate`; `.wrongThread` for one that is confined to another; `.invalidHandle` when the context was closed before the
    ///   block had its turn, and the block does not run.
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

    /// Runs `body` on the context's queue, waits for it, and gives back what it returns or throws what it throws. May be called
    /// from within, from any thread, also for a parent or a child, as long as nobody waits for a child within a block of its
    /// parent.
    ///
    /// The block runs on the calling thread if the queue is private, on the main thread if it is the main queue, which that
    /// thread has to drain meanwhile. It may return objects, for a caller that is on the queue itself; elsewhere using them
    /// throws `.wrongThread`.
    /// - Throws: `.wrongThread` for a context that is confined to another thread, and with code 132000 when the wait would
    ///   never end, since the thread that has the queue waits for what this one has.
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

/// A block that waits for its turn on a queue, and the task that waits for its end. Either the queue runs it or it is cancelled.
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
        // What the block changed is processed before its caller goes on.
        try? context.processPendingChanges()
        end(result)
    }

    func cancel() { refuse(CancellationError()) }

    /// The block cannot run, or is not to.
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
