import CPlatform
import CorestoneValues

/// An operation during which the application must not use a context.
enum BlockingOperation {
    /// A store is writing the context's changes.
    case save
    /// The callback for the call site is running while a fault fires.
    case callSite
}

extension Context {
    /// Throws if the calling thread must not use the context now.
    @inlinable
    package func checkQueue() throws {
        if ownerThread != platform_thread_id() { try refuseThread() }
    }

    @usableFromInline
    func refuseThread() throws {
        if platform_is_forked() { throw Context.forked() }
        if adoptOnMainThread() { return }
        if isClosedToHost { throw closedToHost() }
        if isClosed { throw closedError() }
        throw wrongThread()
    }

    /// The owner thread ID of contexts that the application must not use at the moment; not the ID of any thread.
    private static let closedOwner: UInt64 = 1

    /// Whether the application must not use the context at the moment; see `closed`.
    var isClosedToHost: Bool { ownerThread == Context.closedOwner }

    /// Throws if the calling thread runs the operation that blocks the context, because a wait would be a deadlock.
    func refuseWaitInSave() throws { if isClosedToHost, access.closer == platform_thread_id() { throw closedToHost() } }

    /// Runs `body` while the application must not use the context.
    ///
    /// The context's objects are in an intermediate state. `body` may run application code: a custom store, a
    /// cancellation check, an observer of the parent's objects. Calls of this code to the context fail. During a save,
    /// changes by this code would be lost.
    func closed<Result>(for reason: BlockingOperation, _ body: () throws -> Result) rethrows -> Result {
        let (owner, former, formerReason) = (ownerThread, access.closer, access.closure)
        access.close(by: platform_thread_id(), for: reason)
        ownerThread = Context.closedOwner
        defer {
            access.close(by: former, for: formerReason)
            ownerThread = owner
        }
        return try body()
    }

    private func closedToHost() -> CoreError {
        switch access.closure {
        case .save:
            CoreError(
                .invalidArgument,
                "\(label.text) is being saved and cannot be used; use it on its own thread or queue after the save "
                    + "has returned"
            )
        case .callSite:
            CoreError(
                .invalidArgument,
                "the callback of cst_context_set_call_site_finder must not use \(label.text), which is firing a fault; return the "
                    + "file and line without calling the context")
        }
    }

    /// Makes the main thread, if it is the calling thread, the owner of a main context that does not have an owner.
    ///
    /// The main queue may have been bound after the context was created.
    ///
    /// - Returns: Whether the calling thread became the owner.
    func adoptOnMainThread() -> Bool {
        guard queueType == .main, ownerThread == 0, MainQueue.boundThread == platform_thread_id() else { return false }
        ownerThread = platform_thread_id()
        return true
    }

    /// Creates the error for use on a wrong thread.
    ///
    /// Its message contains the calling thread, the owner and origin of the context, and the remedy.
    ///
    /// - Parameter asParent: Whether the thread used a child of this context.
    func wrongThread(asParent: Bool = false) -> CoreError {
        let owner = ownerThread, main = MainQueue.boundThread
        let whose: String
        switch queueType {
        case .caller:
            whose =
                ", which is confined to \(nameOfThread(owner)); "
                + (asParent
                    ? (hasEnded(owner) ? "" : "use the nested context on \(nameOfThread(owner)), or ")
                        + "create its parent with "
                    : "create a context on \(nameOfThread(platform_thread_id())), or one with ")
                + "CST_QUEUE_PRIVATE (background_context, .privateQueue)"
        case .privateQueue:
            let user = owner == 0 ? "which is not in use" : "which \(nameOfThread(owner)) is using"
            whose = " outside its private queue, \(user); use the context inside cst_context_perform (perform)"
        case .main where main == 0:
            whose =
                " of the main queue, which is not bound to a thread; call cst_main_queue_bind (main_queue.bind, "
                + "MainQueue.bind) first"
        case .main where owner != main && owner != 0:
            whose =
                " of the main queue, which \(nameOfThread(owner)) is using for a nested context; use the main "
                + "context inside cst_context_perform (perform)"
        case .main:
            whose =
                " of the main queue, which belongs to \(nameOfThread(main)); use the context on the main thread, or inside "
                + "cst_context_perform (perform)"
        }
        return CoreError(
            .wrongThread,
            "\(nameOfThread(platform_thread_id())) used \(asParent ? "a nested context of " : "")\(label.text)\(whose)")
    }

    package static func forked() -> CoreError {
        CoreError(
            .forked,
            "the process was forked, and the library cannot be used in the child; call exec in the child first")
    }

    /// Runs `body` on the context's queue, for functions that cannot throw.
    ///
    /// On the queue, `body` runs immediately. On other threads, the call waits for the context's private queue.
    ///
    /// If the call cannot wait, the process crashes, as for an index out of bounds. This happens if the context is
    /// confined to another thread or on the main queue, or if the wait would be a deadlock. The C interface checks the
    /// thread before the call, and returns an error.
    @inline(__always)
    func onQueue<Result>(_ body: () -> Result) -> Result {
        if ownerThread != platform_thread_id() && !adoptOnMainThread() { return onQueueFromElsewhere(body) }
        return body()
    }

    @inline(never)
    private func onQueueFromElsewhere<Result>(_ body: () -> Result) -> Result {
        // The thread that blocks the context, for example for a save, uses it.
        if isClosedToHost, access.closer == platform_thread_id() { return body() }
        // A closed context is empty and does not change, so any thread may read it.
        if isClosed { return body() }
        var result: Result?
        do {
            if queueType != .privateQueue { try checkQueue() }
            try withOwnership { result = body() }
        } catch { fatalError("\(error)") }
        return result.unsafelyUnwrapped
    }
}
