import CPlatform
import CorestoneValues
import Glibc

/// What a context holds that is in no store yet.
public struct UnsavedChanges: Sendable {
    /// What messages call the context: its name, and where it was made.
    public let context: String
    /// The name that the host gave it, if any.
    public let name: String?
    /// Where the host made it, if it said so.
    public let origin: CallSite?
    /// How many objects of each entity, by its name; nil for a context that another thread uses, which alone can count.
    public let entities: [String: Counts]?

    public struct Counts: Sendable, Equatable {
        public var inserted, updated, deleted: Int

        public init(inserted: Int = 0, updated: Int = 0, deleted: Int = 0) {
            (self.inserted, self.updated, self.deleted) = (inserted, updated, deleted)
        }
    }

    /// What becomes of changes that were not saved, when a context, a container, a document or a coordinator is closed.
    public enum Policy: UInt32, Sendable {
        /// Nothing is closed, and an error names them.
        case refuse = 0
        /// They are saved first.
        case save
        /// They are lost.
        case discard
    }

    /// Of all entities together; nil where `entities` is.
    public var counts: Counts? {
        entities.map { entities in
            entities.values.reduce(into: Counts()) { sum, counts in
                sum.inserted += counts.inserted
                sum.updated += counts.updated
                sum.deleted += counts.deleted
            }
        }
    }

    /// More entities than these are counted together.
    private static let shownEntities = 12

    /// For the end of a sentence: `1 Department updated, 2 Person inserted`.
    package var text: String {
        guard let entities else { return "an unknown number, because another thread is using the context" }
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

    /// Names the context and what it holds, for a longer message.
    package var fault: String { "\(context) has unsaved changes: \(text)" }

    package var error: CoreError {
        CoreError(
            .unsavedChanges, "\(fault); save it or roll it back",
            entity: entities?.count == 1 ? entities?.keys.first : nil)
    }

    /// How a message ends that tells of unsaved changes which kept something open.
    private static func remedy(_ count: Int) -> String {
        "call save() or rollback() on \(count == 1 ? "the context" : "each context"), or close with CST_UNSAVED_DISCARD "
            + "(.discard)"
    }

    /// Why something is not closed.
    ///
    /// - Parameter what: for the beginning of a sentence: `the container Shop`.
    package static func refusal(_ what: String, _ held: [UnsavedChanges]) -> CoreError {
        let children = held.map(\.error)
        let whose = children.count == 1 && what == held[0].context
        return CoreError(
            .unsavedChanges, code: .persistentStoreSave,
            "\(what) stays open because "
                + (whose
                    ? "it has unsaved changes: \(held[0].text)" : held.map(\.fault).joined(separator: ", and "))
                + "; \(remedy(held.count))", entity: children.count == 1 ? children[0].entity : nil, children: children)
    }
}

extension Coordinator {
    /// What the contexts of this coordinator have not saved, those on top of other contexts first. Waits for their queues; a context
    /// that is confined to another thread is named without counts.
    public var unsavedChanges: [UnsavedChanges] { liveContexts.compactMap { $0.unsavedChanges() } }

    /// The same.
    ///
    /// - Parameters:
    ///   - waits: false: a context that another thread uses at the moment is named without counts.
    ///   - areTold: whether the host tells of them, so that the end of these contexts is not logged.
    package func unsavedChanges(waits: Bool, areTold: Bool) -> [UnsavedChanges] {
        liveContexts.compactMap { context in
            let held = context.unsavedChanges(waits: waits)
            if areTold { context.giveUp() }
            return held
        }
    }

    /// Whether contexts besides one hold what was not saved. Waits for their queues, until one does.
    package func hasUnsavedChanges(besides context: Context) -> Bool {
        liveContexts.contains { $0 !== context && $0.unsavedChanges() != nil }
    }

    /// What contexts besides one have not saved. Waits for all their queues.
    package func unsavedChanges(besides context: Context) -> [UnsavedChanges] {
        liveContexts.compactMap { $0 === context ? nil : $0.unsavedChanges() }
    }

    /// Saves what the contexts of this coordinator have not saved, those on top of other contexts first.
    ///
    /// - Throws: what a save throws; several failures as children of one error.
    package func saveContexts() throws { try Context.save(liveContexts) }

    /// Every context that was not closed, those on top of others before these.
    var liveContexts: [Context] {
        contexts.all.compactMap(\.recipient).flatMap(\.withChildren).filter { !$0.isClosed }
    }
}

extension Context {
    /// Throws away what contexts on top of this one have not saved, and has them read anew. Waits for their queues.
    ///
    /// - Throws: `.wrongThread` for one that is confined to another thread.
    package func rollbackChildren() throws {
        for child in withChildren.reversed() where child !== self && !child.isClosed {
            child.takeFromEndedThread()
            try child.runAndWait { child in
                try child.rollback()
                try child.refreshAll()
            }
        }
    }

    /// What contexts on top of this one have not saved and only another thread could throw away.
    package var unreachableChildren: [UnsavedChanges] {
        withChildren.compactMap { $0 === self ? nil : $0.unsavedChanges() }.filter { $0.entities == nil }
    }

    /// This context behind those on top of it.
    var withChildren: [Context] { links.children.all.compactMap(\.recipient).flatMap(\.withChildren) + [self] }

    /// Whether objects are listed as changed. Any thread; what a save would write is for the context's own thread to say.
    var mayHaveChanges: Bool { platform_load64(owner + 2) != 0 }

    /// Saves what some contexts have not saved, in their order.
    ///
    /// - Throws: what a save throws; several failures as children of one error.
    static func save(_ contexts: [Context]) throws {
        var failures: [CoreError] = []
        var failed: [String] = []
        for context in contexts where context.mayHaveChanges {
            do {
                context.takeFromEndedThread()
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
                "\(failures.count) contexts could not be saved (\(failed.joined(separator: ", "))); the details list each "
                    + "error",
                domain: first.domain,
                customCode: first.code,
                children: failures)
        }
    }

    /// - Parameter waits: whether for the queue; else a context that another thread uses at the moment is not counted.
    func unsavedChanges(waits: Bool = true) -> UnsavedChanges? {
        guard mayHaveChanges else { return nil }
        takeFromEndedThread(waits: waits)
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

    /// Runs `body` on the context's queue, unless another thread has that.
    private func runIfFree(_ body: (Context) throws -> Void) throws {
        if isOwn { return try performHere(body) }
        guard queueType == .privateQueue, try tryLock() else { throw wrongThread() }
        defer { try? unlock() }
        try body(self)
    }

    /// The number of objects that a save would write, by the name of the entity. Reads no store, and calls no code of the host.
    /// - Parameter isCounted: leaves out objects for which it is false.
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

    /// Whoever closes the stores may use a context whose thread has ended: nobody else ever will.
    func takeFromEndedThread(waits: Bool = true) {
        guard queueType == .caller, !isOwn, !isClosedToHost, !isClosed else { return }
        let thread = ownerThread
        if waits ? threadEnds(thread) : !threadIsAlive(thread) { ownerThread = platform_thread_id() }
    }

    // MARK: What is lost

    /// What is not saved yet may be lost: the end of the context says nothing of it. Any thread.
    package func giveUp() {
        // Not with a plain store: the context's own thread may have saved everything in this moment.
        var listed: UInt64 = 1
        _ = platform_cas64(owner + 2, &listed, 2)
    }

    /// The same for those on top of it too.
    package func giveUpWithChildren() { for context in withChildren { context.giveUp() } }

    /// Whether losses are to be told. Costs one look where there is nothing.
    var tellsLosses: Bool { platform_load64(owner + 2) == 1 && batchOwner == nil }

    /// By the context's end, on whatever thread: logs what was not saved, unless the host said that it may be lost. Costs one look
    /// where there is nothing.
    func tellWhatIsLost() {
        guard tellsLosses, !platform_is_forked() else { return }
        let counts = countUnsaved()
        if counts.isEmpty { return }
        DebugLog.write(
            "CoreData: warning: \(label.text) was released with unsaved changes, which are lost: \(unsavedChanges(counts).text); "
                + "call save() or rollback() before the last reference is released")
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
