import CPlatform
import CorestoneValues
import Glibc

/// The unsaved changes of a context.
public struct UnsavedChanges: Sendable {
    /// The context in messages: its name, and where it was created.
    public let context: String
    /// The name that the application set; nil if it did not set one.
    public let name: String?
    /// The call site where the application created the context, if it is known.
    public let origin: CallSite?
    /// The number of changed objects by entity name.
    ///
    /// Nil if the calling thread cannot use the context, for example because the context is confined to another thread.
    public let entities: [String: Counts]?

    /// The numbers of unsaved objects by kind of change.
    public struct Counts: Sendable, Equatable {
        public var inserted, updated, deleted: Int

        public init(inserted: Int = 0, updated: Int = 0, deleted: Int = 0) {
            (self.inserted, self.updated, self.deleted) = (inserted, updated, deleted)
        }
    }

    /// The treatment of unsaved changes when a context, a container, a document or a coordinator is closed.
    public enum Policy: UInt32, Sendable {
        /// If there are unsaved changes, nothing is closed, and the error lists the changes.
        case refuse = 0
        /// The changes are saved first.
        case save
        /// The changes are discarded.
        case discard
    }

    /// The counts of all entities together; nil if `entities` is nil.
    public var counts: Counts? {
        entities.map { entities in
            entities.values.reduce(into: Counts()) { sum, counts in
                sum.inserted += counts.inserted
                sum.updated += counts.updated
                sum.deleted += counts.deleted
            }
        }
    }

    /// The maximum number of entities in a message.
    private static let shownEntities = 12

    /// The changes as the end of a sentence: `1 Department updated, 2 Person inserted`.
    package var text: String {
        guard let entities else { return "an unknown number" }
        let names = entities.keys.sorted()
        var parts: [String] = []
        for name in names.prefix(UnsavedChanges.shownEntities) {
            guard let counts = entities[name] else { continue }
            let numbers = [(counts.inserted, "inserted"), (counts.updated, "updated"), (counts.deleted, "deleted")]
            for (count, verb) in numbers where count > 0 { parts.append("\(count) \(name) \(verb)") }
        }
        if names.count > UnsavedChanges.shownEntities {
            let more = names.count - UnsavedChanges.shownEntities
            parts.append("and objects of \(more) more \(more == 1 ? "entity" : "entities")")
        }
        return parts.joined(separator: ", ")
    }

    /// The changes as part of a longer message, after the context or "it".
    private var state: String {
        entities == nil
            ? "may have unsaved changes, but the calling thread cannot count them" : "has unsaved changes: \(text)"
    }

    /// The context and its changes, as part of a longer message.
    package var fault: String { "\(context) \(state)" }

    package var error: CoreError {
        CoreError(
            .unsavedChanges,
            "\(fault); call cst_context_save (save) or cst_context_rollback (rollback) "
                + (entities == nil ? "on a thread that can use the context" : "first"),
            entity: entities?.count == 1 ? entities?.keys.first : nil)
    }

    /// Returns the contexts and their changes, as part of a longer message.
    ///
    /// Of more than three contexts, three are described and the others are counted.
    package static func faults(_ held: [UnsavedChanges]) -> String {
        let shown = held.prefix(3).map(\.fault)
        let others = held.count - shown.count
        let rest = others > 0 ? ["\(others) other context\(others == 1 ? "" : "s") may have unsaved changes"] : []
        return (shown + rest).joined(separator: ", and ")
    }

    /// Returns the remedy in the message for unsaved changes.
    ///
    /// - Parameter context: The context, if it is the only one.
    private static func remedy(_ count: Int, _ context: String) -> String {
        "call cst_context_save (save) or cst_context_rollback (rollback) on "
            + "\(count == 1 ? context : "each context"), or close with CST_UNSAVED_DISCARD (.discard)"
    }

    /// Returns the error for an object that stays open because of unsaved changes.
    ///
    /// - Parameters:
    ///   - subject: The name of the object, as the beginning of a sentence: `the container Shop`.
    ///   - isContext: Whether the object is a context, which may stay open because of a nested context.
    ///   - isNested: Whether only nested contexts have the changes. A nested context may have the same name.
    package static func refusal(
        _ subject: String, _ held: [UnsavedChanges], isContext: Bool = false, isNested: Bool = false
    ) -> CoreError {
        let children = held.map(\.error)
        let whose = children.count == 1 && !isNested && subject == held[0].context
        return CoreError(
            .unsavedChanges, code: .persistentStoreSave,
            "\(subject) stays open because "
                + (whose ? "it \(held[0].state)" : faults(held))
                + "; \(remedy(held.count, isContext && !whose ? "the nested context" : "the context"))",
            entity: children.count == 1 ? children[0].entity : nil, children: children)
    }
}

extension Coordinator {
    /// The unsaved changes of this coordinator's contexts, nested contexts first.
    ///
    /// The property waits for the queues of the contexts. A changed context that is confined to another thread is
    /// listed without counts.
    public var unsavedChanges: [UnsavedChanges] { liveContexts.compactMap { $0.unsavedChanges() } }

    /// Returns the unsaved changes of this coordinator's contexts.
    ///
    /// - Parameters:
    ///   - waits: Whether to wait for the queues. If not, a context that another thread is using is listed without
    ///     counts.
    ///   - areReported: Whether the caller reports the changes. The release of the contexts then does not log them.
    package func unsavedChanges(waits: Bool, areReported: Bool) -> [UnsavedChanges] {
        liveContexts.compactMap { context in
            let held = context.unsavedChanges(waits: waits)
            if areReported { context.allowLoss() }
            return held
        }
    }

    /// Whether contexts other than `context` have unsaved changes.
    ///
    /// Waits for the queues of these contexts, up to the first context with changes.
    package func hasUnsavedChanges(besides context: Context) -> Bool {
        liveContexts.contains { $0 !== context && $0.unsavedChanges() != nil }
    }

    /// Returns the unsaved changes of contexts other than `context`. Waits for the queues of these contexts.
    package func unsavedChanges(besides context: Context) -> [UnsavedChanges] {
        liveContexts.compactMap { $0 === context ? nil : $0.unsavedChanges() }
    }

    /// Saves the changes of this coordinator's contexts, nested contexts first.
    ///
    /// - Throws: The error of a save. Several failures are the children of one error.
    package func saveContexts() throws { try Context.save(liveContexts) }

    /// All contexts that are not closed, nested contexts before their parents.
    var liveContexts: [Context] {
        contexts.all.compactMap(\.recipient).flatMap(\.withChildren).filter { !$0.isClosed }
    }
}

extension Context {
    /// Discards the changes of nested contexts and refreshes their objects.
    ///
    /// Waits for the queues of the nested contexts.
    ///
    /// - Throws: `.wrongThread` for a context that is confined to another thread.
    package func rollbackChildren() throws {
        for child in withChildren.reversed() where child !== self && !child.isClosed {
            child.adoptFromEndedThread()
            try child.runAndWait { child in
                try child.rollback()
                try child.refreshAll()
            }
        }
    }

    /// The unsaved changes of nested contexts that only another thread can discard.
    package var unreachableChildren: [UnsavedChanges] {
        withChildren.compactMap { $0 === self ? nil : $0.unsavedChanges() }.filter { $0.entities == nil }
    }

    /// This context, preceded by its nested contexts.
    var withChildren: [Context] { links.children.all.compactMap(\.recipient).flatMap(\.withChildren) + [self] }

    /// Whether objects are listed as changed. Can be read on any thread.
    ///
    /// Only the context's owner thread can determine whether a save would write anything.
    var mayHaveChanges: Bool { platform_load64(owner + 2) != 0 }

    /// Saves the changes of contexts, in the order of the list.
    ///
    /// - Throws: The error of a save. Several failures are the children of one error.
    static func save(_ contexts: [Context]) throws {
        var failures: [CoreError] = []
        var failed: [String] = []
        for context in contexts where context.mayHaveChanges {
            do {
                context.adoptFromEndedThread()
                try context.runAndWait { if $0.hasChanges { try $0.save() } }
            } catch let error as CoreError {
                failures.append(error)
                failed.append(context.label.text)
            }
        }
        if failures.count == 1 { throw failures[0] }
        if let first = failures.first {
            throw CoreError(
                first.status,
                "\(failures.count) contexts could not be saved (\(failed.abridged)); see each error in the details",
                domain: first.domain,
                customCode: first.code,
                children: failures)
        }
    }

    /// Returns the unsaved changes of this context; nil if there are none.
    ///
    /// - Parameter waits: Whether to wait for the queue. If not, the changes of a context that another thread is using
    ///   are returned without counts.
    func unsavedChanges(waits: Bool = true) -> UnsavedChanges? {
        guard mayHaveChanges else { return nil }
        adoptFromEndedThread(waits: waits)
        var counts: [String: UnsavedChanges.Counts]?
        do {
            try (waits ? runAndWait : runIfFree) { context in
                try? context.processPendingChanges()
                counts = context.countUnsaved()
            }
        } catch { return unsavedChanges(nil) }
        return counts.flatMap { $0.isEmpty ? nil : unsavedChanges($0) }
    }

    func unsavedChanges(_ entities: [String: UnsavedChanges.Counts]?) -> UnsavedChanges {
        UnsavedChanges(context: label.text, name: name, origin: label.origin, entities: entities)
    }

    /// Runs `body` on the context's queue without waiting for it.
    ///
    /// - Throws: `.wrongThread` if the queue is not free, or if the context is confined to another thread.
    private func runIfFree(_ body: (Context) throws -> Void) throws {
        if isOwn { return try performHere(body) }
        guard queueType == .privateQueue, try tryLock() else { throw wrongThread() }
        defer { try? unlock() }
        try body(self)
    }

    /// Returns the number of objects that a save would write, by entity name.
    ///
    /// The function neither reads a store nor calls the application.
    ///
    /// - Parameter isCounted: Whether to count an object.
    func countUnsaved(where isCounted: (ManagedObject) -> Bool = { _ in true }) -> [String: UnsavedChanges.Counts] {
        var counts: [String: UnsavedChanges.Counts] = [:]
        for object in changeTracker.inserted where object.isInserted && isCounted(object) {
            counts[object.entity.name, default: .init()].inserted += 1
        }
        for object in changeTracker.updated
        where object.isUpdated && object.hasPersistentChangedValues && isCounted(object) {
            counts[object.entity.name, default: .init()].updated += 1
        }
        for object in changeTracker.deleted
        where object.isDeleted && object.state.isDisjoint(with: [.inserted, .inaccessible]) && isCounted(object) {
            counts[object.entity.name, default: .init()].deleted += 1
        }
        return counts
    }

    /// Makes the calling thread the owner of a context that is confined to a thread that has ended.
    ///
    /// Otherwise no thread could use the context any more.
    ///
    /// - Parameter waits: Whether to wait, for a short time, for a thread that is ending.
    func adoptFromEndedThread(waits: Bool = true) {
        guard queueType == .caller, !isOwn, !isClosedToHost, !isClosed else { return }
        let thread = ownerThread
        if waits ? threadEnds(thread) : !threadIsAlive(thread) { ownerThread = platform_thread_id() }
    }

    // MARK: Lost changes

    /// Marks the context's current changes as discardable, so that its release does not log them.
    ///
    /// Can be called on any thread.
    package func allowLoss() {
        // Compare and swap, because the context's own thread may just have saved everything.
        var listed: UInt64 = 1
        _ = platform_cas64(owner + 2, &listed, 2)
    }

    /// Discards the changes of a failed background task, for which the context was created.
    ///
    /// The context may outlive the task for a moment, and unsaved changes would make closing its container fail.
    package func discardTask() {
        try? rollback()
        allowLoss()
    }

    /// Marks the changes of this context and its nested contexts as discardable.
    package func allowLossWithChildren() { for context in withChildren { context.allowLoss() } }

    /// Whether changes that are lost with the context are logged.
    var logsLosses: Bool { platform_load64(owner + 2) == 1 && batchOwner == nil }

    /// Logs the unsaved changes when the context is deallocated, unless they are discardable.
    ///
    /// Called on any thread. The cost is one atomic load if there are no changes.
    func logUnsavedChanges() {
        guard logsLosses, !platform_is_forked() else { return }
        let counts = countUnsaved()
        if counts.isEmpty { return }
        DebugLog.write(
            "CoreData: warning: \(label.text) was released with unsaved changes, which are lost: \(unsavedChanges(counts).text); "
                + "call cst_context_save (save) or cst_context_rollback (rollback) before the last reference is "
                + "released")
    }
}

/// Whether a thread has ended or ends within 50 ms.
///
/// The `join` of some languages returns before the system has removed the thread, for example in Python in about half
/// of all cases.
private func threadEnds(_ thread: UInt64) -> Bool {
    for _ in 0..<100 {
        if !threadIsAlive(thread) { return true }
        usleep(500)
    }
    return !threadIsAlive(thread)
}
