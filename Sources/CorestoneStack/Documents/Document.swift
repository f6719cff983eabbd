import CPlatform
import CorestoneGraph
import CorestoneModel
import CorestoneSQLite
import CorestoneValues
import Glibc

/// One store as a document: opened, edited with undo, saved, saved elsewhere, reverted. Core Data's `NSPersistentDocument` and
/// `UIManagedDocument`. Any thread, but for the context, which belongs to its queue.
public final class Document: @unchecked Sendable {
    /// How a document stands.
    public struct State: OptionSet, Sendable {
        public let rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// Something is in no file that the host chose.
        public static let edited = State(rawValue: 1 << 0)
        public static let saving = State(rawValue: 1 << 1)
        /// The last save met objects that somebody else had changed; nothing of it was written.
        public static let conflict = State(rawValue: 1 << 2)
        /// The last save failed; `lastError` tells why.
        public static let failed = State(rawValue: 1 << 3)
        /// It has no place yet: `saveAs` gives it one.
        public static let untitled = State(rawValue: 1 << 4)
        /// Somebody else wrote the file since it was last opened, saved or reverted.
        public static let changedOnDisk = State(rawValue: 1 << 5)
        public static let closed = State(rawValue: 1 << 6)
    }

    public let coordinator: Coordinator
    /// What is edited: with an undo manager, and with the queue that the document was made with.
    public let context: Context
    /// Where the context records its steps.
    public let undoManager = UndoManager()
    let values: Locked<Values>
    private let announcer = Announcer<State>()
    private let timer = AutosaveTimer()
    private var observations: [Observation] = []

    struct Values {
        var store: Store
        var flags: State = []
        var news = StateNews()
        var lastError: CoreError?
        /// Of a document without a place: the folder where its file lies meanwhile.
        var refuge: String?
        /// Whether it had none when it was closed.
        var endedUntitled = false
        /// The content of the file as it was read or written last, of a store that is one file. Of an SQLite store which file it
        /// is; a watch tells of others' writes.
        var known: String?
        /// The written state of an SQLite store before it was read by the last revert; nil after a save.
        var reverted: String?
        /// How the host had it opened.
        var options = StoreOptions()
        /// Events since the last save that left something to save.
        var changes = 0
        var autosaveChanges = 0
        var autosaveIdle = 0.0
        /// Autosaves that failed since a save went well.
        var failures = 0

        /// How long to wait after an event that left something to save; nil for ever.
        var autosaveDelay: Double? {
            if autosaveChanges > 0 && changes >= autosaveChanges { return 0 }
            return autosaveIdle > 0 ? autosaveIdle : nil
        }
    }

    /// The most that is waited, in seconds, before a failed autosave is tried again.
    private static let longestPause = 60.0

    // MARK: Making and opening

    /// A document without a place. What it has lies in a folder of its own in `TMPDIR`, which ends with it.
    ///
    /// - Parameters:
    ///   - type: of the file that it will be.
    ///   - queue: of its context.
    public convenience init(
        model: Model, type: StoreType = .sqlite, queue: Context.QueueType = .privateQueue
    ) throws {
        try Document.requireFile(type)
        let refuge = try DocumentRefuge.make()
        do {
            let coordinator = try Coordinator(model: model)
            let store = try coordinator.addStore(type, at: refuge + "/Untitled")
            try self.init(coordinator, store, StoreOptions(), refuge: refuge, queue)
        } catch {
            removeTree(at: refuge)
            throw error
        }
    }

    /// Opens a document that is there.
    ///
    /// - Parameters:
    ///   - model: nil: the one that the store carries, as `Coordinator.open` finds it.
    ///   - options: of the store.
    public static func open(
        _ path: String, model: Model? = nil, options: StoreOptions = StoreOptions(),
        queue: Context.QueueType = .privateQueue
    ) throws -> Document {
        var options = options.migratingByDefault
        options.mustExist = true
        let coordinator = try Coordinator.open(path, model: model, options: options)
        let store = try coordinator.openedStore(at: path)
        return try Document(coordinator, store, options, refuge: nil, queue)
    }

    private init(
        _ coordinator: Coordinator, _ store: Store, _ options: StoreOptions, refuge: String?, _ queue: Context.QueueType
    ) throws {
        self.coordinator = coordinator
        if queue == .main { MainQueue.bindFirstThread() }
        context = Context(on: coordinator, parent: nil, queue: queue)
        context.name = "document"
        context.isShared = true
        var first = Values(store: store)
        (first.refuge, first.options) = (refuge, options)
        if refuge != nil { first.flags = .untitled }
        first.known = Document.content(of: store)
        values = Locked(first)
        observations = [
            context.observe(.objectsDidChange) { [weak self] _, _ in self?.noteChange() },
            coordinator.observe(.remoteChange) { [weak self] _, changes in
                if changes.remote?.isOwn == false { self?.noteForeignChange() }
            },
        ]
        let manager = undoManager
        try context.use { try $0.setUndoManager(manager) }
    }

    deinit {
        timer.cancel()
        guard let refuge = values.withLock(\.refuge) else { return }
        if values.withLock({ $0.flags.contains(.edited) }), !platform_is_forked() {
            DebugLog.write(
                "CoreData: warning: an untitled document was released, and its content is lost; call cst_document_save_as "
                    + "(save_as, saveAs), or close it with CST_UNSAVED_DISCARD (.discard), before releasing it")
        }
        removeTree(at: refuge)
    }

    static func requireFile(_ type: StoreType) throws {
        if type == .inMemory {
            throw CoreError(
                .invalidArgument, code: .persistentStoreInvalidType,
                "a document needs a file, but a store of type InMemory does not have one; use SQLite, XML or Binary",
                value: .string(type.rawValue))
        }
    }

    static func content(of store: Store) -> String? {
        guard store.type == .sqlite else { return store.contentState }
        return (try? StorePlace(store.path))?.number.description
    }

    // MARK: How it stands

    /// nil for a document without a place.
    public var path: String? { values.withLock { $0.refuge == nil ? $0.store : nil }?.path }
    public var type: StoreType { store.type }
    public var store: Store { values.withLock(\.store) }
    /// What the last save failed with, an autosave too; nil when it went well.
    public var lastError: CoreError? { values.withLock(\.lastError) }

    /// How it stands now; looks at the file.
    public var state: State {
        var (flags, store, known) = values.withLock { ($0.flags, $0.store, $0.known) }
        if flags.isDisjoint(with: [.closed, .saving]), Document.content(of: store) != known {
            flags.insert(.changedOnDisk)
        }
        return flags
    }

    /// Whether something is in no file that the host chose: what the context has not saved, or its children, or the content of an
    /// untitled document. Undoing all since the last save leaves nothing. Waits for the queues.
    ///
    /// - Throws: `.wrongThread` where the context is confined to another thread.
    public func hasUnsavedChanges() throws -> Bool {
        let isPending = try context.use { context in
            try context.processPendingChanges()
            return context.hasPersistentChanges
        }
        return isPending || hasChangesElsewhere || values.withLock { $0.refuge != nil && $0.flags.contains(.edited) }
    }

    /// Calls `handler` with the state whenever that changes, in the order of the changes, on the thread that changes it: the context's
    /// queue, who saves, or the watch of the store. While one thread calls it, that thread also delivers the changes of others.
    public func observe(_ handler: @escaping (State) -> Void) -> Observation { announcer.observe(handler) }

    @discardableResult
    func change<Result>(_ body: (inout Values) -> Result) -> Result {
        let (result, delivers) = values.withLock { values in
            let before = values.flags
            let result = body(&values)
            return (result, values.flags != before && values.news.add(values.flags))
        }
        if delivers {
            while let state = values.withLock({ $0.news.next() }) { announcer.tell(state) }
        }
        return result
    }

    /// On the context's queue.
    private func noteChange() {
        let isPending = context.hasPersistentChanges
        let idle = change { values -> Double? in
            // A document without a place has no file to be like.
            if isPending { values.flags.insert(.edited) } else if values.refuge == nil { values.flags.remove(.edited) }
            guard isPending, !values.flags.contains(.saving) else { return nil }
            values.changes += 1
            return values.autosaveDelay
        }
        if let idle { autosave(after: idle) }
    }

    /// A watch may report a commit late, after the file was read. That is not news.
    private func noteForeignChange() {
        var isDone = false
        while !isDone {
            let (store, known, reverted) = values.withLock { ($0.store, $0.known, $0.reverted) }
            let isNews =
                store.type == .sqlite
                ? SQLiteKind.writtenState(ofStoreAt: store.path) != reverted
                : Document.content(of: store) != known
            isDone = change { values in
                // A save that ended meanwhile has made another content the known one.
                guard values.store === store, values.known == known, values.reverted == reverted else { return false }
                if isNews, !values.flags.contains(.closed) { values.flags.insert(.changedOnDisk) }
                return true
            }
        }
    }

    // MARK: Saving

    /// Has the document saved by itself: after so many changes (events that left something to save), and when nothing was changed
    /// for a while; 0 for neither. It is saved on the queue of the context. What that fails with is kept as `lastError`, shows in the
    /// state, and the changes stay; it is tried again after a while, which grows from the idle time (at least a second) to a minute,
    /// and with the next change. What was changed before counts, too. A document without a place is saved into its own folder, and
    /// stays edited.
    ///
    /// - Throws: `.invalidArgument` for a document whose context is confined to a thread, which nobody else can save; what its
    ///   queue refuses work with.
    public func setAutosave(afterChanges changes: Int = 0, idleSeconds: Double = 0) throws {
        guard context.queueType != .caller || changes == 0 && idleSeconds == 0 else {
            throw CoreError(
                .invalidArgument,
                "cannot autosave \(path.map { "the document \($0)" } ?? "the untitled document"): its context is confined to a "
                    + "thread; create the document with a private queue or the main queue", file: path
            )
        }
        values.withLock { ($0.autosaveChanges, $0.autosaveIdle) = (max(changes, 0), max(idleSeconds, 0)) }
        timer.cancel()
        guard changes > 0 || idleSeconds > 0 else { return }
        try context.enqueue { [weak self] context in
            guard let self, context.hasPersistentChanges else { return }
            if let delay = self.values.withLock(\.autosaveDelay) { self.autosave(after: delay) }
        }
    }

    private func autosave(after seconds: Double) {
        if seconds == 0 { return autosaveOrTryAgain() }
        do { try timer.start(after: seconds) { [weak self] in self?.autosaveOrTryAgain() } } catch {
            noteFailure(error)
        }
    }

    private func autosaveOrTryAgain() {
        do { try autosaveNow() } catch {
            // Who closes the document, and refuses work meanwhile, may find that he cannot.
            if (error as? CoreError)?.status != .invalidHandle { noteFailure(error) }
            tryAgain()
        }
    }

    /// On the context's queue.
    private func autosaveNow() throws {
        try context.enqueue { [weak self] context in
            guard let self, !self.values.withLock({ $0.flags.contains(.closed) }) else { return }
            guard context.hasPersistentChanges else { return }
            // Kept for whoever asks, shown by the state, and told when the document is closed.
            do { try self.saveHere(context) } catch { self.tryAgain() }
        }
    }

    private func tryAgain() {
        let pause = values.withLock { values -> Double? in
            guard values.autosaveChanges > 0 || values.autosaveIdle > 0 else { return nil }
            defer { values.failures += 1 }
            let first = max(values.autosaveIdle, 1)
            return max(first, min(first * Double(1 << min(values.failures, 6)), Document.longestPause))
        }
        if let pause { autosave(after: pause) }
    }

    private func noteFailure(_ error: any Error) {
        let known =
            error as? CoreError
            ?? CoreError(
                .internal, "cannot save the document: \(error); report it as a defect of the library", file: path)
        change { values in
            values.flags.remove(.saving)
            if values.flags.contains(.closed) { return }
            values.flags.insert(.failed)
            if known.status == .conflict { values.flags.insert(.conflict) }
            values.lastError = known
        }
    }

    /// Saves what was changed.
    ///
    /// - Throws: `.invalidArgument` for a document without a place; what the save of a context throws, `.conflict` for objects that
    ///   somebody else changed in the file. The changes stay.
    public func save() throws {
        try requireOpen()
        try context.use { context in
            // While it is saved elsewhere, it has none for a moment.
            guard path != nil else {
                throw CoreError(
                    .invalidArgument, code: .persistentStoreSave,
                    "the document is untitled; call cst_document_save_as (save_as, saveAs) with a path")
            }
            try saveHere(context)
        }
    }

    /// What is saved into a file that has lost its name is lost with it.
    private func requireSameFile() throws {
        let (store, known) = values.withLock { ($0.store, $0.known) }
        guard store.type == .sqlite else { return }
        let now = Document.content(of: store)
        if now == known { return }
        let isGone = now == nil || now == "[]"
        throw CoreError(
            .storeIO, code: .persistentStoreSave,
            "\(store.path) \(isGone ? "no longer exists" : "was replaced by another file"); save the document to another path "
                + "with cst_document_save_as (save_as, saveAs)"
                + (isGone ? "" : ", or discard its changes with cst_document_revert (revert)"),
            file: store.path)
    }

    /// - Parameter elsewhere: whether the store was moved for this, so that its file is another one.
    func saveHere(_ context: Context, elsewhere: Bool = false) throws {
        change { $0.flags.insert(.saving) }
        do {
            if !elsewhere { try requireSameFile() }
            try context.save()
        } catch {
            noteFailure(error)
            throw error
        }
        settle { if $0.refuge == nil { $0.flags.remove(.edited) } }
    }

    /// Nothing is amiss any more.
    ///
    /// - Parameter reverted: the written state of an SQLite store before it was read again; nil after a save.
    func settle(reverted: String? = nil, _ body: (inout Values) -> Void) {
        let state = Document.content(of: store)
        change { values in
            body(&values)
            values.flags.subtract([.saving, .failed, .conflict, .changedOnDisk])
            values.lastError = nil
            (values.changes, values.failures) = (0, 0)
            values.known = state
            values.reverted = reverted
        }
    }

    /// Throws away what was not saved, by children of the context too, and reads the file as it is now, also what others wrote.
    /// Steps to undo are forgotten.
    ///
    /// Where somebody has put another file, that is opened. If it is another store, every object has a new ID, and those that the host
    /// has are gone.
    ///
    /// - Throws: `.storeIO` where no file is any more, `.unsavedChanges` for a child with changes that is confined to another thread,
    ///   what opening another one fails with. Nothing is thrown away then.
    public func revert() throws {
        try requireOpen()
        let unreachable = context.unreachableChildren
        if !unreachable.isEmpty {
            throw CoreError(
                .unsavedChanges, code: .persistentStoreOperation,
                "cannot revert \(path.map { "the document \($0)" } ?? "the untitled document"), because child contexts have changes "
                    + "that only their own threads can discard; roll "
                    + "them back there first", children: unreachable.map(\.error), file: path)
        }
        try context.use { context in
            try reopen(context)
            try context.rollback()
            undoManager.removeAllActions()
            let written = store.type == .sqlite ? SQLiteKind.writtenState(ofStoreAt: store.path) : nil
            try context.refreshAll()
            settle(reverted: written) { if $0.refuge == nil { $0.flags.remove(.edited) } }
        }
        // Not within: a child that saves waits for this queue.
        try context.rollbackChildren()
    }

    /// Opens the file that somebody has put in the place of the document's.
    private func reopen(_ context: Context) throws {
        let (former, known, options) = values.withLock { ($0.store, $0.known, $0.options) }
        let place = try StorePlace(former.path)
        guard place.state != .missing else {
            throw CoreError(
                .storeIO, code: .persistentStoreOpen,
                "\(former.path) no longer exists; restore it, or save the document to another path with cst_document_save_as "
                    + "(save_as, saveAs)",
                file: former.path)
        }
        let isSameFile = Document.content(of: former) == known
        // An SQLite store is overwritten in the same file.
        if isSameFile && former.type != .sqlite { return }
        if try StoreMetadata(ofStoreAt: former.path).uuid.description == former.identifier {
            if isSameFile { return }
            if former.type == .sqlite { return try coordinator.setPath(former.path, of: former) }
            // Read now, not with the next fetch: it may be saved elsewhere before.
            if let entity = coordinator.model.entities.first {
                _ = try former.use { try former.backing.fetch(StoreFetch(entity: entity, result: .count)) }
            }
            return
        }
        // Whether it can be opened is known before the former one is let go.
        let trial = try Coordinator(model: coordinator.model)
        try trial.remove(try trial.addStore(at: former.path, options: options))
        // The unsaved changes are to be thrown away, so their end with the store is not told.
        context.giveUpWithChildren()
        try coordinator.remove(former)
        goOn(with: try coordinator.addStore(at: former.path, options: options))
        try context.reset()
    }

    /// Has another store be the document's. Whoever calls this resets the context.
    func goOn(with store: Store) {
        values.withLock { $0.store = store }
        undoManager.removeAllActions()
    }

    // MARK: Closing

    /// What its contexts hold that is in no store yet. Waits for their queues.
    public var unsavedChanges: [UnsavedChanges] { coordinator.unsavedChanges }

    /// Whether children of the context, or other contexts of the document's coordinator, hold what was not saved.
    private var hasChangesElsewhere: Bool {
        coordinator.hasUnsavedChanges(besides: context)
    }

    func requireOpen() throws {
        let (isClosed, isUntitled, store) = values.withLock {
            ($0.flags.contains(.closed), $0.refuge != nil || $0.endedUntitled, $0.store)
        }
        guard isClosed else { return }
        if isUntitled {
            throw CoreError(.invalidHandle, "the untitled document is closed; create another one")
        }
        let remedy = access(store.path, F_OK) == 0 ? "open it again, or create another one" : "create another one"
        throw CoreError(.invalidHandle, "the document \(store.path) is closed; \(remedy)", file: store.path)
    }

    /// Closes the file. Closing twice is fine.
    ///
    /// - Throws: `.unsavedChanges` when something is unsaved and is neither to be saved nor to be lost, with the counts by entity and the
    ///   error of the last save, if that failed, as children; what the save fails with. The document is open then.
    public func close(_ unsaved: Container.Unsaved = .refuse) throws {
        if values.withLock({ $0.flags.contains(.closed) }) { return }
        let isFirst = try coordinator.closeDown(
            waits: unsaved != .discard, called: path.map { "the document \($0)" } ?? "the untitled document"
        ) {
            // Children have to come down before this one is asked.
            if unsaved == .save, hasChangesElsewhere { try coordinator.saveContexts() }
            if unsaved != .discard, try hasUnsavedChanges() {
                guard unsaved == .save else { throw refusal }
                try save()
            }
            timer.cancel()
            change { $0.flags = [.closed] }
            for store in coordinator.stores { try coordinator.remove(store) }
        }
        if !isFirst {
            // The coordinator was closed by itself.
            timer.cancel()
            change { $0.flags = [.closed] }
        }
        let refuge = values.withLock { values in
            defer { values.refuge = nil }
            if values.refuge != nil { values.endedUntitled = true }
            return values.refuge
        }
        if let refuge { removeTree(at: refuge) }
    }

    /// Why the document stays open.
    private var refusal: CoreError {
        let held = unsavedChanges
        let name = path.map { "the document \($0)" } ?? "the untitled document"
        let remedy =
            if path == nil {
                "call cst_document_save_as (save_as, saveAs)"
            } else if hasChangesElsewhere {
                "call save() or rollback() on each of these contexts"
            } else {
                "call cst_document_save (save) to keep them or cst_document_revert (revert) to discard them"
            }
        return CoreError(
            .unsavedChanges, code: .persistentStoreSave,
            "\(name) stays open because "
                + (held.isEmpty ? "it was never saved" : held.map(\.fault).joined(separator: ", and "))
                + "; \(remedy), or close with CST_UNSAVED_DISCARD (.discard)",
            children: held.map(\.error) + (lastError.map { [$0] } ?? []), file: path)
    }
}
