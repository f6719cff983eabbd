import CorestoneFileSystem
import CorestoneModel
import CorestoneValues
import Glibc

/// A type of store. It opens stores, and operates on closed store files. Thread-safe.
package protocol StoreKind: Sendable {
    var type: StoreType { get }

    /// Whether stores of this type have a file. If not, the path is only a name.
    var hasFile: Bool { get }

    /// Whether the application registered the type, and so defines the meaning of paths.
    var isHosted: Bool { get }

    /// The features that models may use.
    var abilities: StoreAbilities { get }

    /// Opens the store at `path`, or creates it if the path is unused, unless `options` specify otherwise.
    ///
    /// - Parameter model: A frozen model.
    func open(_ path: String, model: Model, options: StoreOptions) throws -> any PersistentStore

    /// Returns the metadata of a store, without a model and without changing the store.
    func metadata(ofStoreAt path: String) throws -> StoreMetadata

    /// Replaces the metadata of a store that is not open, except its UUID.
    func setMetadata(_ metadata: StoreMetadata, ofStoreAt path: String) throws

    /// Deletes the contents of a store. Returns false if the store does not exist.
    ///
    /// - Parameter removing: Called after the checks and before the store is destroyed, to remove it from coordinators.
    func destroy(_ path: String, options: StoreOptions, removing: () throws -> Void) throws -> Bool

    /// Copies the store at `source` to `path`, where it replaces an existing store.
    ///
    /// The copy has the identifier of its source.
    ///
    /// - Parameter removing: As for `destroy`.
    func replace(
        _ path: String, byStoreAt source: String, options: StoreOptions, removing: () throws -> Void) throws

    /// Throws if the store at `path` cannot currently be replaced by another one of the type.
    ///
    /// Does not change the store.
    func requireReplaceable(_ path: String, options: StoreOptions) throws

    /// Deletes the files of a backup that a migration created, regardless of their contents.
    ///
    /// - Parameter others: The other backups in the same folder, which may share backing files with the backup.
    func removeCopy(at path: String, besides others: [String]) throws

    /// Deletes the files of a store that was created unnecessarily, and their companions.
    ///
    /// The store is kept if another process uses it or has saved to it.
    ///
    /// - Parameter isEmpty: Returns whether the store does not have objects, for a type that must check this.
    func unlink(_ place: StoreLocation, if isEmpty: () -> Bool)
}

extension StoreKind {
    package var isHosted: Bool { false }
    package func requireReplaceable(_ path: String, options: StoreOptions) throws {}

    package func removeCopy(at path: String, besides others: [String]) throws {
        guard Glibc.unlink(path) == 0 || errno == ENOENT else {
            let error = SystemError.last
            let remedy = error.number == EACCES ? "; make its folder writable" : ""
            throw CoreError(
                .storeIO, code: .migration,
                "cannot remove the backup \(path): \(error.text)\(remedy)", file: path)
        }
    }
}
