import CPlatform
import CorestoneValues

/// Deadlock detection: a record of which thread waits for which other thread.
///
/// A wait that would close a cycle fails. Its thread receives an error, and the other threads continue to wait.
///
/// Only waits that block are recorded, so acquiring a free queue has no additional cost.
enum WaitGraph {
    /// The resource for which a thread waits.
    enum Awaited {
        case queue(SerialQueue)
        case mainThread
        case thread(UInt64)

        var description: String {
            switch self {
            case .queue(let queue): "the queue of \(queue.label.text)"
            case .mainThread: "the main thread"
            case .thread(let thread): nameOfThread(thread)
            }
        }

        /// The ID of the thread that must continue before the wait can end; 0 without such a thread.
        var holder: UInt64 {
            switch self {
            case .queue(let queue): queue.holder
            case .mainThread: MainQueue.holder
            case .thread(let thread): thread
            }
        }
    }

    private static let waiting = Locked<[UInt64: Awaited]>([:])

    /// Runs `wait` on the calling thread, unless it would be a deadlock.
    ///
    /// - Parameter serves: Whether the calling thread is the main thread and runs blocks of the main queue between
    ///   waits.
    /// - Throws: Code 132000 if the owner of the awaited resource waits, directly or indirectly, for the calling
    ///   thread, or if the calling thread is the last worker that does not wait. The errors of `wait`.
    static func whileWaiting(
        for awaited: Awaited, _ label: ContextLabel, serves: Bool = false, _ wait: () throws -> Void
    ) throws {
        try Coordinator.requireNoStoreInUse("wait for the queue of \(label.text)")
        let thread = platform_thread_id()
        defer { if serves { waiting.withLock { _ in MainQueue.setServed(false) } } }
        let holder = waiting.withLock { all -> UInt64? in
            if serves { MainQueue.setServed(true) }
            if closesCycle(from: thread, awaited, all) { return awaited.holder }
            all[thread] = awaited
            return nil
        }
        if let holder { throw deadlockError(thread, holder, label) }
        defer { end(of: thread) }
        try Workers.shared.whileWaiting(orThrow: { noWorkerError(thread, label) }, wait)
    }

    /// Removes the wait of a thread.
    ///
    /// Also called by the thread that ends the wait, because the waiting thread may continue later.
    static func end(of thread: UInt64) { waiting.withLock { $0[thread] = nil } }

    /// Records that the calling thread lends its ownership to a waiting thread.
    ///
    /// The calling thread then waits until the borrower calls `end` and returns the ownership.
    static func lend(to borrower: UInt64) {
        waiting.withLock { all in
            all[borrower] = nil
            all[platform_thread_id()] = .thread(borrower)
        }
    }

    private static func closesCycle(
        from thread: UInt64, _ awaited: Awaited, _ all: [UInt64: Awaited]
    ) -> Bool {
        var holder = awaited.holder
        // The resource was just assigned to this thread.
        if holder == thread { return false }
        // No thread occurs twice, except one to which a queue is being assigned.
        for _ in 0...all.count where holder != 0 {
            if holder == thread { return true }
            guard let next = all[holder]?.holder, next != holder else { return false }
            holder = next
        }
        return false
    }

    private static func deadlockError(_ thread: UInt64, _ holder: UInt64, _ label: ContextLabel) -> CoreError {
        CoreError(
            .wrongThread, code: .managedObjectContextLocking,
            "\(nameOfThread(thread)) would deadlock on the queue of \(label.text): \(nameOfThread(holder)) holds it and waits "
                + "for this thread. Enqueue the work instead, or use a child context before its parent"
        )
    }

    // MARK: Limits

    /// The maximum number of waits in a message.
    private static let namedLinks = 8

    /// Creates the error for a wait of the last worker that does not wait.
    private static func noWorkerError(_ thread: UInt64, _ label: ContextLabel) -> CoreError {
        CoreError(
            .noMemory, code: .managedObjectContextLocking,
            "\(nameOfThread(thread)) cannot wait for the queue of \(label.text): all other worker threads (at most "
                + "\(Workers.limit)) are waiting. Enqueue work instead of waiting for other contexts. The chain of waits: "
                + chain(from: thread))
    }

    /// Returns a description of the chain of waits that starts at a thread: its awaited resource, the owner, and so on.
    private static func chain(from thread: UInt64) -> String {
        var links: [(thread: UInt64, awaited: Awaited)] = []
        waiting.withLock { all in
            var next = thread
            while links.count <= all.count, let awaited = all[next] {
                links.append((next, awaited))
                let holder = awaited.holder
                // The queue is being assigned to the waiting thread.
                if holder == next { break }
                next = holder
            }
        }
        var text = ""
        for (place, link) in links.prefix(namedLinks).enumerated() {
            text += place == 0 ? nameOfThread(link.thread) : ", held by \(nameOfThread(link.thread)), which"
            text += " waits for \(link.awaited.description)"
        }
        if links.count > namedLinks { return text + ", and so on, \(links.count) waits in all" }
        guard let last = links.last else { return nameOfThread(thread) }
        let holder = last.awaited.holder
        return text + (holder == 0 ? ", which no thread serves" : ", held by \(nameOfThread(holder))")
    }

    /// Creates the error for a wait behind blocks for which no thread can be created.
    static func noThreadError(_ label: ContextLabel) -> CoreError {
        CoreError(
            .noMemory, code: .managedObjectContextLocking,
            "cannot create a thread for the queue of \(label.text), or for a queue that it waits for, so this call did not run. "
                + "End other threads or raise the thread limit, and call again")
    }
}
