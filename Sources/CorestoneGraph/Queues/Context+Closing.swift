import CPlatform
import CorestoneValues

extension Context {
    /// Owns the contexts that were closed; the number of no thread.
    static let endedOwner: UInt64 = 2

    /// Whether it was closed. Any thread; within a block of the context that closed it, when the block has ended.
    public var isClosed: Bool { ownerThread == Context.endedOwner }

    func isClosedForGood() -> CoreError {
        CoreError(.invalidHandle, "\(label.text) is closed; create a new context")
    }

    /// Closes the context and those on top of it: their objects are gone, and every other call fails with `.invalidHandle`. Closing
    /// twice is fine. Any thread; waits for the queues.
    ///
    /// The view context of a container, and the context of a document, stay open: their own changes are treated as `unsaved` says,
    /// and they are closed with the container, or the document. A context without changes, or whose changes may be lost, that is
    /// confined to another thread stays open too: it goes when the last reference to it does, without a line in the log.
    ///
    /// - Parameter unsaved: what becomes of changes that were not saved. A save of a context on top of another one hands them to that.
    /// - Returns: false when the context stays open.
    /// - Throws: `.unsavedChanges` with the counts by entity, for `.refuse`, with a child for each context that has some; what the
    ///   save fails with; `.invalidArgument` within a hook, and on a queue on which other work waits. It is open then, with all of its
    ///   changes, and so are those on top of it.
    @discardableResult
    public func close(_ unsaved: UnsavedChanges.Policy = .refuse) throws -> Bool {
        if platform_is_forked() { throw Context.forked() }
        if isClosed { return true }
        let all = isShared ? [self] : withChildren.filter { !$0.isClosed }
        for context in all { try context.requireEnd(waits: unsaved == .discard) }
        if unsaved == .save { try Context.save(all) }
        if unsaved != .discard {
            let held = all.compactMap { $0.unsavedChanges() }
            if !held.isEmpty { throw UnsavedChanges.refusal(label.text, held) }
        }
        var hasEnded = true
        for context in all { hasEnded = try context.end(unsaved) }
        return hasEnded
    }

    /// Whether only its own thread can empty it.
    private var isElsewhere: Bool { !isOwn && queueType != .privateQueue }

    /// Throws where the calling thread cannot end the context, before anything has ended.
    ///
    /// - Parameter waits: whether for its queue, which may never be free.
    private func requireEnd(waits: Bool) throws {
        try refuseWaitInSave()
        guard isOwn else {
            if waits, let queue { try queue.run(isGuest: true) {} }
            return
        }
        try refuseInHook("close the context")
        if queue?.isAwaited == true, !isShared {
            throw CoreError(
                .invalidArgument,
                "cannot close \(label.text) on its own queue while other work waits for it; close it on another thread, or when that "
                    + "work is done")
        }
    }

    /// Ends this context alone.
    ///
    /// - Returns: false when it stays open.
    private func end(_ unsaved: UnsavedChanges.Policy) throws -> Bool {
        if isElsewhere, unsaved == .discard || !mayHaveChanges {
            if unsaved == .discard { giveUp() }
            return isClosed
        }
        do {
            try runAndWait { context in
                if unsaved != .discard {
                    // Another thread may have changed something since the counts were made.
                    try? context.processPendingChanges()
                    let counts = context.countUnsaved()
                    if !counts.isEmpty { throw UnsavedChanges.refusal(label.text, [unsavedChanges(counts)]) }
                }
                if isShared { return unsaved == .discard ? try context.rollback() : () }
                try context.reset()
                context.letGoOfHost()
                context.endListening()
                context.links.inbox.refuse()
                context.access.hasEnded = true
            }
        } catch {
            // By another thread, meanwhile.
            if !isClosed { throw error }
        }
        return !isShared
    }
}
