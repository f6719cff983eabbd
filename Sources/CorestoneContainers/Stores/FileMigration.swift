import CorestoneAtomicStores
import CorestoneFileSystem
import CorestoneGraph
import CorestoneMigration
import CorestoneModel
import CorestoneSQLite
import CorestoneValues
import Glibc

/// The migration of an XML or binary store.
///
/// The content is copied to an SQLite store in a temporary folder next to the file. That store is migrated like any
/// other SQLite store, and converted back. The result then replaces the file.
///
/// The identifier, the application's metadata and the primary keys are kept, unless a mapping model assigns new keys.
/// If the migration fails, the file is unchanged.
struct FileMigration {
    let kind: AtomicKind
    let path: String
    let model: Model
    let options: StoreOptions
    let migration: MigrationOptions

    enum Outcome {
        /// The open store. It is not read again, because reading could run out of memory after the file was already
        /// replaced.
        case migrated(any PersistentStore)
        /// Another process migrated the store first.
        case migratedByAnotherProcess
        /// Another process wrote the store during the migration, so the file was not replaced.
        case changed
    }

    func run() throws -> Outcome {
        let place = try StoreLocation(path)
        let knownState = kind.stateText(of: place)
        guard case (var metadata, let source)? = try begin() else { return .migratedByAnotherProcess }
        metadata.recordPastModel()
        metadata.setModel(model)
        guard let workFolder = LocalFile(place.path, shownAs: path).workFolder() else {
            let error = SystemError.last
            throw CoreError(
                .storeIO, code: .migration,
                "cannot migrate \(path): cannot create a folder in \(place.folder): "
                    + "\(error.text)\(error.remedyForWriting(in: place.folder))", file: path)
        }
        defer { withExtendedLifetime(workFolder) {} }
        let folder = workFolder.path
        var copy: String?
        do {
            try requireExactValues(place, source)
            copy = try backUp(place)
            try convert(from: source, in: folder)
            let store = try kind.replace(
                place, byContentOf: "\(folder)/result", model: model, metadata: metadata, unless: knownState,
                options: options)
            guard let store else {
                discard(copy, place)
                return .changed
            }
            if let backup = migration.backup { kind.removeOldCopies(of: place, backup) }
            return .migrated(store)
        } catch let error as CoreError {
            discard(copy, place)
            // Another process may have migrated the store while it was read.
            guard kind.stateText(of: place) == knownState else { return .changed }
            throw naming(error, folder)
        }
    }

    /// Copies the file if the options request a backup, and returns the path of the copy.
    private func backUp(_ place: StoreLocation) throws -> String? {
        guard let backup = migration.backup else { return nil }
        try backup.requireSound(path)
        do {
            var plain = StoreOptions()
            plain.limits = options.limits
            return try backup.copying(place) { try kind.copy(place.path, to: $0, options: plain) }
        } catch let error as CoreError {
            throw error.within("cannot migrate \(path), because the backup failed", file: path)
        }
    }

    private func discard(_ copy: String?, _ place: StoreLocation) {
        if let copy, let backup = migration.backup { kind.removeCopy(copy, of: place, backup) }
    }

    /// Replaces the paths of temporary files in an error with the path of the store.
    private func naming(_ error: CoreError, _ folder: String) -> CoreError {
        error.replacing([("\(folder)/work", path), ("\(folder)/result", path)])
    }

    /// Returns the store's metadata and its old model, after a check that the options allow the migration.
    ///
    /// - Returns: nil if the store already has the new model.
    private func begin() throws -> (metadata: StoreMetadata, source: Model)? {
        let metadata = try kind.metadata(ofStoreAt: path)
        if metadata.entityVersionHashes == entityVersionHashes(of: model) { return nil }
        try options.requireOther(than: metadata.uuid.description, at: StoreLocation(path).absolute)
        let search = SourceModelSearch(migration, hashes: metadata.entityVersionHashes, ofStoreAt: path) {
            try metadata.carriedModel()
        }
        let source = try search.run()
        _ = try migration.method(from: source, to: model, past: metadata.pastModelDigests, ofStoreAt: path)
        return (metadata, source)
    }

    /// The error if other processes wrote the store during each attempt.
    var busy: CoreError {
        CoreError(
            .storeBusy, code: .migration,
            "cannot migrate \(path): other processes or coordinators kept saving to it; close the store in all of "
                + "them, and migrate it again",
            file: path)
    }

    /// Throws if a value would lose precision: the temporary SQLite store keeps fractional decimals as doubles.
    private func requireExactValues(_ place: StoreLocation, _ source: Model) throws {
        guard let (entity, key, value, uri) = try kind.valueBeyondSQLite(place, source, options) else { return }
        throw CoreError(
            .migration, code: .migration,
            "cannot migrate \(path): \(entity).\(key) has the value \(value.excerpt), which a migration of this store type cannot keep "
                + "exactly (more digits than a double, or NaN). Change the value first", entity: entity,
            key: key, value: value, objectURI: uri, file: path)
    }

    /// Returns the plan of the migration. The store is only read, and its folder is not changed.
    func plan() throws -> MigrationReport {
        guard let source = try begin()?.source else { return .unneeded }
        try requireExactValues(StoreLocation(path), source)
        guard let workFolder = WorkFolder.temporary("corestone-plan-") else {
            let error = SystemError.last
            throw CoreError(
                .storeIO, code: .migration,
                "cannot plan the migration of \(path): cannot create a folder in \(temporaryFolder): "
                    + "\(error.text)\(error.remedyForTemporaryFile)", file: path)
        }
        defer { withExtendedLifetime(workFolder) {} }
        do {
            let work = try copy(from: source, in: workFolder.path)
            return try MigrationReport(ofStoreAt: work, to: model, migration: temporaryOptions(source))
        } catch let error as CoreError { throw naming(error, workFolder.path) }
    }

    private var plain: StoreOptions {
        var plain = StoreOptions()
        plain.rollbackJournal = true
        plain.limits = options.limits
        return plain
    }

    /// Returns the migration options of the temporary store.
    ///
    /// Removals are allowed, because `begin` has already checked that the new model is not an older version.
    private func temporaryOptions(_ source: Model) -> MigrationOptions {
        var migration = migration
        migration.sourceModels.insert(source, at: 0)
        migration.allowsRemovals = true
        // The backup is a copy of the file itself. Cleanup is not deferred, because the rows are written into a new
        // file.
        migration.backup = nil
        migration.defersCleanup = false
        return migration
    }

    /// Copies the store to an SQLite store with the old model, and returns the path of the copy.
    private func copy(from source: Model, in folder: String) throws -> String {
        var reading = StoreOptions.readOnly
        reading.limits = options.limits
        let former = try Coordinator(model: source)
        let work = "\(folder)/work"
        let copy = try former.migrateStore(
            former.addStore(kind.type, at: path, options: reading), to: .sqlite, at: work, options: plain)
        try former.remove(copy)
        return work
    }

    /// Converts the store to SQLite, migrates it, and converts it back.
    private func convert(from source: Model, in folder: String) throws {
        let work = try copy(from: source, in: folder)
        var migrating = plain
        migrating.migration = temporaryOptions(source)
        let wanted = try Coordinator(model: model)
        let migrated = try wanted.addStore(.sqlite, at: work, options: migrating)
        let counts = try counts(in: wanted)
        let result = try wanted.migrateStore(migrated, to: kind.type, at: "\(folder)/result", options: plain)
        try wanted.remove(result)
        try requireObjects(counts, ofStoreAt: "\(folder)/result")
    }

    /// Reads the result again and counts its objects, so that a file with lost writes does not replace the store.
    private func requireObjects(_ wanted: [String: Int], ofStoreAt result: String) throws {
        var reading = StoreOptions.readOnly
        reading.limits = options.limits
        let written = try Coordinator(model: model)
        try written.addStore(kind.type, at: result, options: reading)
        let found = try counts(in: written)
        guard let (entity, count) = wanted.sorted(by: { $0.key < $1.key }).first(where: { found[$0.key] != $0.value })
        else { return }
        throw CoreError(
            .storeIO, code: .migration,
            "cannot migrate \(path): the migrated file has \(found[entity] ?? 0) of \(count) "
                + "\(count == 1 ? "object" : "objects") of \(entity), so the file system lost a write. Check the disk, and "
                + "migrate the store again", entity: entity, value: .int(Int64(found[entity] ?? 0)), file: path)
    }

    /// Returns the number of objects of each root entity.
    private func counts(in coordinator: Coordinator) throws -> [String: Int] {
        let context = Context(coordinator: coordinator)
        let counts = try model.roots.map { ($0.name, try context.count(FetchRequest(entity: $0))) }
        return Dictionary(uniqueKeysWithValues: counts)
    }
}

extension MigrationReport {
    /// Creates the migration plan of a store of any type. The store is only read, and its folder is not changed.
    ///
    /// - Parameter options: The options with which the store would be opened. By default the mapping is inferred.
    /// - Throws: The errors of the migration, except for objects that are invalid in the new model, which are listed in
    ///   `problems`.
    public init(ofStoreAt path: String, to model: Model, options: StoreOptions) throws {
        try model.freeze()
        let migration = (options.migration ?? .inferred).withRoutes
        if let kind = try StoreTypes.kind(ofStoreAt: path) as? AtomicKind {
            self = try FileMigration(
                kind: kind, path: path, model: model, options: options, migration: migration
            ).plan()
        } else {
            try self.init(ofStoreAt: path, to: model, migration: migration)
        }
    }
}
