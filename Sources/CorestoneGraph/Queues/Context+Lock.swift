import CPlatform
import CorestoneValues

// Core Data's lock, unlock and tryLock, which were superseded by `perform`. A lock is the ownership of the context's
// queue, so waiting blocks run after the unlock.
extension Context {
    /// Acquires the context's queue for the calling thread, after waiting if necessary. Reentrant.
    ///
    /// The thread owns the queue until `unlock` has been called the same number of times as `lock`. A lock that is
    /// acquired within a perform is released when the perform ends, at the latest. The locks of a thread that has ended
    /// are released.
    ///
    /// - Throws: `.wrongThread` if the context is confined to another thread, or if it is on the main queue and the
    ///   call is not made on the main thread.
    ///   `.wrongThread` with code 132000 if the wait would be a deadlock.
    ///   `.invalidHandle` if the context or the stores are closed, or while they are being closed.
    @available(*, noasync, message: "a task can resume on another thread, which does not hold the lock; use perform")
    public func lock() throws { _ = try lock { try queue?.acquire(isFromApplication: true) != nil } }

    /// Acquires the context's queue like `lock`, but does not wait.
    ///
    /// - Returns: False if another thread owns the queue, if blocks wait for the queue, or if the queue rejects blocks.
    @available(*, noasync, message: "a task can resume on another thread, which does not hold the lock; use perform")
    public func tryLock() throws -> Bool {
        try lock { queue?.tryAcquire(isFromApplication: true, releasesEndedHolder: true) ?? false }
    }

    private func lock(_ acquire: () throws -> Bool) throws -> Bool {
        if platform_is_forked() { throw Context.forked() }
        if !isOwn {
            try refuseWaitInSave()
            if queueType != .privateQueue { try checkQueue() }
            guard try acquire() else { return false }
            if isClosed {
                queue?.release()
                throw closedError()
            }
            ownerThread = platform_thread_id()
            access.holds = OwnershipDepth()
            processInbox()
        }
        let calls = platform_call_depth()
        if access.holds.locks == 0 { access.holds.callsAtLock = calls }
        if calls > access.holds.callsAtLock {
            access.holds.locksInCalls += 1
        } else {
            (access.holds.locks, access.holds.locksInCalls) = (access.holds.locks + 1, 0)
        }
        return true
    }

    /// Releases a lock that `lock` or `tryLock` acquired. The release of the last lock processes pending changes first.
    ///
    /// - Throws: `.wrongThread` with code 132000 if the calling thread does not have a lock to release.
    ///   `.invalidArgument` for the last lock within a hook or an observer of objects.
    ///   Errors of processing pending changes, after which the lock is nevertheless released.
    @available(*, noasync, message: "a task can resume on another thread, which does not hold the lock; use perform")
    public func unlock() throws {
        do { try checkQueue() } catch let error as CoreError where error.status == .wrongThread {
            // A thread that may not use the context does not have a lock of it.
            throw queueType == .privateQueue
                ? notLocked("")
                : CoreError(.wrongThread, code: .managedObjectContextLocking, error.message, isHosts: true)
        }
        if access.holds.locksInCalls > 0, platform_call_depth() > access.holds.callsAtLock {
            return access.holds.locksInCalls -= 1
        }
        guard access.holds.locks > 0, platform_call_depth() <= access.holds.callsAtLock else {
            throw notLocked(access.holds.performs + access.holds.locks > 0 ? " in this perform or callback" : "")
        }
        access.holds.locksInCalls = 0
        guard access.holds.locks == 1, access.holds.performs == 0 else { return access.holds.locks -= 1 }
        try refuseInHook("unlock the context")
        guard observation.objects?.isNotifying != true else {
            throw CoreError(
                .invalidArgument,
                "an observer must not unlock \(label.text) during the notification; unlock it afterwards"
            )
        }
        defer {
            access.holds.locks = 0
            endOwnership()
            if queueType == .privateQueue { queue?.release() }
        }
        defer { changeMerger.forgetMerged() }
        try processPendingChanges()
    }

    /// Creates the error for an unlock without a lock. `place` follows "without locking it".
    private func notLocked(_ place: String) -> CoreError {
        CoreError(
            .wrongThread, code: .managedObjectContextLocking,
            "\(nameOfThread(platform_thread_id())) unlocked \(label.text) without locking it\(place); "
                + "call cst_context_lock (lock) first")
    }

    /// Releases all locks. Called when the last handle that could unlock the context is released.
    ///
    /// Otherwise blocks that wait for the queue and retain the context would wait indefinitely. Can be called on any
    /// thread. Has no effect within a perform.
    package func releaseLocks() {
        guard queueType == .privateQueue, access.holds.locks > 0, access.holds.performs == 0 else { return }
        let former = ownerThread
        (access.holds.locks, ownerThread) = (0, 0)
        queue?.release(for: former)
    }
}
