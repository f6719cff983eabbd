import CPlatform
import CorestoneFileSystem
import CorestoneGraph
import CorestoneModel
import CorestoneSQLite
import CorestoneValues
import Glibc

/// A document that consists of one store, with undo, saving, autosaving and reverting.
///
/// It corresponds to Core Data's `NSPersistentDocument` and `UIManagedDocument`. Its context must be used on the
/// context's queue. The document itself can be used on any thread, unless the context is confined to a thread.
public final class Document: @unchecked Sendable {
    /// The state of a document.
    public struct State: OptionSet, Sendable {
        public let rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// The document has changes that are not saved to a file that the application chose.
        public static let edited = State(rawValue: 1 << 0)
        public static let saving = State(rawValue: 1 << 1)
        /// The last save failed because another process or context had changed the same objects. Nothing was written.
        public static let conflict = State(rawValue: 1 << 2)
        /// The last save failed with `lastError`.
        public static let failed = State(rawValue: 1 << 3)
        /// The document does not have a path yet; `saveAs` sets it.
        public static let untitled = State(rawValue: 1 << 4)
        /// Another process or coordinator wrote, replaced or deleted the file.
        ///
        /// The change happened after the document was last opened, saved or reverted.
        public static let changedOnDisk = State(rawValue: 1 << 5)
        public static let closed = State(rawValue: 1 << 6)
    }

    public let coordinator: Coordinator
    /// The context of the document, with `undoManager` and the queue that was chosen when the document was created.
    public let context: Context
    /// The undo manager of the context.
    public let undoManager = UndoManager()
    let values: Locked<Values>
    private let stateNotifications = NotificationCenter<State>()
    private let timer = AutosaveTimer()
    private var observations: [Observation] = []

    struct Values {
        var store: Store
        var flags: State = []
        var pendingStates = PendingStates()
        var lastError: CoreError?
        /// The temporary folder with the file of an untitled document; nil for other documents.
        var temporaryFolder: String?
        /// Whether the document was untitled when it was closed.
        var endedUntitled = false
        /// The state of the file's content when an atomic store was last read or written. For an SQLite store, the
        /// identity of the file; a watcher reports writes by other processes.
        var knownContent: String?
        /// The result of `SQLiteKind.writtenState` before the last revert read the store.
        ///
        /// nil after a save, and for stores of other types.
        var reverted: String?
        /// The options with which the application opened the store.
        var options = StoreOptions()
        /// The number of `objectsDidChange` notifications since the last save.
        ///
        /// Counts only the notifications after which the context had unsaved changes.
        var changes = 0
        var autosaveChanges = 0
        var autosaveIdle = 0.0
        /// The number of failed autosaves since the last successful save.
        var failures = 0

        /// The delay until the next autosave, in seconds; nil if neither limit requires an autosave now.
        var autosaveDelay: Double? {
            if autosaveChanges > 0 && changes >= autosaveChanges { return 0 }
            return autosaveIdle > 0 ? autosaveIdle : nil
        }
    }

    /// The longest delay before a failed autosave is tried again, in seconds, unless the idle time is longer.
    private static let longestPause = 60.0

    // MARK: Making and opening

    /// Creates an untitled document.
    ///
    /// Its file is in a temporary folder in `TMPDIR`. The folder is removed when the document is saved to a path,
    /// closed or deallocated.
    ///
    /// - Parameters:
    ///   - type: The type of the store.
    ///   - queue: The queue of the context.
    /// - Throws: `.invalidArgument` for the in-memory type.
    ///   The errors of `Coordinator.addStore`.
    public convenience init(
        model: Model, type: StoreType = .sqlite, queue: Context.QueueType = .privateQueue
    ) throws {
        try Document.requireFile(type)
        let temporaryFolder = try UntitledDocumentFolder.make()
        do {
            let coordinator = try Coordinator(model: model)
            let store = try coordinator.addStore(type, at: temporaryFolder + "/Untitled")
            try self.init(coordinator, store, StoreOptions(), temporaryFolder: temporaryFolder, queue)
        } catch {
            removeTree(at: temporaryFolder)
            throw error
        }
    }

    /// Opens an existing document.
    ///
    /// - Parameters:
    ///   - path: The path, relative to the working directory at the time of the call.
    ///   - model: nil for the model that the store contains, as in `Coordinator.open`.
    ///   - options: The options of the store. By default, the store is opened for writing.
    ///   - queue: The queue of the context.
    /// - Throws: As `Coordinator.open`.
    public static func open(
        _ path: String, model: Model? = nil, options: StoreOptions = StoreOptions(),
        queue: Context.QueueType = .privateQueue
    ) throws -> Document {
        var options = options.migratingByDefault
        options.mustExist = true
        let coordinator = try Coordinator.open(path, model: model, options: options)
        let store = try coordinator.openedStore(at: path)
        return try Document(coordinator, store, options, temporaryFolder: nil, queue)
    }

    private init(
        _ coordinator: Coordinator, _ store: Store, _ options: StoreOptions, temporaryFolder: String?,
        _ queue: Context.QueueType
    ) throws {
        self.coordinator = coordinator
        if queue == .main { MainQueue.bindFirstThread() }
        context = Context(on: coordinator, parent: nil, queue: queue)
        context.name = "document"
        context.isShared = true
        var first = Values(store: store)
        (first.temporaryFolder, first.options) = (temporaryFolder, options)
        if temporaryFolder != nil { first.flags = .untitled }
        first.knownContent = Document.content(of: store)
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
        guard let temporaryFolder = values.withLock(\.temporaryFolder) else { return }
        if values.withLock({ $0.flags.contains(.edited) }), !platform_is_forked() {
            DebugLog.write(
                "CoreData: warning: an untitled document was released, and its content is lost; call cst_document_save_as "
                    + "(save_as, saveAs), or close it with CST_UNSAVED_DISCARD (.discard), before releasing it")
        }
        removeTree(at: temporaryFolder)
    }

    static func requireFile(_ type: StoreType) throws {
        if type == .inMemory {
            throw CoreError(
                .invalidArgument, code: .persistentStoreInvalidType,
                "a document needs a file, but an in-memory store does not have one; use SQLite, XML or Binary",
                key: "type", value: .string(type.rawValue))
        }
    }

    static func content(of store: Store) -> String? {
        guard store.type == .sqlite else { return store.contentState }
        return (try? StoreLocation(store.path))?.number.description
    }

    // MARK: State

    /// The path of the file; nil for an untitled document.
    public var path: String? {
        values.withLock { $0.temporaryFolder == nil && !$0.endedUntitled ? $0.store : nil }?.path
    }
    public var type: StoreType { store.type }
    public var store: Store { values.withLock(\.store) }
    /// The error of the last save or autosave; nil if it succeeded, and after a revert.
    public var lastError: CoreError? { values.withLock(\.lastError) }

    /// The current state. Checks the file.
    public var state: State {
        var (flags, store, knownContent) = values.withLock { ($0.flags, $0.store, $0.knownContent) }
        if flags.isDisjoint(with: [.closed, .saving]), Document.content(of: store) != knownContent {
            flags.insert(.changedOnDisk)
        }
        return flags
    }

    /// Whether a context of the document's coordinator has unsaved changes, or an untitled document was edited.
    ///
    /// If all changes since the last save are undone, a document with a path does not have unsaved changes; an untitled
    /// document still does. The call waits for the queues of the contexts.
    ///
    /// - Throws: `.wrongThread` if the context is confined to another thread.
    public func hasUnsavedChanges() throws -> Bool {
        let isPending = try context.use { context in
            try context.processPendingChanges()
            return context.hasPersistentChanges
        }
        return isPending || hasChangesElsewhere
            || values.withLock { $0.temporaryFolder != nil && $0.flags.contains(.edited) }
    }

    /// Calls `handler` with the state whenever it changes, in the order of the changes.
    ///
    /// The handler runs on the thread that changes the state, for example on the context's queue, a thread that saves
    /// or closes the document, or the watcher of the store. That thread also delivers changes that other threads make
    /// in the meantime.
    public func observe(_ handler: @escaping (State) -> Void) -> Observation { stateNotifications.observe(handler) }

    @discardableResult
    func change<Result>(_ body: (inout Values) -> Result) -> Result {
        let (result, delivers) = values.withLock { values in
            let before = values.flags
            let result = body(&values)
            return (result, values.flags != before && values.pendingStates.add(values.flags))
        }
        if delivers { deliverStates() }
        return result
    }

    private func deliverStates() {
        while let step = values.withLock({ $0.pendingStates.next() }) {
            switch step {
            case .state(let state):
                let calls = stateNotifications.calls(for: state)
                values.withLock { $0.pendingStates.begin(calls) }
            case .call(let call): call()
            }
        }
    }

    /// Updates the state after a change in the context. Runs on the context's queue.
    private func noteChange() {
        let isPending = context.hasPersistentChanges
        let idle = change { values -> Double? in
            // An untitled document stays edited, because it does not have a saved state.
            if isPending {
                values.flags.insert(.edited)
            } else if values.temporaryFolder == nil {
                values.flags.remove(.edited)
            }
            guard isPending, !values.flags.contains(.saving) else { return nil }
            values.changes += 1
            return values.autosaveDelay
        }
        if let idle { autosave(after: idle) }
    }

    /// Sets `changedOnDisk`, unless the watcher reports a commit late, after the file was read.
    private func noteForeignChange() {
        var isDone = false
        while !isDone {
            let (store, knownContent, reverted) = values.withLock { ($0.store, $0.knownContent, $0.reverted) }
            let hasNewContent =
                store.type == .sqlite
                ? SQLiteKind.writtenState(ofStoreAt: store.path) != reverted
                : Document.content(of: store) != knownContent
            isDone = change { values in
                // A save or a revert has changed the known content meanwhile, so the comparison is repeated.
                guard values.store === store, values.knownContent == knownContent, values.reverted == reverted else {
                    return false
                }
                if hasNewContent, !values.flags.contains(.closed) { values.flags.insert(.changedOnDisk) }
                return true
            }
        }
    }

    // MARK: Saving

    /// Enables autosaving after a number of changes, after an idle time, or both; 0 disables each.
    ///
    /// Each processing of pending changes (`objectsDidChange`) after which the context has unsaved changes counts as
    /// one change, also before this call. The document is saved on the context's queue. An untitled document is saved
    /// into its temporary folder, and stays edited.
    ///
    /// If an autosave fails, `lastError` and the state show the failure, and the changes are kept. The autosave is
    /// repeated after the next change, and after the idle time (at least a second). This delay doubles with each
    /// failure, up to a minute, or to the idle time if that is longer.
    ///
    /// - Throws: `.invalidArgument` if the context is confined to a thread, because no other thread can save it.
    ///   The errors of `Context.enqueue`.
    public func setAutosave(afterChanges changes: Int = 0, idleSeconds: Double = 0) throws {
        guard context.queueType != .caller || changes == 0 && idleSeconds == 0 else {
            throw CoreError(
                .invalidArgument,
                "cannot autosave \(path.map { "the document \($0)" } ?? "the untitled document"): its context is confined to a "
                    + "thread; create or open the document with CST_QUEUE_PRIVATE (queue=\"private\", .privateQueue) "
                    + "or CST_QUEUE_MAIN (queue=\"main\", .main)", file: path
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
        if seconds == 0 { return autosaveOrRetry() }
        do { try timer.start(after: seconds) { [weak self] in self?.autosaveOrRetry() } } catch {
            noteFailure(error)
        }
    }

    private func autosaveOrRetry() {
        do { try autosaveNow() } catch {
            // A close in progress rejects the block. The close may fail, so the autosave is tried again.
            if (error as? CoreError)?.status != .invalidHandle { noteFailure(error) }
            retryAutosave()
        }
    }

    /// Enqueues a save on the context's queue.
    private func autosaveNow() throws {
        try context.enqueue { [weak self] context in
            guard let self, !self.values.withLock({ $0.flags.contains(.closed) }) else { return }
            guard context.hasPersistentChanges else { return }
            // The error is kept in `lastError`, shown by the state, and reported when the document is closed.
            do { try self.saveHere(context) } catch { self.retryAutosave() }
        }
    }

    private func retryAutosave() {
        let pause = values.withLock { values -> Double? in
            guard values.autosaveChanges > 0 || values.autosaveIdle > 0 else { return nil }
            defer { values.failures += 1 }
            let first = max(values.autosaveIdle, 1)
            return max(first, min(first * Double(1 << min(values.failures, 6)), Document.longestPause))
        }
        if let pause { autosave(after: pause) }
    }

    private func noteFailure(_ error: any Error) {
        let failure =
            error as? CoreError
            ?? CoreError(
                .internal,
                "cannot save \(path.map { "the document \($0)" } ?? "the untitled document"): \(error); report it as a "
                    + "defect of the library", file: path)
        change { values in
            values.flags.remove(.saving)
            if values.flags.contains(.closed) { return }
            values.flags.insert(.failed)
            values.flags.remove(.conflict)
            if failure.status == .conflict { values.flags.insert(.conflict) }
            values.lastError = failure
        }
    }

    /// Saves the unsaved changes of the context, but not those of its nested contexts.
    ///
    /// - Throws: `.invalidArgument` for an untitled document.
    ///   `.invalidHandle` if the document is closed.
    ///   `.storeIO` if the file of an SQLite store was deleted or replaced.
    ///   The errors of a context's save, for instance `.conflict` if another process changed the same objects in the
    ///   file.
    ///   After an error, the changes are kept.
    public func save() throws {
        try requireOpen()
        try context.use { context in
            // The check is in the block, because a document can be untitled for a moment during `saveAs`.
            guard path != nil else {
                throw CoreError(
                    .invalidArgument, code: .persistentStoreSave,
                    "the document is untitled; call cst_document_save_as (save_as, saveAs) with a path")
            }
            try saveHere(context)
        }
    }

    /// Throws if the file of an SQLite store was deleted or replaced, because a save into the old file would be lost.
    private func requireSameFile() throws {
        let (store, knownContent) = values.withLock { ($0.store, $0.knownContent) }
        guard store.type == .sqlite else { return }
        let now = Document.content(of: store)
        if now == knownContent { return }
        let isGone = now == nil || now == "[]"
        let problem =
            now == nil
            ? "no longer exists or cannot be accessed" : isGone ? "no longer exists" : "was replaced by another file"
        throw CoreError(
            .storeIO, code: .persistentStoreSave,
            "\(store.path) \(problem); save the document to another path with cst_document_save_as (save_as, saveAs)"
                + (isGone ? "" : ", or discard its changes with cst_document_revert (revert)"),
            file: store.path)
    }

    /// Saves the context, and updates the state.
    ///
    /// - Parameter afterMove: Whether the store was moved for this save, so that the file is a different one.
    func saveHere(_ context: Context, afterMove: Bool = false) throws {
        change { $0.flags.insert(.saving) }
        do {
            if !afterMove { try requireSameFile() }
            try context.save()
        } catch {
            noteFailure(error)
            throw error
        }
        resetState { if $0.temporaryFolder == nil { $0.flags.remove(.edited) } }
    }

    /// Resets the state after a successful save or revert.
    ///
    /// - Parameter reverted: The result of `SQLiteKind.writtenState` before the store was read again; nil after a save,
    ///   and for stores of other types.
    func resetState(reverted: String? = nil, _ body: (inout Values) -> Void) {
        let state = Document.content(of: store)
        change { values in
            body(&values)
            values.flags.subtract([.saving, .failed, .conflict, .changedOnDisk])
            values.lastError = nil
            (values.changes, values.failures) = (0, 0)
            values.knownContent = state
            values.reverted = reverted
        }
    }

    /// Discards unsaved changes, including those of nested contexts, and reads the current file.
    ///
    /// All undo steps are removed.
    ///
    /// If the file was replaced, the new file is opened. If the new file is another store, every object has a new ID,
    /// and existing objects become invalid.
    ///
    /// - Throws: `.storeIO` if the file no longer exists.
    ///   `.unsavedChanges` for a nested context that has changes and is confined to another thread.
    ///   `.invalidHandle` if the document is closed.
    ///   The errors of opening another file.
    ///   Nothing is discarded in these cases.
    public func revert() throws {
        try requireOpen()
        let unreachable = context.unreachableChildren
        if !unreachable.isEmpty {
            let isOne = unreachable.count == 1
            throw CoreError(
                .unsavedChanges, code: .persistentStoreOperation,
                "cannot revert \(path.map { "the document \($0)" } ?? "the untitled document"), because "
                    + (isOne
                        ? "a nested context may have changes that only its own thread can discard"
                        : "nested contexts may have changes that only their own threads can discard")
                    + "; call cst_context_rollback (rollback) on \(isOne ? "that thread" : "these threads") first",
                children: unreachable.map(\.error), file: path)
        }
        try context.use { context in
            try reopen(context)
            try context.rollback()
            undoManager.removeAllActions()
            let written = store.type == .sqlite ? SQLiteKind.writtenState(ofStoreAt: store.path) : nil
            try context.refreshAll()
            resetState(reverted: written) { if $0.temporaryFolder == nil { $0.flags.remove(.edited) } }
        }
        // This runs outside the context's queue, because a child that saves waits for this queue.
        try context.rollbackChildren()
    }

    /// Opens the new file if the document's file was replaced.
    private func reopen(_ context: Context) throws {
        let (former, knownContent, options) = values.withLock { ($0.store, $0.knownContent, $0.options) }
        let place = try StoreLocation(former.path)
        guard place.state != .missing else {
            throw CoreError(
                .storeIO, code: .persistentStoreOpen,
                "\(former.path) no longer exists; restore it, or save the document to another path with cst_document_save_as "
                    + "(save_as, saveAs)",
                file: former.path)
        }
        let isSameFile = Document.content(of: former) == knownContent
        // An SQLite store can be replaced within the same file.
        if isSameFile && former.type != .sqlite { return }
        if try StoreMetadata(ofStoreAt: former.path).uuid.description == former.identifier {
            if isSameFile { return }
            if former.type == .sqlite { return try coordinator.setPath(former.path, of: former) }
            // The file is read now, because the document may be saved to another path before the next fetch.
            if let entity = coordinator.model.entities.first {
                _ = try former.use { try former.backing.fetch(StoreFetch(entity: entity, result: .count)) }
            }
            return
        }
        // A trial shows whether the new file can be opened, before the previous store is removed.
        let trial = try Coordinator(model: coordinator.model)
        try trial.remove(try trial.addStore(at: former.path, options: options))
        // The unsaved changes are discarded intentionally, so their loss is not logged.
        context.allowLossWithChildren()
        try coordinator.remove(former)
        resume(with: try coordinator.addStore(at: former.path, options: options))
        try context.reset()
    }

    /// Replaces the document's store. The caller must reset the context.
    func resume(with store: Store) {
        values.withLock { $0.store = store }
        undoManager.removeAllActions()
    }

    // MARK: Closing

    /// The unsaved changes of the document's contexts. Waits for their queues.
    public var unsavedChanges: [UnsavedChanges] { coordinator.unsavedChanges }

    /// Whether nested contexts, or other contexts of the document's coordinator, have unsaved changes.
    private var hasChangesElsewhere: Bool {
        coordinator.hasUnsavedChanges(besides: context)
    }

    func requireOpen() throws {
        let (isClosed, isUntitled, store) = values.withLock {
            ($0.flags.contains(.closed), $0.temporaryFolder != nil || $0.endedUntitled, $0.store)
        }
        guard isClosed else { return }
        if isUntitled {
            throw CoreError(
                .invalidHandle, "the untitled document is closed; create another one with cst_document_new (Document)")
        }
        let remedy =
            (access(store.path, F_OK) == 0 ? "open it again with cst_document_open (Document.open), or " : "")
            + "create another one with cst_document_new (Document)"
        throw CoreError(.invalidHandle, "the document \(store.path) is closed; \(remedy)", file: store.path)
    }

    /// Closes the file. Idempotent.
    ///
    /// - Throws: With `.refuse`, `.unsavedChanges` if there are unsaved changes. The children are the counts by entity
    ///   of each context with changes, and the error of the last save if that save failed.
    ///   With `.save`, the errors of a save.
    ///   With `.save`, `.invalidArgument` for an untitled document with unsaved changes.
    ///   The document stays open after these errors.
    ///   `.invalidHandle` while another call closes the document.
    public func close(_ unsaved: Container.Unsaved = .refuse) throws {
        if values.withLock({ $0.flags.contains(.closed) }) { return }
        let isFirst = try coordinator.closeDown(
            waits: unsaved != .discard, called: path.map { "the document \($0)" } ?? "the untitled document"
        ) {
            // Nested contexts are saved first, so that their changes are in this context.
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
            // The application closed the coordinator before the document.
            timer.cancel()
            change { $0.flags = [.closed] }
        }
        let temporaryFolder = values.withLock { values in
            defer { values.temporaryFolder = nil }
            if values.temporaryFolder != nil { values.endedUntitled = true }
            return values.temporaryFolder
        }
        if let temporaryFolder { removeTree(at: temporaryFolder) }
    }

    /// The error for a document that cannot be closed because of unsaved changes.
    private var refusal: CoreError {
        let held = unsavedChanges
        let name = path.map { "the document \($0)" } ?? "the untitled document"
        let remedy =
            if hasChangesElsewhere {
                "call cst_context_save (save) or cst_context_rollback (rollback) on "
                    + (held.count == 1 ? "the context" : "each of these contexts")
                    + (path == nil ? " and then cst_document_save_as (save_as, saveAs)" : "")
            } else if path == nil {
                "call cst_document_save_as (save_as, saveAs)"
            } else {
                "call cst_document_save (save) to keep them or cst_document_revert (revert) to discard them"
            }
        return CoreError(
            .unsavedChanges, code: .persistentStoreSave,
            "\(name) stays open because "
                + (held.isEmpty ? "it is not saved to a path" : UnsavedChanges.faults(held))
                + "; \(remedy), or close with CST_UNSAVED_DISCARD (.discard)",
            children: held.map(\.error) + (lastError.map { [$0] } ?? []), file: path)
    }
}
