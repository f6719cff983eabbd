import CPlatform
import CSQLite
import CorestoneValues
import Glibc

/// The read transaction that is kept open while faults come in quick succession: a look-up inside one costs a quarter
/// of one that begins and ends its own.
///
/// It ends with `end`, or when no fault came for 50 to 100 milliseconds, so that it neither hides what others write nor
/// keeps the write-ahead log from being emptied. Everything here happens under the store's lock.
final class HeldRead: @unchecked Sendable {
    private let lock: StoreLock
    private let begin: Statement
    private let commit: Statement
    private(set) var isHeld = false
    private var lastFault: UInt64 = 0
    private var wasUsed = false
    private var isStopping = false
    private var reaperSleeps = false
    private var reaper: pthread_t?

    private static let quickSuccession: UInt64 = 2_000_000
    private static let patience = 50

    init(_ connection: Connection, lock: StoreLock) throws {
        self.lock = lock
        begin = try connection.prepare("BEGIN", "read")
        commit = try connection.prepare("COMMIT", "read")
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

    private func hold() {
        guard !isStopping else { return }
        let code = sqlite3_step(begin.handle)
        sqlite3_reset(begin.handle)
        guard code == SQLITE_DONE else { return }
        isHeld = true
        wasUsed = true
        if reaper == nil { startReaper() } else if reaperSleeps { lock.signal() }
    }

    func end() {
        guard isHeld else { return }
        isHeld = false
        sqlite3_step(commit.handle)
        sqlite3_reset(commit.handle)
    }

    /// Ends the transaction and the thread. The lock must not be held.
    func stop() {
        lock.lock()
        end()
        isStopping = true
        let thread = reaper
        reaper = nil
        lock.signal()
        lock.unlock()
        // After a fork the thread is the parent's.
        if let thread, !platform_is_forked() { pthread_join(thread, nil) }
    }

    private func startReaper() {
        var thread = pthread_t()
        let context = Unmanaged.passRetained(self)
        let code = pthread_create(
            &thread, nil,
            { context in
                if let context { Unmanaged<HeldRead>.fromOpaque(context).takeRetainedValue().reap() }
                return nil
            }, context.toOpaque())
        if code == 0 {
            reaper = thread
        } else {
            // No thread, nothing held.
            context.release()
            end()
        }
    }

    private func reap() {
        lock.lock()
        var idleRounds = 0
        while !isStopping {
            if !isHeld && idleRounds >= 20 {
                reaperSleeps = true
                lock.wait()
                reaperSleeps = false
                idleRounds = 0
                continue
            }
            lock.wait(milliseconds: HeldRead.patience)
            if isHeld && !wasUsed { end() }
            idleRounds = isHeld ? 0 : idleRounds + 1
            wasUsed = false
        }
        lock.unlock()
    }
}
