import CSQLite
import CorestoneFileSystem
import CorestoneGraph
import CorestoneValues
import Glibc

/// The cleanup after the transaction of a migration.
final class MigrationCleanup {
    private let connection: Connection
    private let place: StoreLocation
    private let folder: String
    /// The names of backing files to which only former rows refer.
    var obsolete: Set<String> = []
    /// The names of backing files to which only new rows refer.
    var createdFiles: [String] = []
    /// The backup copy that the migration made.
    var backup: (options: MigrationBackup, path: String)?
    /// Whether the commit has begun, so that the state of the file is unknown after a failure.
    var isAtCommit = false
    /// The name of the attached database.
    var attached: String?
    /// The work folder of a route. It is retained until the end of the migration.
    var workFolder: WorkFolder?

    init(_ connection: Connection, _ place: StoreLocation) {
        (self.connection, self.place, folder) = (connection, place, ExternalFile.folder(ofStore: place.path))
    }

    func didCommit() {
        detach()
        if let backup { SQLiteKind().removeOldCopies(of: place, backup.options) }
        guard !obsolete.isEmpty, connection.makeCommitsDurable() else { return }
        for name in obsolete { unlink("\(folder)/\(name)") }
    }

    func didRollBack() {
        detach()
        for name in createdFiles { unlink("\(folder)/\(name)") }
        // The store is unchanged, so the copy is not needed.
        if let backup, !isAtCommit { SQLiteKind().removeCopy(backup.path, of: place, backup.options) }
    }

    private func detach() {
        if let attached { sqlite3_exec(connection.db, "DETACH \(attached)", nil, nil, nil) }
        attached = nil
    }
}
