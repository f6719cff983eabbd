import CorestoneAtomicStores
import CorestoneFileSystem
import CorestoneFormats
import CorestoneGraph
import CorestoneMigration
import CorestoneModel
import CorestoneSQLite
import CorestoneValues

extension Coordinator {
    /// Opens the store at `path`, or creates it if it does not exist and the options allow it.
    ///
    /// - Parameters:
    ///   - type: The type; nil for that of the existing store, or SQLite if the store does not exist.
    ///   - path: The path, relative to the working directory at the time of the call. For an in-memory store only a
    ///     name.
    ///   - options: The options of the store.
    /// - Returns: The store, which stays open until it is removed, or the coordinator is closed or deallocated.
    /// - Throws: `.storeIO`, `.storeBusy`, `.storeReadOnly`, `.storeCorrupt` or `.notAStore` with code 134080 if the
    ///   store cannot be opened.
    ///   `.modelMismatch` (134100) with entity and property if it was written with another model.
    ///   `.invalidArgument` for an unknown configuration, an unknown type (134000), and a store with the identifier of
    ///   one that is already open in the coordinator.
    ///   `.unsupported` if the store is of another type (134000), or if the model needs abilities that the store type
    ///   does not have.
    ///   `.invalidHandle` if the coordinator is closed.
    ///   If opening fails, nothing on disk is changed.
    @discardableResult
    public func addStore(
        _ type: StoreType? = nil, at path: String, options: StoreOptions = StoreOptions()
    ) throws -> Store {
        // No store is created if the coordinator is closed, or if the model does not have the configuration.
        try requireMayAddStore(at: path)
        _ = try model.entities(ofConfiguration: options.configuration)
        let kind = try StoreTypes.kind(of: type, at: path)
        // The same holds for a model that the store type does not support.
        try check(kind.abilities, ofStoreAt: path)
        let warnings = try StoreTypes.warnings(options, kind.type, path)
        try options.historyRetention?.requireSound(ofStoreAt: path)
        // A copy of an open store must not be migrated or adapted before `add` rejects it.
        var opening = options
        opening.openStores = Dictionary(stores.map { ($0.identifier, $0.path) }, uniquingKeysWith: { path, _ in path })
        let backing = try failingBeyondFileSize { try openMigrated(kind, path, opening) }
        let store = try add(
            backing, configuration: options.configuration, warnings: warnings, options: options)
        if let retention = options.historyRetention { purgeAutomatically(store, to: retention) }
        return store
    }

    /// Returns the store of a coordinator that `open(_:model:options:)` created.
    ///
    /// - Parameter path: The path of the store, for the error.
    package func openedStore(at path: String) throws -> Store {
        if let store = stores.first { return store }
        throw CoreError(
            .internal,
            "the coordinator does not have the store \(path) that it opened; report it as a defect of the library",
            file: path)
    }

    /// Opens a store.
    ///
    /// An atomic store of another model version is first migrated if the options request a migration.
    /// SQLite stores migrate themselves.
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
                // If another process writes the store meanwhile, the migration is repeated or no longer needed.
                attempts += 1
                let migration = FileMigration(
                    kind: atomic, path: path, model: model, options: options, migration: given)
                switch try migration.run() {
                case .migrated(let store): return store
                case .migratedByAnotherProcess: break
                case .changed: if attempts == 5 { throw migration.busy }
                }
            }
        }
    }

    /// Copies a store to another path or type, and replaces it with the copy in this coordinator.
    ///
    /// The copy includes backing files and the application's metadata, even if the metadata is unsaved. The old store
    /// is then removed from the coordinator, as by `remove`; its file is kept.
    ///
    /// The identifier of the new store differs from that of the old one, so every object gets a new ID;
    /// `storesDidChange` reports the IDs. Existing objects in contexts belong to the removed store, and their unsaved
    /// changes can no longer be saved. The transactions of the old store are not copied: a persistent history records
    /// the copied objects as insertions.
    ///
    /// - Parameters:
    ///   - type: The type of the new store.
    ///   - path: An unused path, or that of a store without objects; relative to the working directory at the time of
    ///     the call.
    ///   - options: The options of the new store. The new store has the configuration of the old store, and keeps a
    ///     history if the old store does.
    ///   - progress: Receives the number of copied objects and the total, on this thread. The function may read from
    ///     the store, but must not save. If it returns false, the call fails with `.cancelled`.
    /// - Returns: The new store, at the old store's position in the coordinator.
    /// - Throws: `.invalidArgument` if the store is not open in this coordinator, if the path is that of the store
    ///   itself, or if the path has a store with objects.
    ///   The errors of reading the old and of creating the new store.
    ///   The old store stays open after an error.
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
                "cannot migrate \(Coordinator.shown(path)) to itself; choose another path",
                key: "path", file: path)
        }
        if let place, try place.path == StoreTypes.place(of: store)?.path {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOperation,
                "cannot migrate \(path) to itself; choose another path", key: "path", file: path)
        }
        var options = options
        options.configuration = store.configuration
        options.keepsHistory = options.keepsHistory || store.backing.keepsHistory
        options.permissionsOfSource = try StoreTypes.place(of: store).flatMap { FilePermissions(of: $0.path) }
        let backing = try failingBeyondFileSize { try kind.open(path, model: model, options: options) }
        // Recorded now, so that the cleanup after a failure does not need to read the file: the failure may be out of
        // memory.
        let made = backing.isNew ? backing.contentState : nil
        do {
            return try failingBeyondFileSize {
                try migrate(store, to: backing, warnings: warnings, options: options, progress: progress)
            }
        } catch {
            // Deletes the files of a store that this call created, unless another process has saved into it meanwhile.
            if let place, backing.isNew {
                kind.unlink(place) {
                    made != nil && backing.contentState == made || StoreTypes.isEmpty(kind, place.path, model)
                }
            }
            throw error
        }
    }

    /// Removes an open store from the coordinator.
    ///
    /// The files of the store are deleted if opening created them, no data was saved into them, and no other process
    /// has them open (SQLite) or is saving to them (XML and binary stores).
    ///
    /// - Parameter isCreated: Whether the caller created the store and is its only writer, so that its files are
    ///   deleted with all objects.
    package func discard(_ store: Store, isCreated: Bool = false) {
        let isNew = isCreated || store.backing.isNew
        guard let kind = try? StoreTypes.kind(of: store.type, at: store.path),
            let place = try? StoreTypes.place(of: store)
        else { return }
        guard (try? remove(store)) != nil, isNew else { return }
        if isCreated { _ = try? destroyStore(store.type, at: store.path) }
        kind.unlink(place) { StoreTypes.isEmpty(kind, place.path, model) }
    }

    /// Destroys the store at `path`: deletes its objects, its metadata and its backing files.
    ///
    /// The file of an SQLite store remains as a database without tables, in which the next `addStore` creates a new
    /// store. If another connection holds the lock and the options force the destruction, the file is deleted instead.
    /// Files of XML and binary stores are deleted. A store that is open in this coordinator is first removed from the
    /// coordinator, as by `remove`.
    ///
    /// Another process that reads an SQLite store can finish its read transaction.
    ///
    /// - Parameters:
    ///   - type: The type; nil for that of the existing store.
    ///   - path: The path, relative to the working directory at the time of the call.
    ///   - options: The time-out for another connection's lock, and whether the files are deleted even if the lock is
    ///     not released (`forcesDestruction`).
    /// - Returns: False if the folder exists, but the store does not; also for the in-memory type. Nothing is created.
    /// - Throws: `.storeBusy` if another process or coordinator writes.
    ///   `.storeReadOnly` if the file is not writable.
    ///   `.notAStore` if the file is not a store of the type.
    ///   `.storeIO` if the folder does not exist.
    ///   `.invalidArgument` for `/dev/null`.
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
                "\(path) is an in-memory store without files to destroy; call cst_coordinator_remove_store (remove_store, "
                    + "remove) instead",
                key: "path", file: path)
        }
        return try kind.destroy(path, options: options) { try removeStores(at: place) }
    }

    /// Copies a store, with its backing files and its identifier, to `path`.
    ///
    /// An existing store at `path` is replaced atomically, under the same locks as a save. Another process that reads
    /// this store can finish its read transaction. If the store is open in this coordinator, it is first removed from
    /// the coordinator, as by `remove`.
    ///
    /// - Parameters:
    ///   - type: The type of both stores; nil for that of the source.
    ///   - path: The path of the copy. Like `source`, it is relative to the working directory at the time of the call.
    ///   - source: The store to be copied, which is not changed. Concurrent saves to it are in the copy completely or
    ///     not at all.
    ///   - options: The time-out for another connection's lock, and the permissions of a new file; by default those of
    ///     the source.
    /// - Throws: `.storeIO` if the source does not exist.
    ///   `.notAStore` if `source` or `path` is a file but not a store.
    ///   `.storeBusy` if another process or coordinator writes.
    ///   `.invalidArgument` for a copy to itself, for in-memory stores, and if `path` is a store of another type.
    ///   The file at `path` is unchanged after an error.
    public func replaceStore(
        _ type: StoreType? = nil, at path: String, byStoreAt source: String, options: StoreOptions = StoreOptions()
    ) throws {
        let kind = try StoreTypes.kind(of: type, at: source)
        if kind.isHosted {
            return try kind.replace(path, byStoreAt: source, options: options) {
                try removeHostedStores(kind.type, at: path)
            }
        }
        let place = try StoreTypes.place(path, kind)
        guard let place, try StoreTypes.place(source, kind) != nil else {
            let reason =
                kind.hasFile
                ? "a store at \(StoreLocation.inMemoryPath) is in memory; call cst_coordinator_migrate_store "
                    + "(migrate_store, migrateStore) instead"
                : "a store of type \(kind.type.rawValue) does not have a file; pass the type of the files, or call "
                    + "cst_coordinator_migrate_store (migrate_store, migrateStore) for an open store"
            throw CoreError(
                .invalidArgument, code: .persistentStoreOperation,
                "cannot replace \(Coordinator.shown(path)) with \(Coordinator.shown(source)), because \(reason)",
                key: !kind.hasFile ? "type" : place == nil ? "path" : "source_path",
                value: .string(!kind.hasFile ? kind.type.rawValue : place == nil ? path : source),
                file: path)
        }
        if let there = try StoreType(ofStoreAt: path), there != kind.type {
            // If the source does not exist, the remedy below would destroy the only store. So the source is checked.
            _ = try kind.metadata(ofStoreAt: source)
            throw CoreError(
                .invalidArgument, code: .persistentStoreOperation,
                "\(path) is a store of type \(there.rawValue), but \(source) is of type \(kind.type.rawValue); choose another "
                    + "path, or destroy \(path) first with cst_coordinator_destroy_store (destroy_store, "
                    + "destroyStore)",
                key: "path", file: path)
        }
        try kind.replace(path, byStoreAt: source, options: options) { try removeStores(at: place) }
    }

    private func removeHostedStores(_ type: StoreType, at path: String) throws {
        for store in stores where store.type == type && store.path == path { try remove(store) }
    }

    private func removeStores(at place: StoreLocation) throws {
        for store in stores where try StoreTypes.place(of: store)?.path == place.path { try remove(store) }
    }

    /// Returns the open store whose file is at `path`, even if it was opened by another path, or nil.
    ///
    /// For in-memory and custom stores, it is the first store with that path or name.
    ///
    /// - Parameter path: The path, relative to the working directory at the time of the call.
    public func store(at path: String) -> Store? {
        let place = try? StoreLocation(path)
        return stores.first { store in
            if store.path == path { return true }
            guard let place else { return false }
            return (try? StoreTypes.place(of: store))??.path == place.path
        }
    }

    /// Opens an existing store, and returns a new coordinator for it.
    ///
    /// The model is `model`, or else the model that the store contains, or else a model inferred from the store's
    /// tables; `Store.modelSource` is the source of the model. XML and binary stores of Apple's framework do not
    /// contain their model, so `model` is required for these stores.
    ///
    /// Without write access in the options, neither the file nor its folder is changed or locked. A store that cannot
    /// be written safely is opened read-only in any case; `Store.readOnlyReason` is the reason.
    ///
    /// - Parameters:
    ///   - path: The path, relative to the working directory at the time of the call.
    ///   - model: The model, which is frozen.
    /// - Returns: A coordinator with this store only.
    /// - Throws: As `addStore`.
    ///   `.invalidArgument` if a model is required but missing.
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
                key: "model", file: path)
        }
        let coordinator = try Coordinator(model: model)
        try coordinator.addStore(type, at: path, options: options)
        return coordinator
    }
}

extension StoreTypes {
    /// Returns the model that an XML or binary store contains; nil if it does not contain one.
    fileprivate static func carriedModel(_ type: StoreType, at path: String) throws -> Model? {
        guard let kind = try kind(of: type, at: path) as? AtomicKind else { return nil }
        let metadata = try kind.metadata(ofStoreAt: path)
        do { return try metadata.carriedModel() } catch let error as CoreError where error.file == nil {
            throw CoreError(
                error.status, error.messageForModel(inStoreAt: path), domain: error.domain, customCode: error.code,
                entity: error.entity, key: error.key, value: error.value, predicate: error.predicate, file: path,
                offset: error.offset)
        }
    }

    /// Returns the location of a store's file; nil for a store without a file.
    static func place(of store: Store) throws -> StoreLocation? {
        // The type of a custom store may have been deregistered.
        if store.references != nil { return nil }
        return try place(store.path, kind(of: store.type))
    }

    /// Whether a store can be read and does not have objects.
    static func isEmpty(_ kind: any StoreKind, _ path: String, _ model: Model) -> Bool {
        guard let backing = try? kind.open(path, model: model, options: .readOnly) else { return false }
        defer { backing.close() }
        let roots = model.entities.filter { $0.parent == nil }
        return (try? roots.allSatisfy { try backing.fetch(StoreFetch(entity: $0, result: .count)).count == 0 }) ?? false
    }

    /// Returns the location for a path; nil if the path is only a name, and for an SQLite store in memory.
    static func place(_ path: String, _ kind: any StoreKind) throws -> StoreLocation? {
        kind.hasFile && path != StoreLocation.inMemoryPath ? try StoreLocation(path) : nil
    }
}

extension StoreMetadata {
    /// Reads the metadata of the store at `path`, without a model. The store is neither changed nor locked.
    ///
    /// - Parameter type: The type; nil for that of the existing store.
    /// - Throws: As `Coordinator.open`.
    public init(ofStoreAt path: String, type: StoreType? = nil) throws {
        self = try StoreTypes.kind(of: type, at: path).metadata(ofStoreAt: path)
    }

    /// Writes the metadata to the store at `path`. The store keeps its identifier.
    ///
    /// Coordinators that have the store open see the change when they next read the file.
    ///
    /// - Parameter type: The type; nil for that of the existing store.
    /// - Throws: As `Coordinator.open`.
    ///   `.storeReadOnly` if the store cannot be written.
    ///   `.storeBusy` if another process or coordinator writes.
    public func write(toStoreAt path: String, type: StoreType? = nil) throws {
        try StoreTypes.kind(of: type, at: path).setMetadata(self, ofStoreAt: path)
    }

    /// Sets the metadata of the store at `path`, without a model.
    ///
    /// Coordinators that have the store open see the change when they next read the file.
    ///
    /// - Parameters:
    ///   - values: All entries. The type, the UUID, the version hashes and other required entries are kept if they are
    ///     omitted.
    ///   - type: The type; nil for that of the existing store.
    /// - Throws: As `Coordinator.open`.
    ///   `.storeReadOnly` if the store cannot be written.
    ///   `.storeBusy` if another process or coordinator writes.
    ///   `.invalidArgument` with the key if the type, UUID or version hashes would change.
    public static func set(
        _ values: [String: PropertyListValue], ofStoreAt path: String, type: StoreType? = nil
    ) throws {
        let kind = try StoreTypes.kind(of: type, at: path)
        try kind.setMetadata(kind.metadata(ofStoreAt: path).replacing(values, file: path), ofStoreAt: path)
    }
}
