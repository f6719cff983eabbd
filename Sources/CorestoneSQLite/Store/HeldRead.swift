import CSQLite
import CorestoneValues

/// The read transaction of a connection that is kept open from a fetch on, and while faults come in quick succession: so they
/// find the state that the fetch found, and a look-up inside one costs a quarter of one that begins and ends its own.
///
/// It ends with `end`, or when nothing was read for 50 to 100 milliseconds (`ReadReaper`), so that it neither hides what others
/// write nor keeps the write-ahead log from being emptied. Used by whoever has the connection.
final class HeldRead {
    private let begin: Statement
    private let commit: Statement
    private let reaper: ReadReaper
    private(set) var isHeld = false
    /// Whether what it sees was found to be of the store.
    var isExamined = false
    private var lastFault: UInt64 = 0
    private var wasUsed = false

    private static let quickSuccession: UInt64 = 2_000_000

    init(_ connection: Connection, reaper: ReadReaper) throws {
        begin = try connection.prepare("BEGIN", "read")
        commit = try connection.prepare("COMMIT", "read")
        self.reaper = reaper
    }

    /// Called before each fault: begins to hold when the last one was just before.
    @inline(__always)
    func fault() {
        if isHeld {
            wasUsed = true
            return
        }
        let now = monotonicNanoseconds()
        let isQuick = now - lastFault < HeldRead.quickSuccession
        lastFault = now
        if isQuick { hold() }
    }

    /// Begins a transaction, for a fetch whose faults shall find the same state.
    func hold() {
        guard !isHeld, reaper.begin() else { return }
        let code = sqlite3_step(begin.handle)
        sqlite3_reset(begin.handle)
        guard code == SQLITE_DONE else { return }
        isHeld = true
        isExamined = false
        wasUsed = true
    }

    func end() {
        guard isHeld else { return }
        isHeld = false
        sqlite3_step(commit.handle)
        sqlite3_reset(commit.handle)
    }

    /// Ends a transaction in which nothing was read since the last call.
    func endIfIdle() {
        if !wasUsed { end() }
        wasUsed = false
    }
}
