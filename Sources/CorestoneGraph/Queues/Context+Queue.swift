import CPlatform
import CorestoneValues
import Glibc

/// The nested uses of a context by the thread that owns it.
struct OwnershipDepth {
    /// The number of nested performs and calls. Callbacks within them must not release the ownership.
    var performs = 0
    /// The number of calls to `lock` within the innermost perform without a matching `unlock` so far.
    var locks = 0
    /// The depth of nested library calls on the thread at the first of these locks.
    ///
    /// An `unlock` within a call that began after this lock must not release the queue.
    var callsAtLock: UInt32 = 0
    /// The number of unmatched calls to `lock` within library calls that began after the first lock.
    ///
    /// The queue is already owned in these library calls, so their locks are only counted, until the calls return.
    var locksInCalls = 0

    var isNone: Bool { performs == 0 && locks == 0 }
}

extension Context {
    /// Queues `body` on the context's queue. An error that `body` throws is discarded.
    ///
    /// - Parameter refused: Called instead, at the same position in the queue, if `body` cannot run, for example
    ///   because the context was closed in the meantime.
    /// - Throws: `.invalidArgument` or `.wrongThread` for a context without a queue.
    ///   `.invalidHandle` if the context or its stores are closed.
    ///   `.noMemory` if no thread can be created.
    package func enqueue(
        _ body: @escaping (Context) throws -> Void, refused: @escaping (any Error) -> Void = { _ in }
    ) throws {
        if platform_is_forked() { throw Context.forked() }
        if isClosed { throw closedError() }
        switch queueType {
        case .caller:
            try checkQueue()
            throw CoreError(
                .invalidArgument,
                "\(label.text) is confined to its thread and does not have a queue; run the block directly, or create the context "
                    + "with CST_QUEUE_PRIVATE (background_context, .privateQueue)")
        case .privateQueue: try queue?.enqueue(isFromApplication: true) { self.performQueued(body, refused) }
        case .main:
            try coordinator.closing.enter(label)
            MainQueue.enqueue {
                self.performQueued(body, refused)
                self.coordinator.closing.leave()
            }
        }
    }

    private func performQueued(_ body: (Context) throws -> Void, _ refused: (any Error) -> Void) {
        var hasBegun = false
        do {
            try performHere { context in
                hasBegun = true
                try body(context)
            }
        } catch { if !hasBegun { withCallScope { refused(error) } } }
    }

    /// Queues `body` even if the context or its stores are closed.
    ///
    /// The queue later calls either `body` or `refused`. If no thread can be created for a private queue, the calling
    /// thread waits for the queue and makes this call itself. If it cannot wait, because it owns the queue or the wait
    /// would be a deadlock, it calls `refused` without the queue. The context must have a queue.
    package func enqueueAnyway(
        _ body: @escaping (Context) throws -> Void, refused: @escaping (any Error) -> Void
    ) {
        let work = { self.performQueued(body, refused) }
        if queueType == .main { return MainQueue.enqueue(work) }
        do { try queue?.enqueue(work) } catch { runAnyway(work, refused: refused, because: error) }
    }

    /// Runs queued work on the calling thread, because the queue could not accept it.
    ///
    /// - Parameter failure: The error of the queue, for `refused` if the calling thread owns the queue.
    func runAnyway(_ work: () -> Void, refused: (any Error) -> Void, because failure: any Error) {
        do {
            if ownerThread == platform_thread_id() { throw failure }
            try queue?.run(work)
        } catch { withCallScope { refused(error) } }
    }

    /// Waits until the queue has run all queued blocks.
    func waitForQueue() throws {
        do { try runAndWait { _ in } } catch {
            // The queue has reached the block, but the context was released or closed.
            if !isHandleReleased && !isClosed { throw error }
        }
    }

    /// Whether the context had a handle, and its last handle was released.
    private var isHandleReleased: Bool {
        if hostSlot.value == 0 { return false }
        if case .retained = Context.hostBridge.retainHandle(hostSlot.value) { return false }
        return true
    }

    /// Runs `body` on the context's queue, and waits until `body` has ended. Reentrant.
    package func runAndWait(_ body: (Context) throws -> Void) throws {
        if platform_is_forked() { throw Context.forked() }
        if isOwn { return try performHere(body) }
        if isClosed { throw closedError() }
        try refuseWaitInSave()
        try Coordinator.requireNoStoreInUse("wait for the queue of \(label.text)")
        switch queueType {
        case .caller: try checkQueue()
        case .privateQueue: try queue?.run(isFromApplication: true) { try performHere(body) }
        case .main:
            try coordinator.closing.enter(label)
            defer { coordinator.closing.leave() }
            try waitForMainThread(body)
        }
    }

    /// Whether the calling thread may use the context without waiting.
    package var isOwn: Bool { ownerThread == platform_thread_id() || adoptOnMainThread() }

    /// Runs `body` on the calling thread, which owns the queue.
    ///
    /// The outermost perform processes pending changes at its end.
    func performHere(_ body: (Context) throws -> Void) throws {
        // The context may have been closed while the block was waiting.
        if isClosed { throw closedError() }
        if ownerThread != platform_thread_id() {
            ownerThread = platform_thread_id()
            access.holds = OwnershipDepth()
        }
        let former = access.holds, isOutermost = former.isNone && !isInHook && !mergeState.isResolving
        access.holds = OwnershipDepth(performs: former.performs + 1)
        defer {
            access.holds = former
            if former.isNone { endOwnership() }
        }
        guard isOutermost else { return try body(self) }
        // The library's own threads reach this point outside of a call, so a call scope begins here.
        try withCallScope {
            try keepingHost {
                processInbox()
                do { try body(self) } catch {
                    // A failure appears again in the next save, which processes pending changes first.
                    try? processPendingChanges()
                    changeMerger.forgetMerged()
                    throw error
                }
                try processPendingChanges()
                changeMerger.forgetMerged()
            }
        }
    }

    /// Ends the calling thread's ownership of a context with a private queue.
    ///
    /// Contexts of other types keep their owner. The owner of a closed context becomes `endedOwner`, so that no thread
    /// can own the context again.
    func endOwnership() {
        if access.hasEnded { ownerThread = Context.endedOwner } else if queueType == .privateQueue { ownerThread = 0 }
    }

    /// Runs work of the library, for which the application need not have a handle.
    ///
    /// If the application releases its last handle in the meantime, the release is completed after the work.
    ///
    /// - Throws: `.invalidHandle`, without running `body`, if another thread is completing that release.
    func keepingHost(_ body: () throws -> Void) throws {
        if hostSlot.value == 0 { return try body() }
        switch Context.hostBridge.retainHandle(hostSlot.value) {
        case .none: try body()
        case .retained(let host): try withExtendedLifetime(host, body)
        case .beingReleased:
            throw CoreError(
                .invalidHandle,
                "another thread is releasing the last handle of \(label.text); retain a handle with cst_retain "
                    + "while the context is in use"
            )
        }
    }

    /// Runs `body`, which calls the application. The application cannot release the queue in the meantime.
    @inline(__always)
    func keepingHold<Result>(_ body: () throws -> Result) rethrows -> Result {
        let former = access.holds
        access.holds = OwnershipDepth(performs: former.performs + 1)
        defer { access.holds = former }
        return try body()
    }

    private func waitForMainThread(_ body: (Context) throws -> Void) throws {
        guard MainQueue.boundThread != 0 else { return try checkQueue() }
        var failure: (any Error)?
        let done = Turn(), waiter = platform_thread_id()
        try withEscaping(body) { body in
            // The queue may retain the block slightly longer than this call waits; by then the block has released
            // `body`.
            var pendingBody: ((Context) throws -> Void)? = body
            try WaitGraph.whileWaiting(for: .mainThread, label) {
                MainQueue.enqueue {
                    if let pendingBody { do { try self.performHere(pendingBody) } catch { failure = error } }
                    pendingBody = nil
                    WaitGraph.end(of: waiter)
                    done.signal()
                }
                done.wait()
            }
        }
        if let failure { throw failure }
    }
}

// The check for escaping closures records the path of this file, and the compiler cannot map its folder. Without a
// fixed name, builds in two folders would differ (docs/INSTALL.md, "From source").
#sourceLocation(file:"Context+Queue",line:1)
private func withEscaping(
    _ body: (Context) throws -> Void, _ use: (@escaping (Context) throws -> Void) throws -> Void
) rethrows {
    try withoutActuallyEscaping(body, do: use)
}
#sourceLocation()
