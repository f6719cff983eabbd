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

        /// Returns the description with the thread that must continue before the wait can end; 0 without such a thread.
        func description(heldBy holder: UInt64) -> String {
            switch self {
            case .queue(let queue):
                "the queue of \(queue.label.text), "
                    + (holder == 0 ? "which does not have a thread" : "held by \(nameOfThread(holder))")
            case .mainThread: "the main thread" + (holder == 0 ? "" : ", \(nameOfThread(holder))")
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
    ///   thread, or if the calling thread is the last worker that does not wait.
    ///   The errors of `wait`.
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
    /// Also called by the thread that ends the wait. The waiting thread may continue only later, and until then its
    /// recorded wait could be mistaken for a deadlock.
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
            "\(nameOfThread(thread)) would deadlock on the queue of \(label.text): its holder, "
                + "\(nameOfThread(holder)), waits for \(nameOfThread(thread)). Enqueue the work with "
                + "cst_context_perform (perform with a function) instead, or acquire the queue of a nested context "
                + "before that of its parent")
    }

    // MARK: Limits

    /// The maximum number of waits in a message.
    private static let namedLinks = 8

    /// Creates the error for a wait of the last worker that does not wait.
    private static func noWorkerError(_ thread: UInt64, _ label: ContextLabel) -> CoreError {
        CoreError(
            .noMemory, code: .managedObjectContextLocking,
            "\(nameOfThread(thread)) cannot wait for the queue of \(label.text): all other worker threads are waiting "
                + "(\(chain(from: thread))). Another worker thread cannot be created (at most \(Workers.limit), or the "
                + "limit of the system); enqueue work with cst_context_perform (perform with a function) instead of "
                + "waiting for other contexts")
    }

    /// Returns a description of the chain of waits that starts at a thread: its awaited resource, the owner, and so on.
    private static func chain(from thread: UInt64) -> String {
        var links: [(awaited: Awaited, holder: UInt64)] = []
        waiting.withLock { all in
            var next = thread
            while links.count <= all.count, let awaited = all[next] {
                let holder = awaited.holder
                links.append((awaited, holder))
                // The queue is being assigned to the waiting thread.
                if holder == next { break }
                next = holder
            }
        }
        if links.isEmpty { return nameOfThread(thread) }
        let shown = links.prefix(namedLinks).map { "waits for \($0.awaited.description(heldBy: $0.holder))" }
        let text = "\(nameOfThread(thread)) \(shown.joined(separator: ", which "))"
        return links.count > namedLinks ? text + ", and so on, \(links.count) waits in all" : text
    }

    /// Creates the error for a wait behind blocks for which no thread can be created.
    static func noThreadError(_ label: ContextLabel) -> CoreError {
        CoreError(
            .noMemory, code: .managedObjectContextLocking,
            "cannot create a thread for the queue of \(label.text), or one that its blocks await: all worker "
                + "threads wait or sleep. At most \(Workers.limit) can exist, or fewer if the system limits "
                + "threads (ulimit -u); wait or sleep in fewer blocks at a time, or raise the limit of the system if "
                + "it is lower")
    }
}
