import CorestoneFileSystem
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// The temporary folder of an untitled document.
enum UntitledDocumentFolder {
    static func make() throws -> String {
        let parent = temporaryFolder
        let path = parent + "/corestone-document-" + UUIDValue.random().description
        guard mkdir(path, 0o700) == 0 else {
            let error = SystemError.last
            throw CoreError(
                .storeIO, code: .persistentStoreOpen,
                "cannot create the temporary folder \(path) of a document: "
                    + "\(error.text)\(error.remedyForTemporaryFile)",
                file: path)
        }
        return path
    }

    /// Removes a copy of a store after a failed save, with its log files.
    ///
    /// The files are kept if the path now has another store, or if another process uses the copy.
    static func remove(copyOf store: Store, at path: String, _ coordinator: Coordinator) {
        guard let there = try? StoreMetadata(ofStoreAt: path, type: store.type),
            there.uuid.description == store.identifier,
            (try? coordinator.destroyStore(store.type, at: path)) == true
        else { return }
        for ending in ["", "-wal", "-shm"] { unlink(path + ending) }
    }
}
