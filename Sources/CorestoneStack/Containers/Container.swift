import CPlatform
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// A model, the stores of its objects, and the contexts on top: all that a program needs, in one place. Core Data's
/// `NSPersistentContainer`. Any thread.
///
///     let container = try Container(name: "Shop", model: model)
///     try container.loadStores()
///     let context = container.viewContext
public final class Container: Sendable {
    /// Of the model, where none is given, and of the file, where no path is.
    public let name: String
    public let coordinator: Coordinator
    /// Names the folder of the data, see `defaultFolder`.
    public let application: String
    private let state: Locked<State>
    /// Opens stores asynchronously.
    private let opener = WorkQueue()

    private struct State {
        var entries: [Entry] = []
        var entriesMade = 0
        /// Whether these are the host's, not the one of a container that was told nothing.
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

    /// What to do about changes that were not saved.
    public typealias Unsaved = UnsavedChanges.Policy

    /// A container with one store: of type SQLite, in the file `<name>.sqlite` of the default folder. Nothing is opened yet.
    ///
    /// - Parameters:
    ///   - model: is frozen. nil: the one with the container's name, from the first of these folders which has it as `.momd`, `.mom`,
    ///     `.xcdatamodeld` or `.xcdatamodel`: `modelFolders`; those in `CORESTONE_MODEL_PATH`; the program's; `../share/<application>`
    ///     seen from there; the default folder; `<application>` below each of `XDG_DATA_DIRS`; the working folder.
    ///   - application: nil: the name of the program's file.
    /// - Throws: the model's first mistake; `.model` with the folders where no model has the name; `.invalidArgument` for a name that
    ///   no file can have.
    public init(name: String, model: Model? = nil, application: String? = nil, modelFolders: [String] = []) throws {
        guard !name.isEmpty, !name.utf8.contains(UInt8(ascii: "/")), !name.utf8.contains(0) else {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOpen,
                "the container name \"\(name)\" is not a valid file name. Use a name that is not empty and does not contain a slash or "
                    + "a NUL character",
                value: .string(name))
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

    /// A container of a store that is there already, opened, without its model if need be: `Coordinator.open`.
    public static func open(
        _ path: String, model: Model? = nil, options: StoreOptions = .readOnly
    ) throws -> Container {
        let coordinator = try Coordinator.open(path, model: model, options: options)
        let store = try coordinator.openedStore(at: path)
        return Container(coordinator, store, options: options)
    }

    public var model: Model { coordinator.model }

    /// `$XDG_DATA_HOME/<application>`, or `$HOME/.local/share/<application>`. It need not be there: what a store needs is made when
    /// it is opened.
    ///
    /// - Parameter application: nil: the name of the program's file.
    /// - Throws: `.invalidArgument` where the environment has neither variable with an absolute path.
    public static func defaultFolder(application: String? = nil) throws -> String {
        try DataFolder.path(application: application ?? DataFolder.program)
    }

    /// The stores to open, in order. Those that are open stay so, whatever is set.
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

    /// Adds a store; the first one takes the place of the one that a container has by itself.
    package func add(_ description: StoreDescription) {
        state.withLock { state in
            if !state.isDescribed { state.entries = state.entries.filter { $0.store != nil || $0.isLoading } }
            state.isDescribed = true
            state.entries.append(state.entry(description))
        }
    }

    // MARK: Opening

    /// Opens the stores that are not open, and calls the handler once for each of them: with the store, or with what went wrong. What
    /// fails is tried again by the next call; the others are open.
    ///
    /// Stores with `shouldAddStoreAsynchronously` are opened one after the other on another thread, where the handler is
    /// called too; the others before this returns.
    ///
    /// - Parameter handler: gets the place of the description, and the description with the path as it is.
    /// - Throws: `.invalidHandle` for a container that was closed.
    public func loadStores(_ handler: @escaping @Sendable (Int, StoreDescription, Result<Store, CoreError>) -> Void)
        throws
    {
        let wanted = try begin()
        let later = wanted.filter { $0.description.shouldAddStoreAsynchronously }
        if !later.isEmpty {
            let work: @Sendable () -> Void = { [self] in for each in later { load(each, handler) } }
            // Without a thread for it, on this one.
            do { try opener.run(work) } catch { work() }
        }
        for each in wanted where !each.description.shouldAddStoreAsynchronously { load(each, handler) }
    }

    /// Opens the stores that are not open, on this thread. What can be opened is open then, also when it throws.
    ///
    /// - Throws: what the one store failed with; for several, an error whose children tell of each.
    public func loadStores() throws {
        var failures: [CoreError] = []
        let wanted = try begin()
        for each in wanted {
            load(each) { _, _, result in if case .failure(let error) = result { failures.append(error) } }
        }
        if failures.count == 1 { throw failures[0] }
        if let first = failures.first {
            throw CoreError(
                first.status, code: .persistentStoreOpen,
                "cannot open \(failures.count) of \(storeDescriptions.count) stores of the container \"\(name)\"; the details "
                    + "list each error",
                children: failures, file: first.file)
        }
    }

    /// Runs `body` on a thread of the container's, and then `ended` there.
    package func inBackground<Value>(
        _ body: @escaping @Sendable (Container) throws -> Value,
        _ ended: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        let work: @Sendable () -> Void = { [self] in ended(Result { try body(self) }) }
        do { try opener.run(work) } catch { ended(.failure(error)) }
    }

    private struct Wanted: Sendable {
        let index, number: Int
        let description: StoreDescription
    }

    /// The stores that nobody opens already.
    private func begin() throws -> [Wanted] {
        try state.withLock { state in
            if state.isClosed { throw Container.closed(name) }
            var wanted: [Wanted] = []
            for index in state.entries.indices {
                if state.entries[index].isLoading || state.entries[index].store?.isOpen == true { continue }
                state.entries[index].isLoading = true
                let entry = state.entries[index]
                wanted.append(Wanted(index: index, number: entry.number, description: entry.description))
            }
            return wanted
        }
    }

    private func load(_ wanted: Wanted, _ handler: (Int, StoreDescription, Result<Store, CoreError>) -> Void) {
        var description = wanted.description
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
            if let index = state.entries.firstIndex(where: { $0.number == wanted.number }) {
                state.entries[index].isLoading = false
                state.entries[index].store = try? result.get()
            }
            return state.isClosed
        }
        if isLate, let store = try? result.get() {
            // Closed meanwhile.
            try? coordinator.remove(store)
            return handler(wanted.index, description, .failure(Container.closed(name)))
        }
        handler(wanted.index, description, result)
    }

    private func path(of description: StoreDescription) throws -> String {
        if let path = description.path { return path }
        if description.type == .inMemory { return name }
        let ending = description.type.map { ".\($0.rawValue.lowercased())" } ?? ".sqlite"
        return try DataFolder.path(application: application) + "/" + name + ending
    }

    private static func closed(_ name: String) -> CoreError {
        CoreError(.invalidHandle, "the container \"\(name)\" is closed; create another one")
    }

    // MARK: Contexts

    /// The context of the main queue, the same each time: for what people see. The first call makes the process's first thread the
    /// main one, if it comes from there and no thread is yet (`MainQueue.bind`).
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

    /// A new context with a queue of its own: any thread gives it work.
    public func newBackgroundContext() -> Context { Context(on: coordinator, parent: nil, queue: .privateQueue) }

    /// Runs `body` later, on the queue of a context that is made for it and ends with it. What it throws is dropped; what it does not
    /// save is lost, and counted in the log.
    ///
    /// - Throws: `.noMemory` when the system gives no thread, `.invalidHandle` when the container is closed, or about to be.
    public func performBackgroundTask(_ body: @escaping @Sendable (Context) throws -> Void) throws {
        try requireOpen()
        try newBackgroundContext().enqueue(body)
    }

    /// The same, and tells how it ended: with what `body` returns or throws, or with what it was refused for. What a body that throws
    /// has not saved is rolled back.
    ///
    /// - Parameter ended: called once: after `body` on its thread, or on the caller's before this returns, when it was refused.
    public func performBackgroundTask<Value>(
        _ body: @escaping @Sendable (Context) throws -> Value,
        ended: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        do {
            try requireOpen()
            try newBackgroundContext().enqueue(
                { context in
                    let result = Result { try body(context) }
                    if case .failure = result {
                        // The context may live on for a moment after `ended`, and would have a close refused.
                        try? context.rollback()
                        context.giveUp()
                    }
                    ended(result)
                }, refused: { ended(.failure($0)) })
        } catch { ended(.failure(error)) }
    }

    /// - Throws: `.invalidHandle` for a container that is closed, or about to be.
    func requireOpen() throws {
        if isClosed { throw Container.closed(name) }
        if coordinator.isClosing {
            throw CoreError(.invalidHandle, "the container \"\(name)\" is closed or being closed; create another one")
        }
    }

    // MARK: Closing

    public var isClosed: Bool { state.withLock(\.isClosed) }

    /// What contexts hold that is in no store yet. Waits for their queues.
    public var unsavedChanges: [UnsavedChanges] { coordinator.unsavedChanges }

    /// Saves what contexts have not saved, those on top of other contexts first.
    public func save() throws { try coordinator.saveContexts() }

    /// Closes the stores. Contexts stay, but can read and save nothing any more. Closing twice is fine.
    ///
    /// The queues of the contexts do what they were given before, but take no more work: whoever gives them some from then on gets an
    /// error (`.invalidHandle`), until it turns out that the container stays open. So what they did is among what is saved. A
    /// thread that the main one waits for must not close a container whose view context has changes, or work to do. With
    /// `.discard` nothing is waited for: work that has not run yet finds the stores closed, as its save tells.
    ///
    /// - Throws: `.unsavedChanges` with a child for each context that has some, its name and its counts by entity, unless they are
    ///   to be saved or lost; what a save fails with; `.invalidArgument` on the queue of a context on which other work waits;
    ///   `.invalidHandle` while another thread closes it. Nothing is closed then.
    public func close(_ unsaved: Unsaved = .refuse) throws {
        if isClosed { return }
        try coordinator.close(unsaved, called: "the container \"\(name)\"") { state.withLock { $0.isClosed = true } }
    }
}
