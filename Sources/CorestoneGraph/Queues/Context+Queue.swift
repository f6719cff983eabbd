import CPlatform
import CorestoneValues
import Glibc

/// How often the thread that has a context took it, one time within the other.
struct Holds {
    /// Performs, and calls that run on the context: whatever they call may not let go of it.
    var performs = 0
    /// Calls to `lock` within the innermost perform that wait for their `unlock`.
    var locks = 0
    /// How many calls of the library ran on the thread at the first of these. Those that began since may not lose the context.
    var callsAtLock: UInt32 = 0
    /// Calls to `lock` within calls that began since. The queue is the thread's anyway, so they end with those at the latest.
    var locksInCalls = 0

    var isNone: Bool { performs == 0 && locks == 0 }
}

extension Context {
    /// Runs `body` on the context's queue, later. What it throws is dropped.
    ///
    /// - Parameter refused: called in its turn instead, when `body` cannot run: the context was closed meanwhile, say.
    package func enqueue(
        _ body: @escaping (Context) throws -> Void, refused: @escaping (any Error) -> Void = { _ in }
    ) throws {
        if platform_is_forked() { throw Context.forked() }
        if isClosed { throw isClosedForGood() }
        switch queueType {
        case .caller:
            try checkQueue()
            throw CoreError(
                .invalidArgument,
                "\(label.text) is confined to its thread and does not have a queue; run the block directly, or create the context "
                    + "with a private queue")
        case .privateQueue: try queue?.enqueue(isGuest: true) { self.performQueued(body, refused) }
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
        } catch { if !hasBegun { asCall { refused(error) } } }
    }

    /// The same where neither of the two may be lost: in turn, also when the context, or its stores, are closed already, and on this
    /// thread when there is none for the queue.
    package func enqueueAnyway(
        _ body: @escaping (Context) throws -> Void, refused: @escaping (any Error) -> Void
    ) {
        let work = { self.performQueued(body, refused) }
        if queueType == .main { return MainQueue.enqueue(work) }
        do { try queue?.enqueue(work) } catch { try? queue?.run(work) }
    }

    /// Returns when the queue has done what it was given.
    func waitForQueue() throws {
        do { try runAndWait { _ in } } catch {
            // Its turn has come, but the context ends, or was closed.
            if !isGivenUp && !isClosed { throw error }
        }
    }

    /// Whether a host knew the context, and holds it no more.
    private var isGivenUp: Bool {
        if hostSlot.value == 0 { return false }
        if case .held = Context.hostBridge.hold(hostSlot.value) { return false }
        return true
    }

    /// Runs `body` on the context's queue and waits. May be called from within.
    package func runAndWait(_ body: (Context) throws -> Void) throws {
        if platform_is_forked() { throw Context.forked() }
        if isOwn { return try performHere(body) }
        if isClosed { throw isClosedForGood() }
        try refuseWaitInSave()
        try Coordinator.requireNoStoreInUse("wait for the queue of \(label.text)")
        switch queueType {
        case .caller: try checkQueue()
        case .privateQueue: try queue?.run(isGuest: true) { try performHere(body) }
        case .main:
            try coordinator.closing.enter(label)
            defer { coordinator.closing.leave() }
            try waitForMainThread(body)
        }
    }

    /// Whether the calling thread may use the context without waiting.
    package var isOwn: Bool { ownerThread == platform_thread_id() || takeAsMain() }

    /// Runs `body` on the calling thread, which has the queue. The outermost perform ends an event when it ends.
    func performHere(_ body: (Context) throws -> Void) throws {
        // It may have been closed while this waited for its turn.
        if isClosed { throw isClosedForGood() }
        if ownerThread != platform_thread_id() {
            ownerThread = platform_thread_id()
            access.holds = Holds()
        }
        let former = access.holds, isOutermost = former.isNone && !isInHook && !mergeState.isResolving
        access.holds = Holds(performs: former.performs + 1)
        defer {
            access.holds = former
            if former.isNone { letGo() }
        }
        guard isOutermost else { return try body(self) }
        // A thread of the library's own comes here without a call of the host's.
        try asCall {
            try keepingHost {
                takeMail()
                do { try body(self) } catch {
                    // A failure here shows again at the next save, which processes them first.
                    try? processPendingChanges()
                    forgetMerged()
                    throw error
                }
                try processPendingChanges()
                forgetMerged()
            }
        }
    }

    /// The owner needs the context no more: of a private queue the next one may have it, and of one that it closed nobody.
    func letGo() {
        if access.hasEnded { ownerThread = Context.endedOwner } else if queueType == .privateQueue { ownerThread = 0 }
    }

    /// Runs work for which the host need not have called, and so need not have a handle of the context: it may give up its last
    /// one meanwhile, which then ends behind the work.
    ///
    /// - Throws: `.invalidHandle`, and nothing runs, when that is under way already on another thread, which disposes of objects.
    func keepingHost(_ body: () throws -> Void) throws {
        if hostSlot.value == 0 { return try body() }
        switch Context.hostBridge.hold(hostSlot.value) {
        case .none: try body()
        case .held(let host): try withExtendedLifetime(host, body)
        case .ending:
            throw CoreError(
                .invalidHandle,
                "another thread is releasing the last handle of \(label.text); retain a handle while the context is in use"
            )
        }
    }

    /// Runs `body`, which calls the host: it may not let go of the context meanwhile.
    @inline(__always)
    func keepingHold<Result>(_ body: () throws -> Result) rethrows -> Result {
        let former = access.holds
        access.holds = Holds(performs: former.performs + 1)
        defer { access.holds = former }
        return try body()
    }

    private func waitForMainThread(_ body: (Context) throws -> Void) throws {
        guard MainQueue.boundThread != 0 else { return try checkQueue() }
        var failure: (any Error)?
        let done = Turn(), waiter = platform_thread_id()
        try withEscaping(body) { body in
            // The queue may keep the block a moment longer than this waits; by then the block has let go of the body.
            var waiting: ((Context) throws -> Void)? = body
            try Waits.whileWaiting(for: .mainThread, label) {
                MainQueue.enqueue {
                    if let waiting { do { try self.performHere(waiting) } catch { failure = error } }
                    waiting = nil
                    Waits.end(of: waiter)
                    done.give()
                }
                done.wait()
            }
        }
        if let failure { throw failure }
    }
}

// The check that the closure did not escape takes the length of this file's path, whose folder no option of the compiler maps:
// without a name of its own here, builds in two folders would differ (docs/INSTALL.md, "From source").
#sourceLocation(file:"Context+Queue",line:1)
private func withEscaping(
    _ body: (Context) throws -> Void, _ use: (@escaping (Context) throws -> Void) throws -> Void
) rethrows {
    try withoutActuallyEscaping(body, do: use)
}
#sourceLocation()
