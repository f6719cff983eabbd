import CSQLite
import CorestoneGraph
import CorestoneValues
import Glibc

/// What is left to do when the transaction of a migration has ended.
final class MigrationRemains {
    private let connection: Connection
    private let folder: String
    /// Names of backing files to which the former rows alone refer.
    var obsolete: Set<String> = []
    /// Names of backing files that the new rows alone refer to.
    var made: [String] = []
    /// The name under which a file is attached.
    var attached: String?
    /// Lives as long as this.
    var workFolder: WorkFolder?

    init(_ connection: Connection, _ place: StorePlace) {
        (self.connection, folder) = (connection, ExternalFile.folder(ofStore: place.path))
    }

    func didCommit() {
        detach()
        guard !obsolete.isEmpty, connection.makeCommitsDurable() else { return }
        for name in obsolete { unlink("\(folder)/\(name)") }
    }

    func didRollBack() {
        detach()
        for name in made { unlink("\(folder)/\(name)") }
    }

    private func detach() {
        if let attached { sqlite3_exec(connection.db, "DETACH \(attached)", nil, nil, nil) }
        attached = nil
    }
}
