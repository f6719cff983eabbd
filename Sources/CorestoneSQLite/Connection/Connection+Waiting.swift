import CSQLite
import Glibc

// Waiting for locks. A busy handler and `busy_timeout` replace each other, so the pragma or `sqlite3_busy_timeout`
// would remove this handler.
extension Connection {
    /// Sets the longest wait for locks of other connections.
    ///
    /// SQLite's own handler soon polls only ten times per second, and misses the moments between the saves of a process
    /// that saves continually. This handler polls 200 times per second.
    func waitForLocks(milliseconds: Int32) {
        busyTimeout = max(milliseconds, 0)
        sqlite3_busy_handler(
            db,
            { busyTimeout, count in
                let busyTimeout = Int(bitPattern: busyTimeout)
                let waited = count < 2 ? Int(count) : 3 + 5 * (Int(count) - 2)
                if waited >= busyTimeout { return 0 }
                usleep(UInt32(min(count == 0 ? 1 : count == 1 ? 2 : 5, busyTimeout - waited)) * 1000)
                return 1
            }, UnsafeMutableRawPointer(bitPattern: Int(busyTimeout)))
    }

    /// Runs `body` without waiting for locks, then restores the time-out.
    func withoutWaiting(_ body: () throws -> Void) rethrows {
        let usual = busyTimeout
        waitForLocks(milliseconds: 0)
        defer { waitForLocks(milliseconds: usual) }
        try body()
    }
}
