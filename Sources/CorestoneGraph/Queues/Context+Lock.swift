import CPlatform
import CorestoneValues

// Core Data's lock, unlock and tryLock, which `perform` took the place of. They take the context's queue: what waits there runs
// when the lock is gone.
extension Context {
    /// Takes the context's queue for the calling thread, waiting for it, until as many calls to `unlock`. May be called from
    /// within. A lock taken within a perform ends with it at the latest; a thread that ends gives up what it locked.
    /// - Throws: `.wrongThread` for a context that belongs to another thread, with code 132000 when the wait would never end;
    ///   `.invalidHandle` when the stores are being closed.
    @available(*, noasync, message: "a task can resume on another thread, which does not hold the lock; use perform")
    public func lock() throws { _ = try lock { try queue?.acquire(isGuest: true) != nil } }

    /// The same without waiting.
    /// - Returns: false when another thread has the queue, or work waits there.
    @available(*, noasync, message: "a task can resume on another thread, which does not hold the lock; use perform")
    public func tryLock() throws -> Bool { try lock { queue?.tryAcquire(isGuest: true, asksForEnded: true) ?? false } }

    private func lock(_ acquire: () throws -> Bool) throws -> Bool {
        if platform_is_forked() { throw Context.forked() }
        if !isOwn {
            try refuseWaitInSave()
            if queueType != .privateQueue { try checkQueue() }
            guard try acquire() else { return false }
            if isClosed {
                queue?.release()
                throw isClosedForGood()
            }
            ownerThread = platform_thread_id()
            access.holds = Holds()
            takeMail()
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

    /// Ends what a call to `lock` began. The last one processes pending changes and lets the next one have the queue.
    /// - Throws: `.wrongThread` with code 132000 when the calling thread has no lock to give up; what processing pending
    ///   changes fails with, and then the lock is gone all the same.
    @available(*, noasync, message: "a task can resume on another thread, which does not hold the lock; use perform")
    public func unlock() throws {
        try checkQueue()
        if access.holds.locksInCalls > 0, platform_call_depth() > access.holds.callsAtLock {
            return access.holds.locksInCalls -= 1
        }
        guard access.holds.locks > 0, platform_call_depth() <= access.holds.callsAtLock else {
            throw CoreError(
                .wrongThread, code: .managedObjectContextLocking,
                "\(nameOfThread(platform_thread_id())) unlocked \(label.text) without locking it"
                    + (access.holds.performs + access.holds.locks > 0 ? " in this perform or call" : "")
                    + "; call lock first")
        }
        access.holds.locksInCalls = 0
        guard access.holds.locks == 1, access.holds.performs == 0 else { return access.holds.locks -= 1 }
        try refuseInHook("unlock the context")
        guard observation.objects?.isTelling != true else {
            throw CoreError(
                .invalidArgument,
                "an observer must not unlock \(label.text) during its notification; unlock it afterwards"
            )
        }
        defer {
            access.holds.locks = 0
            letGo()
            if queueType == .privateQueue { queue?.release() }
        }
        defer { forgetMerged() }
        try processPendingChanges()
    }

    /// Gives back what `lock` took, when nobody has the context any more who could unlock it: what waits for its queue, and keeps the
    /// context meanwhile, would wait for ever. Any thread.
    package func giveUpLocks() {
        guard queueType == .privateQueue, access.holds.locks > 0, access.holds.performs == 0 else { return }
        let former = ownerThread
        (access.holds.locks, ownerThread) = (0, 0)
        queue?.release(for: former)
    }
}
