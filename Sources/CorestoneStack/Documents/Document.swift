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
    private let values: Locked<Values>
    private let announcer = Announcer<State>()
    private let timer = AutosaveTimer()
    private var observations: [Observation] = []

    private struct Values {
        var store: Store
        var flags: State = []
        var lastError: CoreError?
        /// Of a document without a place: the folder where its file lies meanwhile.
        var refuge: String?
        /// The content of the file as it was read or written last, of a store that is one file. Of an SQLite store a watch tells.
        var known: String?
        /// Events since the last save that left something to save.
        var changes = 0
        var autosaveChanges = 0
        var autosaveIdle = 0.0
    }

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
            try self.init(coordinator, store, refuge: refuge, queue)
        } catch {
            DocumentRefuge.remove(refuge)
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
        var options = options
        options.mustExist = true
        let coordinator = try Coordinator.open(path, model: model, options: options)
        guard let store = coordinator.stores.first else { throw CoreError(.internal, "the store was not kept") }
        return try Document(coordinator, store, refuge: nil, queue)
    }

    private init(_ coordinator: Coordinator, _ store: Store, refuge: String?, _ queue: Context.QueueType) throws {
        self.coordinator = coordinator
        if queue == .main { MainQueue.bindFirstThread() }
        context = Context(on: coordinator, parent: nil, queue: queue)
        context.name = "document"
        var first = Values(store: store)
        first.refuge = refuge
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
        if let refuge = values.withLock(\.refuge) { DocumentRefuge.remove(refuge) }
    }

    private static func requireFile(_ type: StoreType) throws {
        if type == .inMemory {
            throw CoreError(
                .invalidArgument, code: .persistentStoreInvalidType,
                "a document is a file, and a store of type InMemory is none; use SQLite, XML or Binary")
        }
    }

    private static func content(of store: Store) -> String? { store.type == .sqlite ? nil : store.contentState }

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

    /// Whether something is in no file that the host chose: what the context has not saved, or the content of an untitled document.
    /// Undoing all since the last save leaves nothing. Waits for the queue.
    ///
    /// - Throws: `.wrongThread` where the context is confined to another thread.
    public func hasUnsavedChanges() throws -> Bool {
        let isPending = try context.use { context in
            try context.processPendingChanges()
            return context.hasPersistentChanges
        }
        return isPending || values.withLock { $0.refuge != nil && $0.flags.contains(.edited) }
    }

    /// Calls `handler` with the state whenever that changes, on the thread that changes it: the context's queue, or who saves.
    public func observe(_ handler: @escaping (State) -> Void) -> Observation { announcer.observe(handler) }

    private func change(_ body: (inout Values) -> Void) {
        let (before, after) = values.withLock { values in
            let before = values.flags
            body(&values)
            return (before, values.flags)
        }
        if before != after { announcer.tell(after) }
    }

    /// On the context's queue.
    private func noteChange() {
        let isPending = context.hasPersistentChanges
        var isDue = false, idle = 0.0
        change { values in
            // A document without a place has no file to be like.
            if isPending { values.flags.insert(.edited) } else if values.refuge == nil { values.flags.remove(.edited) }
            guard isPending, !values.flags.contains(.saving) else { return }
            values.changes += 1
            isDue = values.autosaveChanges > 0 && values.changes >= values.autosaveChanges
            idle = values.autosaveIdle
        }
        if isDue {
            autosaveLater()
        } else if idle > 0 {
            timer.start(after: idle) { [weak self] in self?.autosaveLater() }
        }
    }

    /// What a watch tells late, of a file that was read meanwhile, is no news.
    private func noteForeignChange() {
        let content = Document.content(of: store)
        change { if content == nil || content != $0.known { $0.flags.insert(.changedOnDisk) } }
    }

    // MARK: Saving

    /// Has the document saved by itself: after so many changes (events that left something to save), and when nothing was changed
    /// for a while; 0 for neither. It is saved on the queue of the context. What that fails with is kept as `lastError`, shows in the
    /// state, and the changes stay. A document without a place is saved into its own folder, and stays edited.
    ///
    /// - Throws: `.invalidArgument` for a document whose context is confined to a thread, which nobody else can save.
    public func setAutosave(afterChanges changes: Int = 0, idleSeconds: Double = 0) throws {
        guard context.queueType != .caller || changes == 0 && idleSeconds == 0 else {
            throw CoreError(
                .invalidArgument,
                "a document whose context is confined to a thread cannot be saved by itself; make it with a private queue, or the main one"
            )
        }
        values.withLock { ($0.autosaveChanges, $0.autosaveIdle) = (max(changes, 0), max(idleSeconds, 0)) }
        if !(idleSeconds > 0) { timer.cancel() }
    }

    private func autosaveLater() {
        try? context.enqueue { [weak self] context in
            guard let self, !self.values.withLock({ $0.flags.contains(.closed) }) else { return }
            // Kept for whoever asks, shown by the state, and told when the document is closed.
            if context.hasPersistentChanges { try? self.saveHere(context) }
        }
    }

    /// Saves what was changed.
    ///
    /// - Throws: `.invalidArgument` for a document without a place; what the save of a context throws, `.conflict` for objects that
    ///   somebody else changed in the file. The changes stay.
    public func save() throws {
        try requireOpen()
        guard path != nil else {
            throw CoreError(
                .invalidArgument, code: .persistentStoreSave,
                "the document has no place yet; save it to a path that you choose (save as)")
        }
        try context.use { try saveHere($0) }
    }

    private func saveHere(_ context: Context) throws {
        change { $0.flags.insert(.saving) }
        do { try context.save() } catch {
            let known = error as? CoreError ?? CoreError(.internal, "\(error)")
            change { values in
                values.flags.remove(.saving)
                values.flags.insert(.failed)
                if known.status == .conflict { values.flags.insert(.conflict) }
                values.lastError = known
            }
            throw error
        }
        settle { if $0.refuge == nil { $0.flags.remove(.edited) } }
    }

    /// Nothing is amiss any more.
    private func settle(_ body: (inout Values) -> Void) {
        let state = Document.content(of: store)
        change { values in
            body(&values)
            values.flags.subtract([.saving, .failed, .conflict, .changedOnDisk])
            values.lastError = nil
            values.changes = 0
            values.known = state
        }
    }

    /// Saves the document to another place, and goes on there. What is at its former place stays as it was last saved.
    ///
    /// Objects stay what they are, unless the type changes: then every object has a new ID, and those that the host has are gone.
    ///
    /// - Parameters:
    ///   - path: where nothing is, or a store, if that may be replaced; relative to the working directory at the time of the call.
    ///   - type: nil: as it is.
    ///   - replaces: whether a store that is there may be overwritten.
    /// - Throws: `.invalidArgument` for the document's own place and for one where something is; what saving throws. The document is
    ///   where it was then, with its changes. Only when a file of another type cannot be written, after all was copied, it is a
    ///   document without a place that has them, for another try.
    public func saveAs(_ path: String, type: StoreType? = nil, replaces: Bool = false) throws {
        try requireOpen()
        try context.use { context in
            try context.processPendingChanges()
            // What cannot be saved leaves no file behind.
            if context.hasPersistentChanges { try context.validate() }
            let former = store, refuge = values.withLock(\.refuge)
            let wanted = type ?? former.type
            try Document.requireFile(wanted)
            let place = try StorePlace(path)
            guard try place.path != StorePlace(former.path).path else {
                throw CoreError(
                    .invalidArgument, code: .persistentStoreOperation,
                    "\(path) is where the document is; save it there",
                    file: path)
            }
            let isNew = place.state == .missing
            guard isNew || replaces else {
                throw CoreError(
                    .invalidArgument, code: .persistentStoreOperation,
                    "there is something at \(path) already; choose another path, or have it replaced", file: path)
            }
            if wanted == former.type {
                try move(former, to: place, isNew: isNew, context)
            } else {
                try convert(former, to: wanted, at: place, isNew: isNew, context)
            }
            settle { values in
                values.refuge = nil
                values.flags.subtract([.untitled, .edited])
            }
            if let refuge { DocumentRefuge.remove(refuge) }
        }
    }

    /// The same store at another place.
    private func move(_ store: Store, to place: StorePlace, isNew: Bool, _ context: Context) throws {
        let former = store.path, path = place.absolute, type = store.type
        if !isNew {
            // In one step, and under the locks of those who use it.
            let staging = path + "~" + UUIDValue.random().description
            defer { DocumentRefuge.removeStore(staging, coordinator, type) }
            if type == .sqlite { try coordinator.backup(store, to: staging) }
            try coordinator.replaceStore(type, at: path, byStoreAt: type == .sqlite ? staging : former)
        } else if type == .sqlite {
            try coordinator.backup(store, to: path)
        }
        do {
            try coordinator.setPath(path, of: store)
            try saveHere(context)
        } catch {
            try? coordinator.setPath(former, of: store)
            if isNew { DocumentRefuge.removeStore(path, coordinator, type) }
            throw error
        }
    }

    /// A store of another type. What was not saved goes into a copy first, so that the former file stays as it is.
    private func convert(
        _ former: Store, to type: StoreType, at place: StorePlace, isNew: Bool, _ context: Context
    ) throws {
        if values.withLock(\.refuge) == nil {
            let refuge = try DocumentRefuge.make()
            do { try move(former, to: StorePlace(refuge + "/Untitled"), isNew: true, context) } catch {
                DocumentRefuge.remove(refuge)
                throw error
            }
            // Until it has its new place it has none: should that fail, nothing is lost.
            change { values in
                values.refuge = refuge
                values.flags.formUnion([.untitled, .edited])
            }
        } else {
            try saveHere(context)
        }
        if !isNew { DocumentRefuge.removeStore(place.absolute, coordinator, nil) }
        let new = try coordinator.migrateStore(former, to: type, at: place.absolute)
        let refuge = values.withLock { values in
            defer { (values.refuge, values.store) = (nil, new) }
            return values.refuge
        }
        if let refuge { DocumentRefuge.remove(refuge) }
        undoManager.removeAllActions()
        try context.reset()
    }

    /// Throws away what was not saved, and reads the file as it is now, also what others wrote. Steps to undo are forgotten.
    public func revert() throws {
        try requireOpen()
        try context.use { context in
            try context.rollback()
            undoManager.removeAllActions()
            try context.refreshAll()
            settle { if $0.refuge == nil { $0.flags.remove(.edited) } }
        }
    }

    // MARK: Closing

    /// Whether children of the context, or other contexts of the document's coordinator, hold what was not saved.
    private var hasChangesElsewhere: Bool {
        coordinator.hasUnsavedChanges(besides: context)
    }

    private func requireOpen() throws {
        if values.withLock({ $0.flags.contains(.closed) }) {
            throw CoreError(.invalidHandle, "the document is closed; open it again")
        }
    }

    /// Closes the file. Closing twice is fine.
    ///
    /// - Throws: `.unsavedChanges` when something is unsaved and is neither to be saved nor to be lost, with the counts and the
    ///   error of the last save, if that failed, as children; what the save fails with. The document is open then.
    public func close(_ unsaved: Container.Unsaved = .refuse) throws {
        if values.withLock({ $0.flags.contains(.closed) }) { return }
        // Children have to come down before this one is asked.
        if unsaved == .save, hasChangesElsewhere { try coordinator.saveContexts() }
        if unsaved != .discard, try hasChangesElsewhere || hasUnsavedChanges() {
            guard unsaved == .save else {
                throw CoreError(
                    .unsavedChanges, code: .persistentStoreSave,
                    "the document \(path ?? "without a place") stays open, since it has changes that were not saved; save it, or close "
                        + "it with the policy to save or to discard them",
                    children: coordinator.unsavedChanges.map(\.error) + (lastError.map { [$0] } ?? []), file: path)
            }
            try save()
        }
        timer.cancel()
        change { $0.flags = [.closed] }
        for store in coordinator.stores { try coordinator.remove(store) }
        let refuge = values.withLock { values in
            defer { values.refuge = nil }
            return values.refuge
        }
        if let refuge { DocumentRefuge.remove(refuge) }
    }
}
