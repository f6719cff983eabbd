import CorestoneGraph
import CorestoneValues

/// An executor that runs an actor on the queue of a context.
///
/// The methods of the actor can therefore use the context and its objects without `perform`.
///
///     actor Importer {
///         private let executor: ContextExecutor
///         nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
///
///         init(_ context: Context) throws { executor = try ContextExecutor(context) }
///
///         func add(_ name: String) throws -> ObjectID {
///             let employee = try executor.context.insert("Employee", ["name": name])
///             try executor.context.save()
///             return employee.objectID
///         }
///     }
///
/// Between two `await`s the actor occupies the queue; other blocks of the context can run at an `await`. Pending
/// changes are processed at an `await` too.
public final class ContextExecutor: SerialExecutor {
    public let context: Context

    /// Creates the executor of a context.
    ///
    /// - Throws: `.invalidArgument` if the context is confined to a thread, so that it does not have a queue.
    public init(_ context: Context) throws {
        guard context.queueType != .caller else {
            throw CoreError(
                .invalidArgument,
                "\(context.name.map { "context \"\($0)\"" } ?? "a context") is confined to its thread and cannot run "
                    + "an actor; create the context with the queue type .privateQueue or .main")
        }
        self.context = context
    }

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job), executor = asUnownedSerialExecutor()
        let run: @Sendable () -> Void = { job.runSynchronously(on: executor) }
        // A job must not be lost, because its task would wait forever. In a closed context the job runs and its calls
        // fail.
        do { try context.enqueue({ _ in run() }, refused: { _ in run() }) } catch {
            context.enqueueAnyway({ _ in run() }, refused: { _ in run() })
        }
    }

    public func checkIsolated() {
        guard context.isOwn || context.isClosed else {
            let queue = context.name.map { "the queue of context \"\($0)\"" } ?? "a context's queue"
            fatalError("an actor that runs on \(queue) was used outside that queue; call the actor with await")
        }
    }

    public func isIsolatingCurrentContext() -> Bool? { context.isOwn || context.isClosed }
}
