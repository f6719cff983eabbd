import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

extension Coordinator {
    /// Saves a store under another path, and goes on with that one: what it holds is copied, values in files of their own and what
    /// the application wrote into the metadata too; then it is removed, as by `remove`. Its file stays.
    ///
    /// The new store has an identifier of its own, so every object has a new ID: `storesDidChange` tells which. Objects of contexts
    /// are those of a removed store; changes that were not saved before cannot be saved any more. A history begins anew.
    ///
    /// - Parameters:
    ///   - path: of a file that does not exist, or of a store without objects; relative to the working directory at the time of the
    ///     call.
    ///   - options: of the new store; its configuration is that of the old one, and it keeps a history if that one does.
    /// - Returns: the new store, in the old one's place.
    /// - Throws: `.invalidArgument` for a store that is not open here and for a path where objects are; what reading the one and making
    ///   the other fails with. The old store is open as before then.
    @discardableResult
    public func migrateStore(
        _ store: Store, toSQLiteStoreAt path: String, options: StoreOptions = StoreOptions()
    ) throws -> Store {
        let place = try StorePlace(path)
        var options = options
        options.configuration = store.configuration
        if let former = store.backing as? SQLiteStore {
            guard try StorePlace(former.path).path != place.path else {
                throw CoreError(
                    .invalidArgument, code: .persistentStoreOperation,
                    "\(path) is the store that is to be migrated; choose another path", file: path)
            }
            options.keepsHistory = options.keepsHistory || former.keepsHistory
        }
        let opened = try StoreOpening(model: model, options: options).run(path)
        do { return try migrate(store, to: SQLiteStore(opened, options: options)) } catch {
            // Nobody else knows the file that was made for this.
            if place.state == .missing { for companion in ["", "-wal", "-shm"] { unlink(place.path + companion) } }
            throw error
        }
    }
}

extension SQLiteStore {
    var keepsHistory: Bool { connections.first.history != nil }

    func applicationMetadata() throws -> [String: PropertyListValue] {
        try withFile { file in
            try StoreMetadata.stored(in: file.connection).applicationValues
        }
    }
}

extension WriteTransaction {
    func setApplicationMetadata(_ values: [String: PropertyListValue]) throws {
        if values.isEmpty { return }
        var metadata = try StoreMetadata.stored(in: connection)
        metadata.values.merge(values) { $1 }
        let purpose = "write the metadata of \(path)"
        let statement = try connection.statement("UPDATE Z_METADATA SET Z_PLIST = ?", purpose)
        statement.bind(copying: metadata.encoded(), at: 1)
        try statement.run(purpose)
    }
}

extension StoreMetadata {
    fileprivate static func stored(in connection: Connection) throws -> StoreMetadata {
        let purpose = "read the metadata of \(connection.path)"
        let statement = try connection.statement("SELECT Z_UUID, Z_PLIST FROM Z_METADATA", purpose)
        defer { statement.reset() }
        let uuid = try statement.step(purpose) ? statement.text(0).flatMap { UUIDValue($0) } : nil
        guard let uuid, let propertyList = statement.blob(1), !propertyList.isEmpty else {
            return StoreMetadata(uuid: uuid ?? .random())
        }
        return try StoreMetadata(decoding: propertyList, uuid: uuid)
    }
}
