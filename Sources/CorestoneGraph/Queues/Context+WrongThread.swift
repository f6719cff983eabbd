import CPlatform
import CorestoneValues

/// In the midst of what a context is closed to the host's code.
enum Closure {
    /// A store writes its changes.
    case save
    /// The host is asked where its code is, while a fault fires.
    case callSite
}

extension Context {
    /// Throws unless the calling thread may use the context now.
    @inlinable
    package func checkQueue() throws {
        if ownerThread != platform_thread_id() { try refuseThread() }
    }

    @usableFromInline
    func refuseThread() throws {
        if platform_is_forked() { throw Context.forked() }
        if takeAsMain() { return }
        if isClosedToHost { throw closedToHost() }
        if isClosed { throw isClosedForGood() }
        throw wrongThread()
    }

    /// Owns the contexts that no thread may use for the moment; the number of no thread.
    private static let closedOwner: UInt64 = 1

    /// Whether the context is closed to the host's code for a while; see `closed`.
    var isClosedToHost: Bool { ownerThread == Context.closedOwner }

    /// Throws where the calling thread is in the middle of what the context is closed for: it would wait for itself.
    func refuseWaitInSave() throws { if isClosedToHost, access.closer == platform_thread_id() { throw closedToHost() } }

    /// Runs `body`, in which objects are neither what they were nor what they will be: code of the host's that runs meanwhile (a store
    /// of its own, a check whether to go on, an observer of the parent's objects) may not use the context. What it changed in a save
    /// would be lost when that ends.
    func closed<Result>(for reason: Closure, _ body: () throws -> Result) rethrows -> Result {
        let (owner, former, formerReason) = (ownerThread, access.closer, access.closure)
        (access.closer, access.closure, ownerThread) = (platform_thread_id(), reason, Context.closedOwner)
        defer { (access.closer, access.closure, ownerThread) = (former, formerReason, owner) }
        return try body()
    }

    private func closedToHost() -> CoreError {
        switch access.closure {
        case .save:
            CoreError(
                .invalidArgument,
                "\(label.text) is being saved and cannot be used; use it after the save has returned"
            )
        case .callSite:
            CoreError(
                .invalidArgument,
                "the callback of cst_context_set_call_site_finder must not use \(label.text), which is firing a fault; return the "
                    + "file and line without calling the context")
        }
    }

    /// The main queue may have been bound after the context was made.
    func takeAsMain() -> Bool {
        guard queueType == .main, ownerThread == 0, MainQueue.boundThread == platform_thread_id() else { return false }
        ownerThread = platform_thread_id()
        return true
    }

    /// Who called, whose the context is, and where it was made; then the remedy.
    /// - Parameter asParent: whether it was a child of this context that the thread used.
    func wrongThread(asParent: Bool = false) -> CoreError {
        let owner = ownerThread, main = MainQueue.boundThread
        let whose: String
        switch queueType {
        case .caller:
            whose =
                ", which belongs to the thread that created it, \(nameOfThread(owner)); "
                + (asParent
                    ? "use the child on that thread, or create its parent with a private queue"
                    : "create a context on this thread, or one with a private queue")
        case .privateQueue:
            let user = owner == 0 ? "which no thread is using" : "which \(nameOfThread(owner)) is using"
            whose = " outside its private queue, \(user); use it inside perform"
        case .main where main == 0:
            whose =
                " of the main queue, which is not bound to a thread; call cst_main_queue_bind (main_queue.bind) first"
        case .main where owner != main && owner != 0:
            whose = " of the main queue, which \(nameOfThread(owner)) is using for a child; use it inside perform"
        case .main:
            whose =
                " of the main queue, which belongs to \(nameOfThread(main)); use it on the main thread, or inside perform"
        }
        return CoreError(
            .wrongThread,
            "\(nameOfThread(platform_thread_id())) used \(asParent ? "a child of " : "")\(label.text)\(whose)")
    }

    package static func forked() -> CoreError {
        CoreError(
            .forked,
            "the process was forked, and the library cannot be used in the child; call exec in the child first")
    }

    /// For what cannot throw: at once on the queue, and from elsewhere on the context's private queue, waiting for it.
    ///
    /// What belongs to another thread cannot be had: that ends the program, like an index outside of an array. No call of the
    /// C boundary comes here from elsewhere, since those check the thread and fail with an error.
    @inline(__always)
    func onQueue<Result>(_ body: () -> Result) -> Result {
        if ownerThread != platform_thread_id() && !takeAsMain() { return onQueueFromElsewhere(body) }
        return body()
    }

    @inline(never)
    private func onQueueFromElsewhere<Result>(_ body: () -> Result) -> Result {
        // What the save itself looks at.
        if isClosedToHost, access.closer == platform_thread_id() { return body() }
        // Empty from now on, for every thread.
        if isClosed { return body() }
        var result: Result?
        do {
            if queueType != .privateQueue { try checkQueue() }
            try hold { result = body() }
        } catch { fatalError("\(error)") }
        return result.unsafelyUnwrapped
    }
}
