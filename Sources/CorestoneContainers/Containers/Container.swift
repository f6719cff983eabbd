import CPlatform
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// A model, its stores and its contexts: Core Data's `NSPersistentContainer`. Thread-safe.
///
///     let container = try Container(name: "Shop", model: model)
///     try container.loadStores()
///     let context = container.viewContext
public final class Container: Sendable {
    /// The default name of the model and of the store's file; for a container of `open`, the name of the file.
    public let name: String
    public let coordinator: Coordinator
    /// The name of the data folder, see `defaultFolder`.
    public let application: String
    private let state: Locked<State>
    /// The queue on which stores are opened asynchronously, and on which `inBackground` runs functions.
    private let opener = WorkQueue()

    private struct State {
        var entries: [Entry] = []
        var entriesMade = 0
        /// Whether descriptions were set or added. If false, `entries` has only the default description.
        var isDescribed = false
        var viewContext: Context?
        var isClosed = false

        mutating func entry(_ description: StoreDescription) -> Entry {
            entriesMade += 1
            return Entry(number: entriesMade, description: description)
        }
    }

    private struct Entry {
        let number: Int
        var description: StoreDescription
        var isLoading = false
        var store: Store?
    }

    /// The treatment of unsaved changes.
    public typealias Unsaved = UnsavedChanges.Policy

    /// Creates a container for one SQLite store, the file `<name>.sqlite` in the default folder.
    ///
    /// The store is not opened; `loadStores` opens it.
    ///
    /// - Parameters:
    ///   - model: The model, which is frozen. If nil, the container searches for a `.momd`, `.mom`, `.xcdatamodeld` or
    ///     `.xcdatamodel` with its name. The folders are, in this order: `modelFolders`, those in
    ///     `CORESTONE_MODEL_PATH`, the program's folder, `../share/<application>` relative to the program's folder, the
    ///     default folder, `<application>` in each of `XDG_DATA_DIRS`, and the working directory.
    ///   - application: The name of the data folder; nil for the file name of the program.
    /// - Throws: The errors of `Model.freeze` and of reading the model.
    ///   `.model` with the searched folders if there is no model with the name.
    ///   `.invalidArgument` if the name is not a valid file name.
    public init(name: String, model: Model? = nil, application: String? = nil, modelFolders: [String] = []) throws {
        guard !name.isEmpty, !name.utf8.contains(UInt8(ascii: "/")), !name.utf8.contains(0) else {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOpen,
                "the container name \"\(name)\" is not a valid file name. Use a name that is not empty and does not contain a slash or "
                    + "a NUL byte",
                key: "name", value: .string(name))
        }
        self.name = name
        self.application = application ?? DataFolder.program
        let found = try model ?? DataFolder.model(named: name, application: self.application, folders: modelFolders)
        coordinator = try Coordinator(model: found)
        var first = State()
        first.entries = [first.entry(StoreDescription())]
        state = Locked(first)
    }

    private init(_ coordinator: Coordinator, _ store: Store, options: StoreOptions) {
        name = store.path.split(separator: "/").last.map(String.init) ?? store.path
        application = DataFolder.program
        self.coordinator = coordinator
        var first = State()
        var entry = first.entry(StoreDescription(path: store.path, type: store.type, options: options))
        entry.store = store
        (first.entries, first.isDescribed) = ([entry], true)
        state = Locked(first)
    }

    /// Opens an existing store, and returns a container for it. The model is optional, as in `Coordinator.open`.
    public static func open(
        _ path: String, model: Model? = nil, options: StoreOptions = .readOnly
    ) throws -> Container {
        let coordinator = try Coordinator.open(path, model: model, options: options)
        let store = try coordinator.openedStore(at: path)
        return Container(coordinator, store, options: options)
    }

    public var model: Model { coordinator.model }

    /// Returns the default folder for the stores of an application.
    ///
    /// The folder is `$XDG_DATA_HOME/<application>`, or `$HOME/.local/share/<application>` if the first variable is not
    /// an absolute path.
    ///
    /// The folder need not exist. `loadStores` creates it as `StoreDescription.shouldMakeFolder` specifies.
    ///
    /// - Parameter application: The name of the folder; nil for the file name of the program.
    /// - Throws: `.invalidArgument` if neither variable is an absolute path, or if the application's name is not a
    ///   valid folder name.
    public static func defaultFolder(application: String? = nil) throws -> String {
        try DataFolder.path(application: application ?? DataFolder.program)
    }

    /// The descriptions of the container's stores, in the order of opening. A change does not close open stores.
    public var storeDescriptions: [StoreDescription] {
        get { state.withLock { $0.entries.map(\.description) } }
        set {
            state.withLock { state in
                var former = state.entries
                state.isDescribed = true
                state.entries = newValue.map { description in
                    guard
                        let known = former.firstIndex(where: {
                            $0.description.path == description.path && $0.description.type == description.type
                        })
                    else { return state.entry(description) }
                    var entry = former.remove(at: known)
                    entry.description = description
                    return entry
                }
            }
        }
    }

    /// Adds the description of a store.
    ///
    /// The first call replaces the default description, unless its store is open or being opened.
    package func add(_ description: StoreDescription) {
        state.withLock { state in
            if !state.isDescribed { state.entries = state.entries.filter { $0.store != nil || $0.isLoading } }
            state.isDescribed = true
            state.entries.append(state.entry(description))
        }
    }

    // MARK: Opening

    /// Opens the stores that are not open yet, and calls the handler once for each, with the store or the error.
    ///
    /// The next call tries to open failed stores again.
    ///
    /// Stores with `shouldAddStoreAsynchronously` are opened one at a time on another thread, where the handler is
    /// called too. The other stores are opened before this function returns. If no thread can be created, all stores
    /// are opened on the calling thread.
    ///
    /// - Parameter handler: Receives the index of the description, the description with the actual path, and the
    ///   result.
    /// - Throws: `.invalidHandle` if the container is closed.
    public func loadStores(_ handler: @escaping @Sendable (Int, StoreDescription, Result<Store, CoreError>) -> Void)
        throws
    {
        let pending = try begin()
        let later = pending.filter { $0.description.shouldAddStoreAsynchronously }
        if !later.isEmpty {
            let work: @Sendable () -> Void = { [self] in for each in later { load(each, handler) } }
            // If no thread is available, the stores are opened on this one.
            do { try opener.run(work) } catch { work() }
        }
        for each in pending where !each.description.shouldAddStoreAsynchronously { load(each, handler) }
    }

    /// Opens the stores that are not open yet, on this thread. If a store fails, the other stores are still opened.
    ///
    /// - Throws: The error of the store that failed.
    ///   An error with one child for each store if several failed.
    ///   `.invalidHandle` if the container is closed.
    public func loadStores() throws {
        var failures: [CoreError] = []
        let pending = try begin()
        for each in pending {
            load(each) { _, _, result in if case .failure(let error) = result { failures.append(error) } }
        }
        if failures.count == 1 { throw failures[0] }
        if let first = failures.first {
            throw CoreError(
                first.status, code: .persistentStoreOpen,
                "cannot open \(failures.count) of \(storeDescriptions.count) stores of the container \"\(name)\"; see "
                    + "each error in the details",
                children: failures, file: first.file)
        }
    }

    /// Runs `body` and then `ended` on a background thread of the container.
    ///
    /// If no thread can be created, `ended` is called with the error on the calling thread.
    package func inBackground<Value>(
        _ body: @escaping @Sendable (Container) throws -> Value,
        _ ended: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        let work: @Sendable () -> Void = { [self] in ended(Result { try body(self) }) }
        do { try opener.run(work) } catch { ended(.failure(error)) }
    }

    private struct PendingLoad: Sendable {
        let index, number: Int
        let description: StoreDescription
    }

    /// Marks the stores that are neither open nor being opened as loading, and returns them.
    private func begin() throws -> [PendingLoad] {
        try state.withLock { state in
            if state.isClosed { throw Container.closed(name) }
            var pending: [PendingLoad] = []
            for index in state.entries.indices {
                if state.entries[index].isLoading || state.entries[index].store?.isOpen == true { continue }
                state.entries[index].isLoading = true
                let entry = state.entries[index]
                pending.append(PendingLoad(index: index, number: entry.number, description: entry.description))
            }
            return pending
        }
    }

    private func load(_ pending: PendingLoad, _ handler: (Int, StoreDescription, Result<Store, CoreError>) -> Void) {
        var description = pending.description
        let result: Result<Store, CoreError>
        do {
            description.path = try path(of: description)
            if let path = description.path, description.shouldMakeFolder, description.type != .inMemory,
                !description.isReadOnly, !description.options.mustExist
            {
                try DataFolder.makeFolder(for: path)
            }
            result = .success(
                try coordinator.addStore(
                    description.type, at: description.path ?? name, options: description.options.migratingByDefault))
        } catch {
            let place = description.path ?? name
            let known =
                error as? CoreError
                ?? CoreError(
                    .internal, "cannot open \(place): \(error); report it as a defect of the library", file: place)
            result = .failure(known)
        }
        let isLate = state.withLock { state in
            if let index = state.entries.firstIndex(where: { $0.number == pending.number }) {
                state.entries[index].isLoading = false
                state.entries[index].store = try? result.get()
            }
            return state.isClosed
        }
        if isLate, let store = try? result.get() {
            // The container was closed while the store was opened.
            try? coordinator.remove(store)
            return handler(pending.index, description, .failure(Container.closed(name)))
        }
        handler(pending.index, description, result)
    }

    private func path(of description: StoreDescription) throws -> String {
        if let path = description.path { return path }
        if description.type == .inMemory { return name }
        let ending = description.type.map { ".\($0.rawValue.lowercased())" } ?? ".sqlite"
        return try DataFolder.path(application: application) + "/" + name + ending
    }

    private static func closed(_ name: String) -> CoreError {
        CoreError(
            .invalidHandle,
            "the container \"\(name)\" is closed; create another one with cst_container_new (Container)")
    }

    // MARK: Contexts

    /// The container's context on the main queue, for the user interface; always the same context.
    ///
    /// A call on the first thread of the process binds the main queue to that thread (`MainQueue.bind`), if the queue
    /// is not bound.
    public var viewContext: Context {
        MainQueue.bindFirstThread()
        if let context = state.withLock(\.viewContext) { return context }
        let made = Context(on: coordinator, parent: nil, queue: .main)
        made.name = "view"
        made.isShared = true
        return state.withLock { state in
            if state.viewContext == nil { state.viewContext = made }
            return state.viewContext ?? made
        }
    }

    /// Returns a new context with a private queue. Any thread can enqueue blocks on it.
    public func newBackgroundContext() -> Context { Context(on: coordinator, parent: nil, queue: .privateQueue) }

    /// Returns the context of a background task.
    ///
    /// - Throws: `.invalidHandle` if the container is closed or being closed.
    package func newTaskContext() throws -> Context {
        try requireOpen()
        return newBackgroundContext()
    }

    /// Enqueues `body` on a new background context, which is released afterwards.
    ///
    /// Errors of `body` are ignored. If the application does not retain the context, its unsaved changes are discarded,
    /// and their number is logged.
    ///
    /// - Throws: `.noMemory` if no thread can be created.
    ///   `.invalidHandle` if the container is closed or being closed.
    public func performBackgroundTask(_ body: @escaping @Sendable (Context) throws -> Void) throws {
        try newTaskContext().enqueue(body)
    }

    /// Enqueues `body` on a new background context, and passes the result of `body` to `ended`.
    ///
    /// If `body` throws, unsaved changes are rolled back.
    ///
    /// - Parameter ended: Called once: after `body` on the same thread, or with an error if `body` cannot run. If
    ///   `body` cannot be enqueued, `ended` is called on the caller's thread before this function returns.
    public func performBackgroundTask<Value>(
        _ body: @escaping @Sendable (Context) throws -> Value,
        ended: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        do {
            try newTaskContext().enqueue(
                { context in
                    let result = Result { try body(context) }
                    if case .failure = result { context.discardTask() }
                    ended(result)
                }, refused: { ended(.failure($0)) })
        } catch { ended(.failure(error)) }
    }

    /// Checks that the container is neither closed nor closing.
    ///
    /// - Throws: `.invalidHandle` if it is closed or being closed.
    func requireOpen() throws {
        if isClosed { throw Container.closed(name) }
        if coordinator.isClosing {
            throw CoreError(
                .invalidHandle,
                "the container \"\(name)\" is closed or being closed; create another one with cst_container_new "
                    + "(Container), or try again if closing fails")
        }
    }

    // MARK: Closing

    public var isClosed: Bool { state.withLock(\.isClosed) }

    /// The unsaved changes of all contexts of the container. Waits for their queues.
    public var unsavedChanges: [UnsavedChanges] { coordinator.unsavedChanges }

    /// Saves all contexts of the container, nested contexts before their parents.
    ///
    /// - Throws: The error of a save. Several failures are the children of one error.
    public func save() throws { try coordinator.saveContexts() }

    /// Closes the stores. Contexts remain, but can no longer read or save. Idempotent.
    ///
    /// The queues of the contexts first run the blocks that are already enqueued, so that the changes of these blocks
    /// are included. New blocks are rejected with `.invalidHandle`; if closing fails, the queues accept blocks again.
    /// While the main thread waits for a thread, that thread must not close a container whose view context has changes
    /// or enqueued blocks. With `.discard`, the call does not wait: saves fail in enqueued blocks that run after the
    /// stores were closed.
    ///
    /// - Throws: With `.refuse`, `.unsavedChanges` if a context has unsaved changes, with one child per context that
    ///   contains its name and its counts by entity.
    ///   The error of a save.
    ///   `.invalidArgument` on the queue of a context that has other enqueued blocks.
    ///   Nothing is closed after these errors.
    ///   `.invalidHandle` while another thread closes the container.
    public func close(_ unsaved: Unsaved = .refuse) throws {
        if isClosed { return }
        try coordinator.close(unsaved, called: "the container \"\(name)\"") { state.withLock { $0.isClosed = true } }
    }
}
