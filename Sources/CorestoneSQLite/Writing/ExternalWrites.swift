import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// The files beside the store that one save makes and no longer needs.
///
/// New files are complete and on disk before the transaction commits, old ones go only after the commit is on disk: whatever
/// happens in between, every row finds its file. A crash leaves at most a file that nothing refers to.
final class ExternalWrites {
    let folder: String
    /// The database, whose permissions the files have: what is not for everybody there must not be here.
    private let database: String
    /// Values of more bytes get a file of their own.
    private let threshold: Int
    private lazy var permissions = FilePermissions(of: database)
    private var written: [String] = []
    private var obsolete: [String] = []

    init(folder: String, beside database: String, threshold: Int) {
        (self.folder, self.database, self.threshold) = (folder, database, threshold)
    }

    /// Makes a file for a value and returns its name; nil for a value that is small enough for the row.
    func name(for bytes: UnsafeRawBufferPointer) throws -> String? {
        guard bytes.count > threshold else { return nil }
        let name = UUIDValue.random().description
        try write(bytes, to: name)
        return name
    }

    /// The row no longer refers to what the column held.
    func leave(_ columnValue: UnsafeRawBufferPointer) {
        if let name = ExternalFile.name(in: columnValue) { obsolete.append(name) }
    }

    /// Makes the names of the new files durable; the transaction may commit.
    func prepareCommit() throws {
        guard !written.isEmpty else { return }
        try makeDurable(folder)
    }

    /// Removes the files that the committed state no longer names. What cannot be made sure to outlive a loss of power leaves
    /// them: nothing is lost but room. What `readers` still lead to goes when these have ended.
    func didCommit(to connection: Connection, _ readers: PinnedReaders) {
        guard !obsolete.isEmpty, connection.makeCommitsDurable() else { return }
        readers.remove(obsolete.map { "\(folder)/\($0)" })
    }

    func didRollBack() { for name in written { unlink("\(folder)/\(name)") } }

    private func write(_ bytes: UnsafeRawBufferPointer, to name: String) throws {
        if written.isEmpty { try makeFolder() }
        let path = "\(folder)/\(name)"
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure("create", path, errno) }
        written.append(name)
        defer { close(descriptor) }
        permissions?.ofCompanions.give(to: descriptor)
        var done = 0
        while done < bytes.count {
            let count = Glibc.write(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw failure("write", path, errno) }
            done += count
        }
        guard fsync(descriptor) == 0 else { throw failure("write", path, errno) }
    }

    /// The folder lies in a hidden one that is made with it.
    private func makeFolder() throws {
        let parent = String(folder.prefix(upTo: folder.lastIndex(of: "/") ?? folder.startIndex))
        for path in [parent, folder] {
            let code = ExternalFile.makeFolder(path, beside: permissions)
            guard code == 0 || code == EEXIST else { throw failure("create", path, code) }
        }
        try makeDurable(parent)
    }

    private func makeDurable(_ path: String) throws {
        let code = synchronise(folder: path)
        guard code == 0 else { throw failure("write", path, code) }
    }

    private func failure(_ action: String, _ path: String, _ code: Int32) -> CoreError {
        CoreError(
            .storeIO, code: .persistentStoreSave,
            "cannot \(action) \(path) for a backing file of \(database): \(StorePlace.text(of: code)); "
                + "free some space or make its folder writable, and save again", file: path)
    }
}
