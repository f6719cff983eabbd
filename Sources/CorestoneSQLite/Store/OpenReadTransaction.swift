import CSQLite
import CorestoneValues

/// A read transaction of a connection that stays open after a fetch and between faults in quick succession.
///
/// All faults of one transaction see the same state: that of the fetch or fault that began it. Each needs a quarter of
/// the time of a fault with its own transaction. The transaction ends with `end`, or if nothing was read for 50 to 100
/// milliseconds (`IdleReadCloser`). Until then, it hides writes of other connections and blocks checkpoints. Faults in
/// an uninterrupted sequence keep it open. Only the thread that has acquired the connection may use it.
final class OpenReadTransaction {
    private let begin: Statement
    private let commit: Statement
    private let readCloser: IdleReadCloser
    private(set) var isOpen = false
    /// Whether the state that the transaction reads was checked to belong to the store.
    var isExamined = false
    private var lastFault: UInt64 = 0
    private var wasUsed = false

    private static let quickSuccession: UInt64 = 2_000_000

    init(_ connection: Connection, readCloser: IdleReadCloser) throws {
        begin = try connection.prepare("BEGIN", "read \(connection.path)")
        commit = try connection.prepare("COMMIT", "read \(connection.path)")
        self.readCloser = readCloser
    }

    /// Begins a transaction before a fault if the last fault outside a transaction was less than 2 milliseconds ago.
    @inline(__always)
    func openBeforeFault() {
        if isOpen {
            wasUsed = true
            return
        }
        let now = monotonicNanoseconds()
        let isQuick = now - lastFault < OpenReadTransaction.quickSuccession
        lastFault = now
        if isQuick { open() }
    }

    /// Begins a transaction for a fetch, so that the faults that fire soon after the fetch see the same state.
    func open() {
        guard !isOpen, readCloser.begin() else { return }
        let code = sqlite3_step(begin.handle)
        sqlite3_reset(begin.handle)
        guard code == SQLITE_DONE else { return }
        isOpen = true
        isExamined = false
        wasUsed = true
    }

    func end() {
        guard isOpen else { return }
        isOpen = false
        sqlite3_step(commit.handle)
        sqlite3_reset(commit.handle)
    }

    /// Ends the transaction if nothing was read in it since the last call.
    func endIfIdle() {
        if !wasUsed { end() }
        wasUsed = false
    }
}
