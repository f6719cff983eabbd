import CorestoneFileSystem
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// The backing files that one save creates and removes.
///
/// New files are complete and on the disk before the transaction commits; old files are removed only after the commit
/// is on the disk. The file of every row therefore exists, even after a crash, which leaves at most orphaned files.
final class ExternalWrites {
    let folder: String
    /// The path of the database, whose permissions the files inherit, because both hold private data.
    private let database: String
    /// The size in bytes above which a value is stored in a backing file.
    private let threshold: Int
    private lazy var permissions = FilePermissions(of: database)
    private var written: [String] = []
    private var obsolete: [String] = []

    init(folder: String, beside database: String, threshold: Int) {
        (self.folder, self.database, self.threshold) = (folder, database, threshold)
    }

    /// Creates a backing file for a value and returns its name; nil for a value that is small enough for the row.
    func name(for bytes: UnsafeRawBufferPointer) throws -> String? {
        guard bytes.count > threshold else { return nil }
        let name = UUIDValue.random().description
        try write(bytes, to: name)
        return name
    }

    /// Schedules the removal of the backing file of a former column value, if it has one.
    func scheduleRemoval(of columnValue: UnsafeRawBufferPointer) {
        if let name = ExternalFile.name(in: columnValue) { obsolete.append(name) }
    }

    /// Synchronises the directory entries of the new files, after which the transaction may commit.
    func prepareCommit() throws {
        guard !written.isEmpty else { return }
        try makeDurable(folder)
    }

    /// Removes the files to which the committed state does not refer.
    ///
    /// If the commit cannot be made durable, the files remain as orphans. Files to which `readers` still refer are
    /// removed when these readers are unpinned.
    func didCommit(to connection: Connection, _ readers: PinnedReaders) {
        guard !obsolete.isEmpty, connection.makeCommitsDurable() else { return }
        readers.remove(obsolete.map { "\(folder)/\($0)" })
    }

    func didRollBack() { for name in written { unlink("\(folder)/\(name)") } }

    private func write(_ bytes: UnsafeRawBufferPointer, to name: String) throws {
        if written.isEmpty { try makeFolder() }
        let path = "\(folder)/\(name)"
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure("create", path, errno, of: "a backing file") }
        written.append(name)
        defer { close(descriptor) }
        permissions?.ofCompanions.apply(to: descriptor)
        var done = 0
        while done < bytes.count {
            let count = Glibc.write(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw failure("write", path, errno, of: "a backing file") }
            done += count
        }
        guard fsync(descriptor) == 0 else { throw failure("write", path, errno, of: "a backing file") }
    }

    /// Creates the folder and the hidden folder that contains it.
    private func makeFolder() throws {
        try ExternalFile.makeFolders(folder, beside: permissions) {
            failure("create", $0, $1, of: "a folder for backing files")
        }
        try makeDurable(ExternalFile.folders(folder)[0])
    }

    private func makeDurable(_ path: String) throws {
        let code = synchronise(folder: path)
        guard code == 0 else { throw failure("write", path, code, of: "a folder for backing files") }
    }

    private func failure(_ action: String, _ path: String, _ code: Int32, of kind: String) -> CoreError {
        // The caller may be a save or a batch request.
        CoreError(
            .storeIO, code: .persistentStoreSave,
            "cannot \(action) \(path), \(kind) of \(database): \(SystemError(code).text)"
                + SystemError(code).remedyForWriting(", and try again"), file: path)
    }
}
