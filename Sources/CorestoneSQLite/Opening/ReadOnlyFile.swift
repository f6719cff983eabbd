import CSQLite
import CorestoneFileSystem
import CorestoneGraph
import CorestoneValues
import Glibc

/// A file that is opened without locks, and without changing it or its folder.
///
/// SQLite would create the `-wal` and `-shm` files even for reading, and lock a file with a rollback journal. A file
/// without committed pages in a write-ahead log, and without a hot journal, is therefore opened as immutable. Otherwise
/// a private copy is read. Both ways of reading support read-only media.
struct ReadOnlyFile {
    let place: StoreLocation
    let connection: Connection
    /// The check for writes; nil for a private copy, which no other process can write to.
    let watch: ImmutableFileCheck?
    /// The saves in the write-ahead log that cannot be read; nil if all can be read.
    let loss: LogLoss?

    init(_ place: StoreLocation, limits: StoreLimits = StoreLimits()) throws {
        self.place = place
        try Connection.requireFiles(besideFileAt: place.path, place.given)
        let watch = ImmutableFileCheck(place)
        let frozen = try Connection(
            place.uri + "?mode=ro&immutable=1", path: place.given, flags: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI,
            limits: limits)
        try FileHeader(frozen).requireDatabase(place, frozen)
        let log = try WriteAheadLog.examine(beside: place, frozen)
        loss = log.loss
        if try log.isLive || place.journalIsHot() {
            connection = try PrivateCopy(of: frozen, place).open()
            self.watch = nil
        } else {
            connection = frozen
            self.watch = watch
        }
        try connection.restrictUntrustedFile("open \(place.given)")
    }
}

extension StoreLocation {
    /// Whether the rollback journal has a transaction to roll back.
    ///
    /// The journal of a finished transaction is empty or begins with a zero.
    fileprivate func journalIsHot() throws -> Bool {
        guard hasCompanion("-journal") else { return false }
        let descriptor = open(path + "-journal", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
        guard descriptor >= 0 else {
            let reason = errno
            if reason == ENOENT { return false }
            throw CoreError(
                .storeIO, code: .persistentStoreOpen,
                "cannot read the rollback journal \(companion("-journal")): \(SystemError(reason).text)"
                    + SystemError(reason).remedyForReading(lost: "restore the store and its journal from a backup"),
                file: given)
        }
        defer { close(descriptor) }
        var first: UInt8 = 0
        return read(descriptor, &first, 1) == 1 && first != 0
    }
}

extension Connection {
    /// Restricts an untrusted file.
    ///
    /// Its schema cannot call functions that are not innocuous, and damaged pages are detected early.
    fileprivate func restrictUntrustedFile(_ purpose: String) throws {
        restrictSchema()
        try execute("PRAGMA cell_size_check=1", purpose, cocoaCode: .persistentStoreOpen)
        limitExpressions()
    }
}
