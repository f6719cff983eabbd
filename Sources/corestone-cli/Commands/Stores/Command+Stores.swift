import Corestone
import Glibc

// What the commands share that make stores, or change them.

extension Manual {
    static let timeout = Option(
        "timeout", "the longest wait for the locks of other programs; by default 5", value: "SECONDS")
    static let replace = Option("replace", "overwrite the store at TO, in one step")
}

extension Command {
    /// Opens a store that is there and takes part in its locks, as every program that uses it does; read-only where nothing may be
    /// written, and without a trace then.
    func openSharedStore(_ path: String, _ options: Options) throws -> Coordinator {
        let model = try takingStore(path) { try options.model(forStoreAt: path) }
        var settings = try storeOptions(options)
        settings.mustExist = true
        do { return try takingStore(path) { try Coordinator.open(path, model: model, options: settings) } } catch let
            error as CoreError where error.status == .storeReadOnly
        {
            return try takingStore(path) { try Coordinator.open(path, model: model, options: .readOnly) }
        }
    }

    /// The store that was opened; it must have a persistent history.
    func storeWithHistory(of coordinator: Coordinator, _ path: String) throws -> Store {
        guard let store = coordinator.stores.first, try coordinator.currentHistoryToken() != nil else {
            throw CoreError(.invalidArgument, "\(path) has no persistent history", file: path)
        }
        return store
    }

    func storeOptions(_ options: Options) throws -> StoreOptions {
        var settings = StoreOptions()
        if let text = options["timeout"] {
            guard let seconds = Double(text), seconds >= 0, seconds < 1e6 else {
                throw UsageError(
                    "--timeout must be a number of seconds, at least 0 and less than 1000000, not \"\(text)\"")
            }
            settings.busyTimeoutMilliseconds = Int(seconds * 1000)
        }
        return settings
    }

    /// A coordinator for what needs no model.
    func bareCoordinator() throws -> Coordinator { try Coordinator(model: Model()) }

    /// Throws when something is at the path that the command would make.
    func requireFree(_ path: String, _ remedy: String) throws {
        var facts = stat()
        guard lstat(path, &facts) == 0 else { return }
        if facts.st_mode & S_IFMT == S_IFREG, facts.st_size == 0 { return }
        throw UsageError("\(path) already exists; \(remedy)")
    }
}

extension StoreType {
    /// As people type it.
    static func named(_ name: String) throws -> StoreType {
        if name.lowercased() == "memory" { return .inMemory }
        do { return try StoreTypes.type(named: name) } catch let error as CoreError { throw UsageError(error.message) }
    }
}
