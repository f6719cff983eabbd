import CorestoneGraph
import CorestoneModel
import CorestoneSQLite
import CorestoneValues

extension Coordinator {
    /// Replaces a store with a backup from a migration, atomically and with backing files, as `replaceStore` does.
    ///
    /// The backup is kept. A store that is open in this coordinator is first removed from it, as by `remove`.
    ///
    /// - Parameters:
    ///   - path: The path of the store, which need not exist; relative to the working directory at the time of the
    ///     call.
    ///   - backup: The path of the backup; nil for the newest backup with the identifier of the store.
    ///   - folder: The folder of the backups; nil for the folder of the store.
    ///   - options: As for `replaceStore`.
    /// - Returns: The path of the backup.
    /// - Throws: `.storeIO` if there is no backup.
    ///   `.invalidArgument` if the backup is a copy of another store.
    ///   The errors of `replaceStore`.
    ///   The store is unchanged after an error.
    @discardableResult
    public func restoreStore(
        at path: String, from backup: String? = nil, in folder: String? = nil, options: StoreOptions = StoreOptions()
    ) throws -> String {
        let own = (try? StoreMetadata(ofStoreAt: path))?.uuid
        guard let source = try backup ?? newestBackup(of: path, in: folder, own) else {
            throw CoreError(
                .storeIO, code: .persistentStoreOperation,
                "\(path) does not have a backup in \(folder ?? "its folder"); pass the path of a copy, or set "
                    + "the option backup for the next migration",
                file: path)
        }
        // The identifier of a missing or damaged store cannot be read, and is then not compared.
        let identifier = try StoreMetadata(ofStoreAt: source).uuid
        if let own, own != identifier {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOperation,
                "\(source) is not a copy of \(path); pass a backup of \(path), or call "
                    + "cst_coordinator_replace_store (replace_store, replaceStore)",
                key: "backup", value: .uuid(identifier), file: source)
        }
        try replaceStore(at: path, byStoreAt: source, options: options)
        return source
    }

    /// Returns the newest backup with the store's identifier; any newest backup if the identifier is nil.
    ///
    /// The identifier is compared because stores with the same name in different folders can share a backup folder.
    private func newestBackup(of path: String, in folder: String?, _ own: UUIDValue?) throws -> String? {
        let copies = try MigrationBackup.backups(ofStoreAt: path, in: folder)
        guard let own else { return copies.first }
        return copies.first { (try? StoreMetadata(ofStoreAt: $0))?.uuid == own }
    }
}
