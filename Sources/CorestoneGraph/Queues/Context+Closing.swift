import CPlatform
import CorestoneValues

extension Context {
    /// Owns the contexts that were closed; the number of no thread.
    static let endedOwner: UInt64 = 2

    /// Whether it was closed. Any thread; within a block of the context that closed it, when the block has ended.
    public var isClosed: Bool { ownerThread == Context.endedOwner }

    func isClosedForGood() -> CoreError {
        CoreError(.invalidHandle, "\(label.text) is closed; make another one")
    }

    /// Closes the context and those on top of it: their objects are gone, and every other call fails with `.invalidHandle`. Closing
    /// twice is fine. Any thread; waits for the queues.
    ///
    /// The view context of a container, and the context of a document, stay open: what `unsaved` says becomes of their own changes,
    /// and they are closed with the container, or the document. A context without changes, or whose changes may be lost, that is
    /// confined to another thread goes when the last reference to it does.
    ///
    /// - Parameter unsaved: what becomes of changes that were not saved. A save of a context on top of another one hands them to that.
    /// - Throws: `.unsavedChanges` with the counts by entity, for `.refuse`, with a child for each context that has some; what the
    ///   save fails with; `.invalidArgument` within a hook. It is open then, with all of its changes.
    public func close(_ unsaved: UnsavedChanges.Policy = .refuse) throws {
        if platform_is_forked() { throw Context.forked() }
        if isClosed { return }
        let all = isShared ? [self] : withChildren.filter { !$0.isClosed }
        switch unsaved {
        case .save: try Context.save(all)
        case .refuse: break
        case .discard: for context in all { context.giveUp() }
        }
        if unsaved != .discard {
            let held = all.compactMap { $0.unsavedChanges() }
            if !held.isEmpty { throw UnsavedChanges.refusal(label.text, held) }
        }
        for context in all { try context.end(unsaved) }
    }

    /// Ends this context alone.
    private func end(_ unsaved: UnsavedChanges.Policy) throws {
        // Nobody but its own thread can empty it.
        if !isOwn, queueType != .privateQueue, unsaved == .discard || !mayHaveChanges { return }
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
                context.inbox.refuse()
                context.hasEnded = true
            }
        } catch {
            // By another thread, meanwhile.
            if !isClosed { throw error }
        }
    }
}
