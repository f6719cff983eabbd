import CorestoneAtomicStores
import CorestoneFileSystem
import CorestoneGraph
import CorestoneMigration
import CorestoneModel
import CorestoneSQLite
import CorestoneValues

extension MigrationManager {
    /// Migrates a store into another file with a mapping model. The source store is only read.
    ///
    /// If there is a store at `result`, the migrated objects are added to it. If the migration fails, a store that this
    /// call created is deleted.
    ///
    /// - Parameters:
    ///   - path: The path of the source store. Like `result`, it is relative to the working directory at the time of
    ///     the call.
    ///   - type: The type of the source store; nil for that of the file.
    ///   - options: The options of the source store, which is opened read-only.
    ///   - mapping: The mapping model from the source model to the destination model.
    ///   - result: The path of the new store.
    ///   - resultType: The type of the new store; nil for that of the source store.
    ///   - resultOptions: The options of the new store.
    /// - Throws: As `migrate`.
    ///   134150 if the source store, or 134160 if the new store, cannot be opened.
    ///   `.invalidArgument` if both paths are the same, or if the new store would be an in-memory store.
    public func migrateStore(
        at path: String, type: StoreType? = nil, options: StoreOptions = StoreOptions(), with mapping: MappingModel,
        to result: String, resultType: StoreType? = nil, resultOptions: StoreOptions = StoreOptions()
    ) throws {
        guard try StoreLocation(path).path != StoreLocation(result).path else {
            throw CoreError(
                .invalidArgument, code: .migration,
                "cannot migrate \(path) into itself; choose another path, or add the store with "
                    + "cst_coordinator_add_store (add_store, addStore) and the option mapping_models",
                key: "path", file: path)
        }
        if resultType ?? type == .inMemory {
            throw CoreError(
                .invalidArgument, code: .migration,
                "cannot migrate \(path) into an in-memory store, which would be discarded at the end of the call; "
                    + "choose another type",
                key: "type", value: .string("InMemory"), file: path)
        }
        var reading = options
        reading.isReadOnly = true
        reading.mustExist = true
        reading.migration = nil
        let former = try Coordinator(model: sourceModel)
        let source = try opening(.migrationManagerSourceStore, "the source store", path) {
            try former.addStore(type, at: path, options: reading)
        }
        let new = try Coordinator(model: destinationModel)
        let store = try opening(.migrationManagerDestinationStore, "the destination store", result) {
            try new.addStore(resultType ?? source.type, at: result, options: resultOptions)
        }
        let isNew = store.backing.isNew
        do {
            let folder = WorkFolder.temporary("corestone-migration-")
            defer { withExtendedLifetime(folder) {} }
            let table: (() throws -> AssociationTable)? = folder.map { folder in
                { try AssociationTable(at: "\(folder.path)/keys") }
            }
            try migrate(
                mapping, from: Context(coordinator: former), to: Context(coordinator: new), associations: table)
            try new.remove(store)
        } catch {
            // A migration in batches has saved some objects.
            new.discard(store, isCreated: isNew)
            throw error
        }
    }

    private func opening<T>(_ code: CocoaCode, _ name: String, _ path: String, _ body: () throws -> T) throws -> T {
        do { return try body() } catch let error as CoreError {
            throw CoreError(
                error.status, code: code, "cannot open \(name) of the migration: \(error.message)",
                entity: error.entity, key: error.key, value: error.value, objectURI: error.objectURI, children: [error],
                sqliteCode: error.sqliteCode, file: error.file ?? path, offset: error.offset)
        }
    }
}
