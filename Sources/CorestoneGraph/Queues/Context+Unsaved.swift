import CPlatform
import CorestoneValues
import Glibc

/// What a context holds that is in no store yet.
public struct UnsavedChanges: Sendable {
    /// What messages call the context: its name, and where it was made.
    public let context: String
    /// The name that the host gave it, if any.
    public let name: String?
    /// nil for a context that is confined to another thread, which alone can count.
    public let counts: Counts?

    public struct Counts: Sendable, Equatable {
        public var inserted, updated, deleted: Int

        public init(inserted: Int = 0, updated: Int = 0, deleted: Int = 0) {
            (self.inserted, self.updated, self.deleted) = (inserted, updated, deleted)
        }
    }

    /// Names the context and what it holds.
    package var error: CoreError {
        guard let counts else {
            return CoreError(
                .unsavedChanges,
                "\(context) has changes that were not saved, and is confined to another thread, which alone can save or count them"
            )
        }
        let parts = [
            (counts.inserted, "inserted"), (counts.updated, "updated"), (counts.deleted, "deleted"),
        ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        let total = counts.inserted + counts.updated + counts.deleted
        return CoreError(
            .unsavedChanges,
            "\(context) has \(parts.joined(separator: ", ")) object\(total == 1 ? "" : "s") that \(total == 1 ? "was" : "were") "
                + "not saved")
    }
}

extension Coordinator {
    /// What the contexts of this coordinator have not saved, those on top of other contexts first. Waits for their queues; a context
    /// that is confined to another thread is named without counts.
    public var unsavedChanges: [UnsavedChanges] { liveContexts.compactMap(\.unsavedChanges) }

    /// Whether contexts besides one hold what was not saved. Waits for their queues, until one does.
    package func hasUnsavedChanges(besides context: Context) -> Bool {
        liveContexts.contains { $0 !== context && $0.unsavedChanges != nil }
    }

    /// What contexts besides one have not saved. Waits for all their queues.
    package func unsavedChanges(besides context: Context) -> [UnsavedChanges] {
        liveContexts.compactMap { $0 === context ? nil : $0.unsavedChanges }
    }

    /// Saves what the contexts of this coordinator have not saved, those on top of other contexts first.
    ///
    /// - Throws: what a save throws; several failures as children of one error.
    package func saveContexts() throws {
        var failures: [CoreError] = []
        for context in liveContexts where context.mayHaveChanges {
            do {
                context.takeFromEndedThread()
                try context.runAndWait { if $0.hasChanges { try $0.save() } }
            } catch let error as CoreError { failures.append(error) }
        }
        if failures.count == 1 { throw failures[0] }
        if let first = failures.first {
            throw CoreError(
                first.status, "the saves of \(failures.count) contexts failed", domain: first.domain,
                customCode: first.code,
                children: failures)
        }
    }

    /// Every context, those on top of others before these.
    var liveContexts: [Context] { contexts.all.compactMap(\.recipient).flatMap(\.withChildren) }
}

extension Context {
    /// Throws away what contexts on top of this one have not saved, and has them read anew. Waits for their queues.
    ///
    /// - Throws: `.wrongThread` for one that is confined to another thread.
    package func rollbackChildren() throws {
        for child in withChildren.reversed() where child !== self {
            child.takeFromEndedThread()
            try child.runAndWait { child in
                try child.rollback()
                try child.refreshAll()
            }
        }
    }

    /// What contexts on top of this one have not saved and only another thread could throw away.
    package var unreachableChildren: [UnsavedChanges] {
        withChildren.compactMap { $0 === self ? nil : $0.unsavedChanges }.filter { $0.counts == nil }
    }

    fileprivate var withChildren: [Context] { children.all.compactMap(\.recipient).flatMap(\.withChildren) + [self] }

    /// Whether objects are listed as changed. Any thread; what a save would write is for the context's own thread to say.
    fileprivate var mayHaveChanges: Bool { platform_load64(owner + 2) != 0 }

    fileprivate var unsavedChanges: UnsavedChanges? {
        guard mayHaveChanges else { return nil }
        takeFromEndedThread()
        var counts: UnsavedChanges.Counts?
        do {
            try runAndWait { context in
                try? context.processPendingChanges()
                counts = context.countUnsaved()
            }
        } catch {
            return UnsavedChanges(context: label.text, name: name, counts: nil)
        }
        guard let counts, counts.inserted + counts.updated + counts.deleted > 0 else { return nil }
        return UnsavedChanges(context: label.text, name: name, counts: counts)
    }

    private func countUnsaved() -> UnsavedChanges.Counts {
        UnsavedChanges.Counts(
            inserted: insertedList.count(where: \.isInserted),
            updated: updatedList.count { $0.isUpdated && $0.hasPersistentChangedValues },
            deleted: deletedList.count {
                $0.isDeleted && !$0.state.contains(.inserted) && !$0.state.contains(.inaccessible)
            })
    }

    /// Whoever closes the stores may use a context whose thread has ended: nobody else ever will.
    fileprivate func takeFromEndedThread() {
        if queueType == .caller, !isOwn, !isClosed, threadEnds(ownerThread) { ownerThread = platform_thread_id() }
    }
}

/// Whether a thread has ended, or does so within a twentieth of a second: some languages' `join` comes back (Python's, half of the
/// time) while the system is still clearing the thread away.
private func threadEnds(_ thread: UInt64) -> Bool {
    for _ in 0..<100 {
        if !threadIsAlive(thread) { return true }
        usleep(500)
    }
    return !threadIsAlive(thread)
}
