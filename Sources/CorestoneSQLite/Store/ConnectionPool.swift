import CPlatform
import CSQLite
import CorestoneGraph
import CorestoneValues
import Glibc
import Synchronization

/// The connections of one store to its file, each used by one thread at a time.
///
/// Up to a limit, further connections are opened when a thread would have to wait. Until then, the first connection
/// with its page cache is the only connection. Every connection can read and save; the coordinator allows one save at a
/// time. A thread that has acquired a connection does not wait for another one, so threads cannot deadlock. Threads
/// that wait for any connection receive one in the order of their arrival.
final class ConnectionPool: @unchecked Sendable {
    /// The default connection.
    var first: OpenFile { lock.with { files[0] } }
    private let limit: Int
    /// A function that opens another connection; nil if `OpenedStore.openAnother` is nil.
    private var open: (() throws -> OpenFile)?
    private let readCloser: IdleReadCloser
    private var path: String

    private let lock = RecursiveLock(.connections)
    private var files: [OpenFile]
    private var opening = 0
    private var waiting: [Waiter] = []
    private let waitingCount = Atomic(0)
    private var isClosed = false
    /// A counter that `requireNewest` increases. Reads continue in an open transaction only if it began after the last
    /// increase.
    private let newest = Atomic<UInt64>(0)

    /// The default of `longLog`. It causes fewer checkpoints than SQLite's default of 1,000 pages: many small saves
    /// rewrite the same index pages.
    static let usualLongLog: Int32 = 4000
    /// The number of frames in the write-ahead log that triggers a checkpoint; 0 for never.
    private let longLog: Int32

    private final class Waiter {
        /// The wanted connection; nil for any.
        let wanted: OpenFile?
        var assigned: OpenFile?
        let turn = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

        init(_ wanted: OpenFile?) {
            self.wanted = wanted
            sem_init(turn, 0, 0)
        }

        deinit {
            sem_destroy(turn)
            turn.deallocate()
        }
    }

    init(
        _ first: OpenFile, readCloser: IdleReadCloser, limit: Int, longLog: Int32 = ConnectionPool.usualLongLog,
        path: String,
        open: (() throws -> OpenFile)?
    ) {
        self.longLog = longLog
        self.readCloser = readCloser
        self.limit = open == nil ? 1 : max(limit, 1)
        self.open = open
        self.path = path
        files = [first]
        readCloser.endIdleReads = { [unowned self] in endIdleReads() }
    }

    /// The number of open connections.
    var count: Int { lock.with { files.count } }

    // MARK: Acquiring and releasing connections

    /// Acquires a connection for the calling thread, which must release it with `release`.
    ///
    /// It is the connection that the thread already has, else `preferred` if it is free, else any connection.
    ///
    /// - Parameter check: Called repeatedly while all connections are in use. If it returns true, the wait ends with
    ///   `.cancelled`.
    func acquire(preferring preferred: OpenFile, check: (() -> Bool)?) throws -> OpenFile {
        if preferred.isUsedByThisThread {
            preferred.depth += 1
            return preferred
        }
        if waitingCount.load(ordering: .acquiring) == 0, !platform_holds_connection(), preferred.tryAcquire() {
            if preferred.isClosed {
                // The connection belongs to a file that the store no longer uses.
                preferred.release()
                return try acquireAny(check)
            }
            preferred.recordUser()
            return preferred
        }
        return try acquireAny(check)
    }

    /// Acquires a specific connection. The caller must release it with `release`.
    func acquire(only file: OpenFile, check: (() -> Bool)?) throws -> OpenFile {
        if file.isUsedByThisThread {
            file.depth += 1
            return file
        }
        if waitingCount.load(ordering: .acquiring) == 0, file.tryAcquire() {
            file.recordUser()
            return file
        }
        return try wait(for: file, check)
    }

    private func acquireAny(_ check: (() -> Bool)?) throws -> OpenFile {
        let (found, mayOpen) = lock.with { () -> (OpenFile?, Bool) in
            if platform_holds_connection(), let own = files.first(where: \.isUsedByThisThread) {
                own.depth += 1
                return (own, false)
            }
            if waiting.isEmpty, let idle = files.first(where: { $0.tryAcquire() }) {
                idle.recordUser()
                return (idle, false)
            }
            if isClosed || files.count + opening >= limit { return (nil, false) }
            opening += 1
            return (nil, true)
        }
        if let file = found ?? (mayOpen ? openAnother() : nil) { return file }
        return try wait(for: nil, check)
    }

    /// Opens another connection.
    ///
    /// - Returns: nil if that fails, or if the store has switched to another file. In both cases, the thread waits for
    ///   an existing connection.
    private func openAnother() -> OpenFile? {
        let (open, former) = lock.with { (self.open, files[0]) }
        let file = try? open?()
        return lock.with {
            opening -= 1
            guard let file, !isClosed, files[0] === former, file.tryAcquire() else { return nil }
            files.append(file)
            file.recordUser()
            return file
        }
    }

    private func wait(for wanted: OpenFile?, _ check: (() -> Bool)?) throws -> OpenFile {
        let mayWait = !platform_holds_connection()
        if mayWait { LockOrder.willWait(for: wanted ?? self, .connection) }
        let waiter = Waiter(wanted)
        try lock.with {
            if isClosed { throw closed }
            waiting.append(waiter)
            waitingCount.add(1, ordering: .sequentiallyConsistent)
            assignFreeConnections()
        }
        if !mayWait, removeRejected(waiter) {
            throw CoreError(
                .storeBusy, code: .persistentStoreOperation,
                "a callback needs \(path), but other threads use its connections; use \(path) before or after the call "
                    + "that runs the callback", file: path)
        }
        while !waiter.turn.waitBriefly() {
            guard let check, check(), removeRejected(waiter) else { continue }
            throw CoreError(
                .cancelled, code: .persistentStoreOperation, "waiting for a connection to \(path) was cancelled",
                file: path)
        }
        guard let file = lock.with({ waiter.assigned }) else { throw closed }
        file.recordUser()
        return file
    }

    /// Ends a wait. Returns false if a connection was assigned at the same moment.
    private func removeRejected(_ waiter: Waiter) -> Bool {
        lock.with {
            guard let index = waiting.firstIndex(where: { $0 === waiter }) else { return false }
            waiting.remove(at: index)
            waitingCount.subtract(1, ordering: .sequentiallyConsistent)
            return true
        }
    }

    /// Releases a connection that the calling thread has acquired.
    func release(_ file: OpenFile) {
        if file.depth > 0 {
            file.depth -= 1
            return
        }
        file.release()
        if waitingCount.load(ordering: .sequentiallyConsistent) > 0 { lock.with(assignFreeConnections) }
    }

    /// Assigns free connections to waiting threads. Must be called under the lock.
    private func assignFreeConnections() {
        var index = 0
        while index < waiting.count {
            let waiter = waiting[index]
            let candidates = waiter.wanted.map { [$0] } ?? files
            guard let file = candidates.first(where: { $0.tryAcquire() }) else {
                index += 1
                continue
            }
            waiter.assigned = file
            waiting.remove(at: index)
            waitingCount.subtract(1, ordering: .sequentiallyConsistent)
            sem_post(waiter.turn)
        }
    }

    private var closed: CoreError {
        CoreError(
            .objectGone, code: .persistentStoreOperation,
            "the store \(path) was closed; add it again with cst_coordinator_add_store (add_store, addStore)",
            file: path)
    }

    // MARK: States

    /// Makes all later reads see at least the current state of the file.
    func requireNewest() { newest.add(1, ordering: .acquiringAndReleasing) }

    /// Ends a connection's read transaction if it began before the last call of `requireNewest`.
    ///
    /// The caller must have acquired the connection.
    @inline(__always)
    func catchUp(_ file: OpenFile) {
        let state = newest.load(ordering: .acquiring)
        if file.state == state { return }
        file.endReads()
        file.state = state
    }

    /// Checkpoints a long log.
    ///
    /// Called after a commit with `file` and before the next commit. It ends the read transactions of unused
    /// connections first, because readers of an old state would let the log grow.
    func shortenLog(_ file: OpenFile) {
        guard longLog > 0, file.logFrames >= longLog else { return }
        endUnusedReads(but: file)
        sqlite3_wal_checkpoint_v2(file.connection.db, "main", SQLITE_CHECKPOINT_PASSIVE, nil, nil)
        file.logFrames = 0
    }

    /// Ends the read transactions of connections that are not in use.
    func endUnusedReads(but own: OpenFile? = nil) {
        for file in lock.with({ files }) where file !== own && !file.isUsedByThisThread && file.tryAcquire() {
            file.endReads()
            release(idle: file)
        }
    }

    /// Ends idle read transactions, and returns whether a read transaction may still be open.
    ///
    /// Holds the lock throughout, so that a thread whose connection is briefly in use does not acquire another one.
    private func endIdleReads() -> Bool {
        lock.with {
            var isAnyHeld = false
            for file in files {
                guard file.tryAcquire() else {
                    isAnyHeld = true
                    continue
                }
                file.endIdleRead()
                if file.openRead?.isOpen == true { isAnyHeld = true }
                file.release()
            }
            assignFreeConnections()
            return isAnyHeld
        }
    }

    private func release(idle file: OpenFile) {
        file.release()
        if waitingCount.load(ordering: .sequentiallyConsistent) > 0 { lock.with(assignFreeConnections) }
    }

    // MARK: Closing

    /// Closes each connection after its current use. Calls of waiting threads fail.
    func close() {
        let all = lock.with { () -> [OpenFile] in
            if isClosed { return [] }
            isClosed = true
            for waiter in waiting { sem_post(waiter.turn) }
            waitingCount.subtract(waiting.count, ordering: .sequentiallyConsistent)
            waiting = []
            return files
        }
        if all.isEmpty { return }
        readCloser.stop()
        for file in all.reversed() {
            while !file.isUsedByThisThread, !file.tryAcquire() { usleep(1000) }
            file.close()
            if !file.isUsedByThisThread { file.release() }
        }
    }

    /// Switches to another file, and closes each connection to the former file after its current use.
    func change(to file: OpenFile, at path: String, open: (() throws -> OpenFile)?) throws {
        let former = try lock.with { () -> [OpenFile] in
            if isClosed { throw closed }
            defer { (files, self.open, self.path) = ([file], open, path) }
            return files
        }
        for file in former.reversed() {
            while !file.tryAcquire() { usleep(1000) }
            file.close()
            file.release()
        }
        requireNewest()
        lock.with(assignFreeConnections)
    }

    /// Runs `body` with a connection that the caller has acquired.
    func use<Result>(_ file: OpenFile, check: (() -> Bool)?, _ body: (OpenFile) throws -> Result) throws -> Result {
        if file.isClosed { throw closed }
        file.connection.followLog()
        if platform_sql_detail() != 0, platform_runs_log_callback() { throw calledFromLog() }
        catchUp(file)
        let setsHostCheck = check != nil && file.depth == 0
        if setsHostCheck { file.progress.setHostCheck(check) }
        defer { if setsHostCheck { file.progress.setHostCheck(nil) } }
        let result: Result
        do {
            result =
                if let watch = file.watch { try watch.reading { try body(file) } } else { try body(file) }
        } catch {
            // The error may be a consequence of the file's replacement by another store.
            try file.requireOwnStore()
            throw error
        }
        try file.requireOwnStore()
        return result
    }

    /// Creates the error for a log callback that uses the store, while SQLite is still running the logged statement.
    private func calledFromLog() -> CoreError {
        CoreError(
            .invalidArgument, code: .persistentStoreOperation,
            "the log callback used the store \(path); keep the line, and use the store after the call that logs it has "
                + "returned", file: path)
    }
}
