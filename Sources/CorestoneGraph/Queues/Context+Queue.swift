import CPlatform
import CorestoneValues
import Glibc

extension Context {
    /// Throws unless the calling thread may use the context now.
    @inlinable
    package func checkQueue() throws {
        if ownerThread != platform_thread_id() { try refuseThread() }
    }

    @usableFromInline
    func refuseThread() throws {
        if platform_is_forked() { throw Context.forked() }
        // The main queue may have been bound after the context was made.
        if queueType == .main && MainQueue.boundThread == platform_thread_id() {
            ownerThread = platform_thread_id()
            return
        }
        switch queueType {
        case .caller:
            throw CoreError(
                .wrongThread,
                "this context belongs to the thread that made it; make one for this thread, or a context with a "
                    + "private queue")
        case .privateQueue:
            throw CoreError(.wrongThread, "this context has a private queue; use it inside perform")
        case .main:
            throw CoreError(
                .wrongThread,
                MainQueue.boundThread == 0
                    ? "this context belongs to the main queue, and no thread is the main one yet; bind the main queue first"
                    : "this context belongs to the main queue; use it on the main thread, or inside perform")
        }
    }

    package static func forked() -> CoreError {
        CoreError(
            .forked,
            "the process was forked: nothing of the parent's may be used in the child; open the store anew "
                + "in a process of its own")
    }

    /// Runs `body` on the context's queue, later.
    package func enqueue(_ body: @escaping (Context) -> Void) throws {
        if platform_is_forked() { throw Context.forked() }
        switch queueType {
        case .caller:
            try checkQueue()
            throw CoreError(
                .invalidArgument,
                "this context is confined to its thread and has no queue to perform on; call it directly, "
                    + "or make it with a private queue")
        case .privateQueue:
            try queue?.enqueue { self.own { body(self) } }
        case .main:
            MainQueue.enqueue { self.own { body(self) } }
        }
    }

    /// Runs `body` on the context's queue and waits. May be called from within.
    package func runAndWait(_ body: (Context) throws -> Void) throws {
        if platform_is_forked() { throw Context.forked() }
        if ownerThread == platform_thread_id() || queueType != .privateQueue && isBoundHere {
            try checkQueue()
            try body(self)
            return try processPendingChanges()
        }
        switch queueType {
        case .caller: try checkQueue()
        case .privateQueue:
            try queue?.run { try own { try body(self) } }
        case .main: try waitForMainThread(body)
        }
    }

    private var isBoundHere: Bool { queueType == .main && MainQueue.boundThread == platform_thread_id() }

    /// Makes the calling thread the owner while `body` runs, then processes pending changes.
    func own<Result>(_ body: () throws -> Result) rethrows -> Result {
        ownerThread = platform_thread_id()
        defer {
            // A failure here shows again at the next save, which processes them first.
            try? processPendingChanges()
            if queueType == .privateQueue { ownerThread = 0 }
        }
        takeMail()
        return try body()
    }

    private func waitForMainThread(_ body: (Context) throws -> Void) throws {
        guard MainQueue.boundThread != 0 else {
            throw CoreError(.wrongThread, "no thread is the main one; bind the main queue first")
        }
        var failure: (any Error)?
        let done = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
        sem_init(done, 0, 0)
        defer {
            sem_destroy(done)
            done.deallocate()
        }
        withoutActuallyEscaping(body) { body in
            // The queue may keep the block a moment longer than this waits; by then the block has let go of the body.
            var waiting: ((Context) throws -> Void)? = body
            MainQueue.enqueue {
                self.own { do { try waiting?(self) } catch { failure = error } }
                waiting = nil
                sem_post(done)
            }
            while sem_wait(done) != 0 {}
        }
        if let failure { throw failure }
    }
}
