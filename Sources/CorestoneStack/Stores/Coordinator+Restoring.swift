import CorestoneGraph
import CorestoneModel
import CorestoneSQLite
import CorestoneValues

extension Coordinator {
    /// Puts a backup that a migration made in the place of a store, as `replaceStore` does: in one step, with backing files. The backup
    /// stays. If this coordinator has the store open, it is removed first, as by `remove`.
    ///
    /// - Parameters:
    ///   - path: the store, which need not exist any more; relative to the working directory at the time of the call.
    ///   - backup: nil for the newest one.
    ///   - folder: where the backups are; nil for the folder of the store.
    ///   - options: as for `replaceStore`.
    /// - Returns: the path of the backup.
    /// - Throws: `.storeIO` if there is no backup; `.invalidArgument` for a copy of another store; otherwise as `replaceStore`. The store
    ///   is as it was then.
    @discardableResult
    public func restoreStore(
        at path: String, from backup: String? = nil, in folder: String? = nil, options: StoreOptions = StoreOptions()
    ) throws -> String {
        let own = (try? StoreMetadata(ofStoreAt: path))?.uuid
        guard let source = try backup ?? newestBackup(of: path, in: folder, own) else {
            throw CoreError(
                .storeIO, code: .persistentStoreOperation,
                "there is no backup of \(path) in \(folder ?? "its folder"); pass the path of a copy, or migrate with a backup next time",
                file: path)
        }
        // The identifier of a damaged store may be unreadable.
        let identifier = try StoreMetadata(ofStoreAt: source).uuid
        if let own, own != identifier {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOperation,
                "\(source) is not a copy of \(path), which was not changed; pass a backup of this store, or call "
                    + "cst_coordinator_replace_store (replace_store)", value: .uuid(identifier), file: source)
        }
        try replaceStore(at: path, byStoreAt: source, options: options)
        return source
    }

    /// Stores of one name in different folders may have their backups in one folder.
    private func newestBackup(of path: String, in folder: String?, _ own: UUIDValue?) throws -> String? {
        let copies = try MigrationBackup.backups(ofStoreAt: path, in: folder)
        guard let own else { return copies.first }
        return copies.first { (try? StoreMetadata(ofStoreAt: $0))?.uuid == own }
    }
}
