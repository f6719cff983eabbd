import CSQLite
import CorestoneGraph
import CorestoneValues
import Glibc

/// Opens a file so that neither it nor its folder ever changes, and nothing in it is locked.
///
/// SQLite would make a write-ahead log's companions even for reading, and lock a file with a rollback journal. A file
/// without live companions is therefore opened as one that cannot change; one with a live log or an unfinished
/// transaction is read from a private copy. Works on read-only media too.
struct ReadOnlyFile {
    let place: StorePlace
    let connection: Connection
    /// nil for a private copy, which nobody else can write.
    let watch: FileWatch?
    /// What was saved in the file's log and cannot be read; nil when all can.
    let loss: LogLoss?

    init(_ place: StorePlace, limits: StoreLimits = StoreLimits()) throws {
        self.place = place
        try Connection.requireFiles(besideFileAt: place.path, place.given)
        let watch = FileWatch(place)
        let frozen = try Connection(
            place.uri + "?mode=ro&immutable=1", path: place.given, flags: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI,
            limits: limits)
        try FileHeader(frozen).requireDatabase(place, frozen)
        let log = try WriteAheadLog.account(beside: place, frozen)
        loss = log.loss
        if try log.isLive || place.journalIsHot() {
            connection = try PrivateCopy(of: frozen, place).open()
            self.watch = nil
        } else {
            connection = frozen
            self.watch = watch
        }
        try connection.distrust("open \(place.given)")
    }
}

extension StorePlace {
    /// Whether the rollback journal has a transaction to undo: a finished one is empty or begins with a zero.
    fileprivate func journalIsHot() throws -> Bool {
        guard hasCompanion("-journal") else { return false }
        let descriptor = open(path + "-journal", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
        guard descriptor >= 0 else {
            let reason = errno
            if reason == ENOENT { return false }
            throw CoreError(
                .storeIO, code: .persistentStoreOpen,
                "cannot read the rollback journal \(companion("-journal")): \(StorePlace.text(of: reason)); make it readable",
                file: given)
        }
        defer { close(descriptor) }
        var first: UInt8 = 0
        return read(descriptor, &first, 1) == 1 && first != 0
    }
}

extension Connection {
    /// For a file from anywhere: its schema may call no function, and damaged pages are noticed early.
    fileprivate func distrust(_ purpose: String) throws {
        distrust()
        try execute("PRAGMA cell_size_check=1", purpose, cocoaCode: .persistentStoreOpen)
        limitExpressions()
    }
}
