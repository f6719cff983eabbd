import CSQLite
import CorestoneGraph
import CorestoneValues
import Glibc

/// What is left to do when the transaction of a migration has ended.
final class MigrationRemains {
    private let connection: Connection
    private let place: StorePlace
    private let folder: String
    /// Names of backing files to which the former rows alone refer.
    var obsolete: Set<String> = []
    /// Names of backing files that the new rows alone refer to.
    var made: [String] = []
    /// The copy that the migration made.
    var backup: (options: MigrationBackup, path: String)?
    /// Whether it is unknown, should anything fail, which state the file has.
    var isAtCommit = false
    /// The name under which a file is attached.
    var attached: String?
    /// Lives as long as this.
    var workFolder: WorkFolder?

    init(_ connection: Connection, _ place: StorePlace) {
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
        for name in made { unlink("\(folder)/\(name)") }
        // The store is what the copy is.
        if let backup, !isAtCommit { SQLiteKind().removeCopy(backup.path, of: place, backup.options) }
    }

    private func detach() {
        if let attached { sqlite3_exec(connection.db, "DETACH \(attached)", nil, nil, nil) }
        attached = nil
    }
}
