import CSQLite
import Glibc

// The only place where SQLite is told how to wait: a handler of ours and its `busy_timeout` end each other, so the pragma, or
// `sqlite3_busy_timeout`, would take this one away.
extension Connection {
    /// How long locks of others are waited for. SQLite's own handler looks ten times a second after a while, and misses the
    /// moments between the saves of a program that saves all the time; this one looks two hundred times.
    func waitForLocks(milliseconds: Int32) {
        patience = max(milliseconds, 0)
        sqlite3_busy_handler(
            db,
            { patience, count in
                let patience = Int(bitPattern: patience)
                let waited = count < 2 ? Int(count) : 3 + 5 * (Int(count) - 2)
                if waited >= patience { return 0 }
                usleep(UInt32(min(count == 0 ? 1 : count == 1 ? 2 : 5, patience - waited)) * 1000)
                return 1
            }, UnsafeMutableRawPointer(bitPattern: Int(patience)))
    }

    /// Does what is not worth any waiting; later locks are waited for as before.
    func withoutWaiting(_ body: () throws -> Void) rethrows {
        let usual = patience
        waitForLocks(milliseconds: 0)
        defer { waitForLocks(milliseconds: usual) }
        try body()
    }
}
