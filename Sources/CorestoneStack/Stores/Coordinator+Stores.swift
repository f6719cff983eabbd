import CorestoneFiles
import CorestoneGraph
import CorestoneMigration
import CorestoneModel
import CorestoneSQLite
import CorestoneValues

extension Coordinator {
    /// Opens the store at `path`, or makes it when nothing is there.
    ///
    /// - Parameters:
    ///   - type: nil for that of the store which is there, and SQLite where none is.
    ///   - path: relative to the working directory at the time of the call. Of a store in memory only what it is called.
    ///   - options: how to open it.
    /// - Returns: the store, which stays open until it is removed or the coordinator ends.
    /// - Throws: `.storeIO`, `.storeBusy`, `.storeReadOnly`, `.storeCorrupt`, `.notAStore` with code 134080 when it cannot be opened;
    ///   `.modelMismatch` (134100), which names entity and property, when it was written with another model; `.invalidArgument`
    ///   for a type that there is not (134000), or a configuration that the model lacks; `.unsupported` for a model that asks
    ///   for more than such a store can do. Nothing on disk has changed then.
    @discardableResult
    public func addStore(
        _ type: StoreType? = nil, at path: String, options: StoreOptions = StoreOptions()
    ) throws -> Store {
        // Nothing is made for a configuration that does not exist.
        _ = try model.entities(ofConfiguration: options.configuration)
        let kind = try StoreTypes.kind(of: type, at: path)
        // Nor for a model that asks for too much.
        try check(kind.abilities, ofStoreAt: path)
        let warnings = try StoreTypes.warnings(options, kind.type, path)
        try options.historyRetention?.requireSound()
        let backing = try failingBeyondFileSize { try openMigrated(kind, path, options) }
        let store = try add(backing, configuration: options.configuration, warnings: warnings)
        if let retention = options.historyRetention { purgeAutomatically(store, to: retention) }
        return store
    }

    /// The store of a coordinator that was opened for one, by `open(_:model:options:)`.
    ///
    /// - Parameter path: for the error.
    package func openedStore(at path: String) throws -> Store {
        if let store = stores.first { return store }
        throw CoreError(
            .internal,
            "the coordinator does not have the store \(path) that it opened; report it as a defect of the library",
            file: path)
    }

    /// Migrates a store of one file first if it is of another version of the model and the options ask for it. SQLite stores
    /// do that themselves.
    private func openMigrated(
        _ kind: any StoreKind, _ path: String, _ options: StoreOptions
    ) throws -> any PersistentStore {
        var options = options
        options.migration = options.migration?.withRoutes
        var attempts = 0
        while true {
            do {
                return try kind.open(path, model: model, options: options)
            } catch let error as CoreError
                where error.code == CocoaCode.persistentStoreIncompatibleVersionHash.rawValue
            {
                guard let atomic = kind as? AtomicKind, let given = options.migration, given.isAutomatic,
                    !options.ignoresVersioning, !options.isReadOnly, attempts < 5
                else { throw error }
                // Another process may write the store meanwhile; then it is migrated again, or was migrated.
                attempts += 1
                let migration = FileMigration(
                    kind: atomic, path: path, model: model, options: options, migration: given)
                switch try migration.run() {
                case .migrated(let store): return store
                case .migratedByOthers: break
                case .changed: if attempts == 5 { throw migration.busy }
                }
            }
        }
    }

    /// Saves a store under another path or as another type, and goes on with that one: what it holds is copied, values in files of
    /// their own and what the application wrote into the metadata too, or set and did not save yet; then it is removed, as by
    /// `remove`. Its file stays.
    ///
    /// The new store has an identifier of its own, so every object has a new ID: `storesDidChange` tells which. Objects of contexts
    /// are those of a removed store; changes that were not saved before cannot be saved any more. A history begins anew.
    ///
    /// - Parameters:
    ///   - type: of the new store.
    ///   - path: where nothing is, or a store without objects; relative to the working directory at the time of the call.
    ///   - options: of the new store; its configuration is that of the old one, and it keeps a history if that one does.
    ///   - progress: told the objects that are copied, and of all, on this thread; may read from the store, and not save. False ends
    ///     it with `.cancelled`.
    /// - Returns: the new store, in the old one's place.
    /// - Throws: `.invalidArgument` for a store that is not open here and for a path where objects are; what reading the one and making
    ///   the other fails with. The old store is open as before then.
    @discardableResult
    public func migrateStore(
        _ store: Store, to type: StoreType, at path: String, options: StoreOptions = StoreOptions(),
        progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
    ) throws -> Store {
        let kind = try StoreTypes.kind(of: type, at: path)
        let warnings = try StoreTypes.warnings(options, type, path)
        let place = try StoreTypes.place(path, kind)
        if kind.isHosted, store.type == type, store.path == path {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOperation,
                "cannot migrate \(path) to itself; choose another path", file: path)
        }
        if let place, try place.path == StoreTypes.place(of: store)?.path {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOperation,
                "cannot migrate \(path) to itself; choose another path", file: path)
        }
        var options = options
        options.configuration = store.configuration
        options.keepsHistory = options.keepsHistory || store.backing.keepsHistory
        options.permissionsOfSource = try StoreTypes.place(of: store).flatMap { FilePermissions(of: $0.path) }
        let backing = try failingBeyondFileSize { try kind.open(path, model: model, options: options) }
        // Told without reading the file, for which there may be no memory.
        let made = backing.isNew ? backing.contentState : nil
        do {
            return try failingBeyondFileSize {
                try migrate(store, to: backing, warnings: warnings, progress: progress)
            }
        } catch {
            // What was made for this, unless somebody else has found it meanwhile and saved into it.
            if let place, backing.isNew {
                kind.unlink(place) {
                    made != nil && backing.contentState == made || StoreTypes.isEmpty(kind, place.path, model)
                }
            }
            throw error
        }
    }

    /// Removes an open store, and its files if it was made by opening it, nobody has saved into it, and nobody else has it open.
    ///
    /// - Parameter isOurs: whether it was new when it was opened, and this call alone wrote into it, so that its files go with all objects.
    package func discard(_ store: Store, isOurs: Bool = false) {
        let isNew = isOurs || store.backing.isNew
        guard let kind = try? StoreTypes.kind(of: store.type, at: store.path),
            let place = try? StoreTypes.place(of: store)
        else { return }
        guard (try? remove(store)) != nil, isNew else { return }
        if isOurs { _ = try? destroyStore(store.type, at: store.path) }
        kind.unlink(place) { StoreTypes.isEmpty(kind, place.path, model) }
    }

    /// Empties the store at `path`: what it holds and says about itself goes, with files of external data. The file of an SQLite
    /// store stays, as a database without tables, in which the next `addStore` makes a new store; that of another type is
    /// removed. If this coordinator has the store open, it is removed first, as by `remove`.
    ///
    /// Another process that reads an SQLite store goes on with what it began.
    ///
    /// - Parameters:
    ///   - type: nil for that of the store which is there.
    ///   - path: relative to the working directory at the time of the call.
    ///   - options: how long to wait for another process's lock, and whether the store's files are removed all the same if that does
    ///     not end (`forcesDestruction`).
    /// - Returns: false when there is no such store in a folder that is there; nothing is made then.
    /// - Throws: `.storeBusy` while somebody else writes, `.storeReadOnly` for a file that may not be written, `.notAStore` for
    ///   what is no store of the type, `.storeIO` where the folder is missing, `.invalidArgument` for `/dev/null`.
    @discardableResult
    public func destroyStore(
        _ type: StoreType? = nil, at path: String, options: StoreOptions = StoreOptions()
    ) throws -> Bool {
        let kind = try StoreTypes.kind(of: type, at: path)
        if kind.isHosted {
            return try kind.destroy(path, options: options) { try removeHostedStores(kind.type, at: path) }
        }
        guard let place = try StoreTypes.place(path, kind) else {
            if !kind.hasFile { return false }
            throw CoreError(
                .invalidArgument, code: .persistentStoreOperation,
                "\(path) is an in-memory store without files to destroy; call cst_coordinator_remove_store (remove_store) instead",
                file: path)
        }
        return try kind.destroy(path, options: options) { try removeStores(at: place) }
    }

    /// Puts a store in the place of another one, or where nothing is: a copy, with files of external data, that keeps the identifier.
    /// A store that is there is overwritten in one step, under the locks that every save takes; another process that reads goes on
    /// with what it began. If this coordinator has it open, it is removed first, as by `remove`.
    ///
    /// - Parameters:
    ///   - type: of both; nil for that of the source.
    ///   - path: relative to the working directory at the time of the call, as is `source`.
    ///   - source: is not changed. What others write into it meanwhile is in the copy as a whole or not at all.
    ///   - options: how long to wait for another process's lock; the permissions of a file that is made, which are those of the
    ///     source otherwise.
    /// - Throws: `.storeIO` when there is no source, `.notAStore` for what is none, there or at `path`, `.storeBusy` while somebody
    ///   else writes, `.invalidArgument` for the same file twice and for stores in memory. What was at `path` is as it was then.
    public func replaceStore(
        _ type: StoreType? = nil, at path: String, byStoreAt source: String, options: StoreOptions = StoreOptions()
    ) throws {
        let kind = try StoreTypes.kind(of: type, at: source)
        if kind.isHosted {
            return try kind.replace(path, byStoreAt: source, options: options) {
                try removeHostedStores(kind.type, at: path)
            }
        }
        guard let place = try StoreTypes.place(path, kind), try StoreTypes.place(source, kind) != nil else {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOperation,
                "cannot replace \(path) with \(source), because an in-memory store does not have a file; migrate the store with "
                    + "cst_coordinator_migrate_store (migrate_store)",
                file: path)
        }
        if let there = try StoreType(ofStoreAt: path), there != kind.type {
            // Without a source, the remedy would destroy the only store.
            _ = try kind.metadata(ofStoreAt: source)
            throw CoreError(
                .invalidArgument, code: .persistentStoreOperation,
                "\(path) is a store of type \(there.rawValue), but \(source) is of type \(kind.type.rawValue); choose another "
                    + "path, or destroy \(path) first with cst_coordinator_destroy_store (destroy_store)",
                file: path)
        }
        try kind.replace(path, byStoreAt: source, options: options) { try removeStores(at: place) }
    }

    private func removeHostedStores(_ type: StoreType, at path: String) throws {
        for store in stores where store.type == type && store.path == path { try remove(store) }
    }

    private func removeStores(at place: StorePlace) throws {
        for store in stores where try StoreTypes.place(of: store)?.path == place.path { try remove(store) }
    }

    /// The open store whose file is at `path`, by whatever path it was opened; nil when there is none. Of stores in memory the first
    /// one of that name.
    ///
    /// - Parameter path: relative to the working directory at the time of the call.
    public func store(at path: String) -> Store? {
        let place = try? StorePlace(path)
        return stores.first { store in
            if store.path == path { return true }
            guard let place else { return false }
            return (try? StoreTypes.place(of: store))??.path == place.path
        }
    }

    /// Opens a store that is there already, by `model`, else by the model that it carries, else by one inferred from its
    /// tables (`Store.modelSource` tells), and makes a coordinator of that model for it. XML and binary stores that Apple's
    /// framework wrote do not carry their model and need one.
    ///
    /// Unless the options ask for writing, neither the file nor its folder changes, and nothing in it is locked. A store
    /// whose promises cannot be kept opens read-only all the same; `Store.readOnlyReason` says why.
    ///
    /// - Parameters:
    ///   - path: relative to the working directory at the time of the call.
    ///   - model: is frozen.
    /// - Returns: the coordinator, whose only store it is.
    /// - Throws: as `addStore`; `.invalidArgument` where a model is needed and none is given.
    public static func open(
        _ path: String, model: Model? = nil, options: StoreOptions = .readOnly
    ) throws -> Coordinator {
        let type = try StoreType(ofStoreAt: path) ?? .sqlite
        if type == .sqlite {
            let warnings = try StoreTypes.warnings(options, type, path)
            return try openSQLiteStore(at: path, model: model, options: options, warnings: warnings)
        }
        var options = options
        options.mustExist = true
        if model == nil { options.modelSource = .cached }
        guard let model = try model ?? StoreTypes.carriedModel(type, at: path) else {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOpen,
                "\(path) is a store of type \(type.rawValue) and does not contain its model; pass the model it was written with",
                file: path)
        }
        let coordinator = try Coordinator(model: model)
        try coordinator.addStore(type, at: path, options: options)
        return coordinator
    }
}

extension StoreTypes {
    /// The model that an XML or binary store carries; nil if it carries none.
    fileprivate static func carriedModel(_ type: StoreType, at path: String) throws -> Model? {
        guard let kind = try kind(of: type, at: path) as? AtomicKind else { return nil }
        let metadata = try kind.metadata(ofStoreAt: path)
        do { return try metadata.carriedModel() } catch let error as CoreError where error.file == nil {
            throw error.within("cannot read the model in \(path)", file: path)
        }
    }

    /// Where a store lies; nil for one that lies nowhere.
    static func place(of store: Store) throws -> StorePlace? {
        // Its type may be unregistered by now.
        if store.references != nil { return nil }
        return try place(store.path, kind(of: store.type))
    }

    /// Whether a store that can be read has no object.
    static func isEmpty(_ kind: any StoreKind, _ path: String, _ model: Model) -> Bool {
        guard let backing = try? kind.open(path, model: model, options: .readOnly) else { return false }
        defer { backing.close() }
        let roots = model.entities.filter { $0.parent == nil }
        return (try? roots.allSatisfy { try backing.fetch(StoreFetch(entity: $0, result: .count)).count == 0 }) ?? false
    }

    /// nil for a path that is a mere name, and for that of an SQLite store in memory.
    static func place(_ path: String, _ kind: any StoreKind) throws -> StorePlace? {
        kind.hasFile && path != StorePlace.nowhere ? try StorePlace(path) : nil
    }
}

extension StoreMetadata {
    /// What the store at `path` says about itself. Needs no model, changes nothing and locks nothing.
    ///
    /// - Parameter type: nil for that of the store which is there.
    /// - Throws: as `Coordinator.open`.
    public init(ofStoreAt path: String, type: StoreType? = nil) throws {
        self = try StoreTypes.kind(of: type, at: path).metadata(ofStoreAt: path)
    }

    /// Has the store at `path`, which nobody has open, say this about itself; its identity stays.
    ///
    /// - Parameter type: nil for that of the store which is there.
    /// - Throws: as `Coordinator.addStore`.
    public func write(toStoreAt path: String, type: StoreType? = nil) throws {
        try StoreTypes.kind(of: type, at: path).setMetadata(self, ofStoreAt: path)
    }

    /// Has the store at `path` say something else about itself. Needs no model. Who has it open finds that when it asks the file.
    ///
    /// - Parameters:
    ///   - values: all entries; the store's type, UUID and versions, and what else it needs, stay when they are not given.
    ///   - type: nil for that of the store which is there.
    /// - Throws: as `Coordinator.open`; `.invalidArgument` with the key where the store's type, UUID or versions would change;
    ///   `.storeReadOnly`, `.storeBusy`.
    public static func set(
        _ values: [String: PropertyListValue], ofStoreAt path: String, type: StoreType? = nil
    ) throws {
        let kind = try StoreTypes.kind(of: type, at: path)
        try kind.setMetadata(kind.metadata(ofStoreAt: path).replacing(values, file: path), ofStoreAt: path)
    }
}
