import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// The folder of a document that has no place yet.
enum DocumentRefuge {
    static func make() throws -> String {
        let parent = temporaryFolder
        let path = parent + "/corestone-document-" + UUIDValue.random().description
        guard mkdir(path, 0o700) == 0 else {
            throw CoreError(
                .storeIO, code: .persistentStoreOpen,
                "cannot create the folder \(path) for an untitled document: \(String(cString: strerror(errno))); "
                    + "set TMPDIR to a writable folder",
                file: path)
        }
        return path
    }

    /// A copy of a store that was made for nothing, with its companions. What somebody else has put there meanwhile stays, as does
    /// what somebody has in use.
    static func remove(copyOf store: Store, at path: String, _ coordinator: Coordinator) {
        guard let there = try? StoreMetadata(ofStoreAt: path, type: store.type),
            there.uuid.description == store.identifier,
            (try? coordinator.destroyStore(store.type, at: path)) == true
        else { return }
        for ending in ["", "-wal", "-shm"] { unlink(path + ending) }
    }
}
