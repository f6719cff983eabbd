import CPlatform
import CorestoneValues

extension Context {
    /// The owner thread ID of closed contexts; not the ID of any thread.
    static let endedOwner: UInt64 = 2

    /// Whether the context is closed. Can be read on any thread.
    ///
    /// If a block closes its own context, the property becomes true only when the block has ended.
    public var isClosed: Bool { ownerThread == Context.endedOwner }

    func closedError() -> CoreError {
        CoreError(
            .invalidHandle,
            "\(label.text) is closed; create another one with cst_context_new (context, Context) if its coordinator is "
                + "open")
    }

    /// Closes the context and its nested contexts. Idempotent.
    ///
    /// Their objects leave the contexts. Further calls on the contexts fail with `.invalidHandle` if they can throw.
    /// This call waits for the queues, and can be made on any thread.
    ///
    /// The view context of a container and the context of a document stay open. Their changes are treated as `unsaved`
    /// specifies, and they are closed with the container or the document.
    ///
    /// A context that only another thread can use (a context that is confined to that thread, or a main context) stays
    /// open if it does not have changes or if its changes are discarded. Such a context is deallocated with its last
    /// reference, without a log line.
    ///
    /// - Parameter unsaved: The treatment of unsaved changes. A save of a nested context moves its changes to its
    ///   parent.
    /// - Returns: False if the context stays open.
    /// - Throws: `.unsavedChanges` if changes are neither saved nor discarded, with the counts by entity and a child
    ///   per context with changes.
    ///   Errors of saving.
    ///   `.invalidArgument` within a hook, and on a queue for which other work waits.
    ///   After an error, the context stays open, and no changes are lost.
    @discardableResult
    public func close(_ unsaved: UnsavedChanges.Policy = .refuse) throws -> Bool {
        if platform_is_forked() { throw Context.forked() }
        if isClosed { return true }
        let all = isShared ? [self] : withChildren.filter { !$0.isClosed }
        for context in all { try context.requireEnd(waits: unsaved == .discard) }
        if unsaved == .save { try Context.save(all) }
        if unsaved != .discard {
            // This context is the last one.
            let held = all.map { $0.unsavedChanges() }
            let isNested = held.last.flatMap { $0 } == nil
            let known = held.compactMap { $0 }
            if !known.isEmpty {
                throw UnsavedChanges.refusal(label.text, known, isContext: true, isNested: isNested)
            }
        }
        var hasEnded = true
        for context in all { hasEnded = try context.end(unsaved) }
        return hasEnded
    }

    /// Whether only another thread can reset the context.
    private var isElsewhere: Bool { !isOwn && queueType != .privateQueue }

    /// Throws if the calling thread cannot close the context. Called before the first context is closed.
    ///
    /// - Parameter waits: Whether to wait for the context's queue first. The wait fails if it would be a deadlock.
    private func requireEnd(waits: Bool) throws {
        try refuseWaitInSave()
        guard isOwn else {
            if waits, let queue { try queue.run(isFromApplication: true) {} }
            return
        }
        try refuseInHook("close the context")
        if queue?.isAwaited == true, !isShared {
            throw CoreError(
                .invalidArgument,
                "cannot close \(label.text) on its own queue while other work waits for the queue; close the context "
                    + "on another thread, or when that work is done")
        }
    }

    /// Closes this context alone.
    ///
    /// - Returns: False if it stays open.
    private func end(_ unsaved: UnsavedChanges.Policy) throws -> Bool {
        if isElsewhere, unsaved == .discard || !mayHaveChanges {
            if unsaved == .discard { allowLoss() }
            return isClosed
        }
        do {
            try runAndWait { context in
                if unsaved != .discard {
                    // Another thread may have made changes since the first count or the save.
                    try? context.processPendingChanges()
                    let counts = context.countUnsaved()
                    if !counts.isEmpty { throw UnsavedChanges.refusal(label.text, [unsavedChanges(counts)]) }
                }
                if isShared { return unsaved == .discard ? try context.rollback() : () }
                try context.reset()
                context.detachHost()
                context.endNotifications()
                context.links.inbox.refuse()
                context.access.end()
            }
        } catch {
            // Another thread may have closed the context in the meantime.
            if !isClosed { throw error }
        }
        return !isShared
    }
}
