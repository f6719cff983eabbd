import Corestone
import Glibc

// Helpers for commands that create or change stores.

extension Manual {
    static let timeout = Option(
        "timeout", "the longest wait for the locks of other programs; by default 5", value: "SECONDS")
    static let replace = Option("replace", "overwrite the store at TO, in one step")
}

extension Command {
    /// Opens an existing store with the normal locks.
    ///
    /// If it is not writable, it is opened read-only, without locks or log files.
    func openSharedStore(_ path: String, _ options: Options) throws -> Coordinator {
        let model = try suggestingShowForModels(path) { try options.model(forStoreAt: path) }
        var settings = try storeOptions(options)
        settings.mustExist = true
        do {
            return try suggestingShowForModels(path) { try Coordinator.open(path, model: model, options: settings) }
        } catch let
            error as CoreError where error.status == .storeReadOnly
        {
            return try suggestingShowForModels(path) { try Coordinator.open(path, model: model, options: .readOnly) }
        }
    }

    /// Returns the opened store. Throws if it does not have a persistent history.
    func storeWithHistory(of coordinator: Coordinator, _ path: String) throws -> Store {
        guard let store = coordinator.stores.first, try coordinator.currentHistoryToken() != nil else {
            if let type = coordinator.stores.first?.type, type != .sqlite {
                throw CoreError(
                    .invalidArgument,
                    "\(path) is of type \(type.rawValue), but a persistent history requires an SQLite store; convert it with "
                        + "corestone convert, and open the new store with CST_STORE_HISTORY (history=True, "
                        + "keepsHistory)",
                    file: path)
            }
            throw CoreError(
                .invalidArgument,
                "\(path) does not have a persistent history; open it once with CST_STORE_HISTORY (history=True, keepsHistory) to start one",
                file: path)
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

    /// Creates a coordinator for operations that do not need a model.
    func coordinatorWithoutModel() throws -> Coordinator { try Coordinator(model: Model()) }

    /// Throws if the path that the command would create already exists. An empty file is accepted.
    func requireFree(_ path: String, _ remedy: String) throws {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        if status.st_mode & S_IFMT == S_IFREG, status.st_size == 0 { return }
        throw UsageError("\(path) already exists; \(remedy)")
    }
}

extension HistoryRequest.Start {
    /// Parses a position in the history from the command line. `name` is the option or operand.
    init(typed text: String, _ name: String, _ store: Store) throws {
        if let number = Int64(text), number >= 0 {
            self = .token(HistoryToken(storeIdentifier: store.identifier, transactionNumber: number))
        } else if text.hasPrefix("{") {
            self = .token(try HistoryToken(json: text))
        } else if let date = try? ReferenceDate.parse(text, assumingUTC: true) {
            self = .date(date)
        } else {
            throw UsageError(
                "\(name) must be a transaction number, a history token, or a date such as 2026-11-29T10:00:00Z, not "
                    + "\"\(text)\"")
        }
    }

    /// Parses a past position. A number beyond the last transaction is an error.
    init(past text: String, _ name: String, of coordinator: Coordinator, _ store: Store) throws {
        let last = try coordinator.currentHistoryToken(of: [store])?.transactionNumber(ofStore: store.identifier) ?? 0
        if let number = Int64(text), number > last {
            throw UsageError(
                last == 0
                    ? "\(name) is \(number), but the history of \(store.path) does not have a transaction yet; pass 0"
                    : "\(name) is \(number), but the last transaction of \(store.path) is \(last); pass a number up to \(last)"
            )
        }
        try self.init(typed: text, name, store)
    }
}

extension StoreType {
    /// Parses the name of a store type from the command line.
    static func named(_ name: String) throws -> StoreType {
        if name.lowercased() == "memory" { return .inMemory }
        do { return try StoreTypes.type(named: name) } catch is CoreError {
            // The library's message also offers to register a type, which the tool cannot do.
            let known = StoreTypes.names.map { "\"\($0)\"" }
            throw UsageError(
                "\"\(name)\" is not a store type; use \(known.dropLast().joined(separator: ", ")) or "
                    + (known.last ?? ""))
        }
    }
}
