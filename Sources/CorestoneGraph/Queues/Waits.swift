import CPlatform
import CorestoneValues

/// Which thread waits for what another one has. Before a thread waits it looks whether that would close a circle, and is told
/// so instead: of threads that would wait for each other for ever, the last one fails and the others go on.
///
/// Only those who really wait come here; a queue that is free costs none of it.
enum Waits {
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

        /// The thread that has to go on before the wait can end; 0 for none.
        var holder: UInt64 {
            switch self {
            case .queue(let queue): queue.holder
            case .mainThread: MainQueue.holder
            case .thread(let thread): thread
            }
        }
    }

    private static let waiting = Locked<[UInt64: Awaited]>([:])

    /// Runs `wait` on the calling thread, unless that would never end.
    /// - Throws: code 132000 when the one who has what is awaited waits, maybe over others, for the calling thread.
    /// - Parameter serves: whether the calling thread, the main one, runs what comes to the main queue while it waits.
    static func whileWaiting(
        for awaited: Awaited, _ whose: ContextLabel, serves: Bool = false, _ wait: () throws -> Void
    ) throws {
        try Coordinator.requireNoStoreInUse("wait for the queue of \(whose.text)")
        let thread = platform_thread_id()
        defer { if serves { waiting.withLock { _ in MainQueue.setServed(false) } } }
        let holder = waiting.withLock { all -> UInt64? in
            if serves { MainQueue.setServed(true) }
            if closesCircle(from: thread, awaited, all) { return awaited.holder }
            all[thread] = awaited
            return nil
        }
        if let holder { throw endless(thread, holder, whose) }
        defer { end(of: thread) }
        try Workers.shared.whileWaiting(orThrow: { tooMany(thread, whose) }, wait)
    }

    /// Says that a wait is over, for the one who ends it: the thread that waited may take a while to notice.
    static func end(of thread: UInt64) { waiting.withLock { $0[thread] = nil } }

    /// The calling thread lends what it has to one that waits for it, and waits until that gives it back and calls `end`.
    static func lend(to borrower: UInt64) {
        waiting.withLock { all in
            all[borrower] = nil
            all[platform_thread_id()] = .thread(borrower)
        }
    }

    private static func closesCircle(
        from thread: UInt64, _ awaited: Awaited, _ all: [UInt64: Awaited]
    ) -> Bool {
        var holder = awaited.holder
        // It was just given.
        if holder == thread { return false }
        // Nobody is met twice, but for those to whom a queue is being given.
        for _ in 0...all.count where holder != 0 {
            if holder == thread { return true }
            guard let next = all[holder]?.holder, next != holder else { return false }
            holder = next
        }
        return false
    }

    private static func endless(_ thread: UInt64, _ holder: UInt64, _ whose: ContextLabel) -> CoreError {
        CoreError(
            .wrongThread, code: .managedObjectContextLocking,
            "\(nameOfThread(thread)) would deadlock on the queue of \(whose.text): \(nameOfThread(holder)) holds it and waits "
                + "for this thread. Enqueue the work instead, or use a child context before its parent"
        )
    }

    // MARK: Too many

    /// How many waits of a chain an error names.
    private static let namedLinks = 8

    /// The calling thread, a worker, would be the last one to wait.
    private static func tooMany(_ thread: UInt64, _ whose: ContextLabel) -> CoreError {
        CoreError(
            .noMemory, code: .managedObjectContextLocking,
            "\(nameOfThread(thread)) cannot wait for the queue of \(whose.text): all other worker threads (at most "
                + "\(Workers.limit)) are waiting. Enqueue work instead of waiting for other contexts. The chain of waits: "
                + chain(from: thread))
    }

    /// Which thread waits for what, from one on: who has what it waits for, and what that one waits for.
    private static func chain(from thread: UInt64) -> String {
        var links: [(thread: UInt64, awaited: Awaited)] = []
        waiting.withLock { all in
            var next = thread
            while links.count <= all.count, let awaited = all[next] {
                links.append((next, awaited))
                let holder = awaited.holder
                // A queue that is being given to the thread that waits for it.
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

    /// Nothing comes of waiting for a queue, since the work before it finds no thread.
    static func withoutThread(_ whose: ContextLabel) -> CoreError {
        CoreError(
            .noMemory, code: .managedObjectContextLocking,
            "cannot create a thread for the queue of \(whose.text) or one that it waits for, so this call did not run. "
                + "End other threads or raise the thread limit, and call again")
    }
}
