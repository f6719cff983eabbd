import CorestoneFileSystem
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// The move of the backing files of a converted store to the folder of the migrated store.
///
/// The files are moved before the commit, so that the files of all committed rows exist. A crash leaves at most
/// orphaned files.
struct BackingFileMove {
    private let names: [String]
    private let source: String
    private let place: StoreLocation
    private let folder: String
    private let remains: MigrationCleanup

    init(_ converted: ConvertedStore, to place: StoreLocation, _ remains: MigrationCleanup) {
        (names, source) = (converted.externalNames.sorted(), converted.externalFolder)
        (self.place, folder, self.remains) = (place, ExternalFile.folder(ofStore: place.path), remains)
    }

    func run() throws {
        let names = names.filter { ExternalFile.isThere("\(source)/\($0)") }
        if names.isEmpty { return }
        let permissions = FilePermissions(of: place.path)
        try ExternalFile.makeFolders(folder, beside: permissions) { failure("create", $0, $1) }
        for name in names {
            let path = "\(folder)/\(name)"
            // A backing file never changes, so an existing one is not replaced.
            if ExternalFile.isThere(path) { continue }
            try move(name, to: path, permissions)
        }
        try ExternalFile.synchroniseFolders(folder) { failure("write", $0, $1) }
    }

    // Not inlined, because the optimiser would otherwise compile the loop in `run` differently from build to build.
    @inline(never)
    private func move(_ name: String, to path: String, _ permissions: FilePermissions?) throws {
        let origin = "\(source)/\(name)"
        let descriptor = open(origin, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { throw failure("read", origin, errno) }
        defer { close(descriptor) }
        permissions?.ofCompanions.apply(to: descriptor)
        guard fsync(descriptor) == 0 else { throw failure("write", origin, errno) }
        remains.createdFiles.append(name)
        guard rename(origin, path) == 0 else {
            remains.createdFiles.removeLast()
            throw failure("create", path, errno)
        }
        // Some file systems report success for a rename that they did not perform. The file must exist, because the
        // source folder is removed after the commit.
        guard ExternalFile.isThere(path) else {
            remains.createdFiles.removeLast()
            throw failure("create", path, EIO)
        }
    }

    private func failure(_ action: String, _ path: String, _ code: Int32) -> CoreError {
        let retry = "migrate the store again"
        let known =
            action == "read"
            ? SystemError(code).remedyForDescriptors : SystemError(code).remedyForWriting(", and \(retry)")
        let remedy = known.isEmpty ? "; \(retry)" : known
        return CoreError(
            .storeIO, code: .migration,
            "cannot migrate \(place.given): cannot \(action) \(path): \(SystemError(code).text)\(remedy)",
            file: path)
    }
}
