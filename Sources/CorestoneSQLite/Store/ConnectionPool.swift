import CPlatform
import CSQLite
import CorestoneGraph
import CorestoneValues
import Glibc
import Synchronization

/// The connections of one store to its file, each used by one thread at a time.
///
/// As long as nobody has to wait for the first one it is the only one, with one page cache. Others are opened when a thread would
/// have to wait, up to a limit; any of them reads and saves, but one save at a time, which the coordinator sees to. A thread uses
/// one at a time, the same again within what it does with it, so threads never wait for each other in a circle. Those that
/// wait get theirs in order of arrival.
final class ConnectionPool: @unchecked Sendable {
    /// The one for whoever does not ask for another.
    var first: OpenFile { lock.with { files[0] } }
    private let limit: Int
    /// Opens one more; nil where there can be only one.
    private var open: (() throws -> OpenFile)?
    private let reaper: ReadReaper
    private var path: String

    private let lock = RecursiveLock(.connections)
    private var files: [OpenFile]
    private var opening = 0
    private var waiting: [Waiting] = []
    private let waitingCount = Atomic(0)
    private var isClosed = false
    /// Grows with what every later read has to see: reads go on in a transaction only if it began after that.
    private let newest = Atomic<UInt64>(0)

    /// Fewer checkpoints than SQLite's default of 1,000 pages: many small saves rewrite the same index pages.
    static let usualLongLog: Int32 = 4000
    /// Frames of the write-ahead log after which it is brought into the file; 0 for never.
    private let longLog: Int32

    private final class Waiting {
        /// nil for whichever is free first.
        let wish: OpenFile?
        var given: OpenFile?
        let turn = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

        init(_ wish: OpenFile?) {
            self.wish = wish
            sem_init(turn, 0, 0)
        }

        deinit {
            sem_destroy(turn)
            turn.deallocate()
        }
    }

    init(
        _ first: OpenFile, reaper: ReadReaper, limit: Int, longLog: Int32 = ConnectionPool.usualLongLog, path: String,
        open: (() throws -> OpenFile)?
    ) {
        self.longLog = longLog
        self.reaper = reaper
        self.limit = open == nil ? 1 : max(limit, 1)
        self.open = open
        self.path = path
        files = [first]
        reaper.endIdle = { [unowned self] in endIdleReads() }
    }

    /// How many are open.
    var count: Int { lock.with { files.count } }

    // MARK: Taking and giving back

    /// A connection for the calling thread: the one that it has, else `wish` if nobody uses it, else any. To be given back.
    /// - Parameter check: asked now and then while all are in use; true ends the wait with `.cancelled`.
    func take(_ wish: OpenFile, check: (() -> Bool)?) throws -> OpenFile {
        if wish.isMine {
            wish.depth += 1
            return wish
        }
        if waitingCount.load(ordering: .acquiring) == 0, !platform_holds_connection(), wish.seize() {
            if wish.isClosed {
                // Of a file that the store has left.
                wish.release()
                return try takeOther(check)
            }
            wish.isTaken()
            return wish
        }
        return try takeOther(check)
    }

    /// That very connection.
    func take(only file: OpenFile, check: (() -> Bool)?) throws -> OpenFile {
        if file.isMine {
            file.depth += 1
            return file
        }
        if waitingCount.load(ordering: .acquiring) == 0, file.seize() {
            file.isTaken()
            return file
        }
        return try wait(for: file, check)
    }

    private func takeOther(_ check: (() -> Bool)?) throws -> OpenFile {
        let (found, mayOpen) = lock.with { () -> (OpenFile?, Bool) in
            if platform_holds_connection(), let own = files.first(where: \.isMine) {
                own.depth += 1
                return (own, false)
            }
            if waiting.isEmpty, let idle = files.first(where: { $0.seize() }) {
                idle.isTaken()
                return (idle, false)
            }
            if isClosed || files.count + opening >= limit { return (nil, false) }
            opening += 1
            return (nil, true)
        }
        if let file = found ?? (mayOpen ? openOne() : nil) { return file }
        return try wait(for: nil, check)
    }

    /// nil when the system gives no more, or the file has moved: then those that are there have to do.
    private func openOne() -> OpenFile? {
        let (open, former) = lock.with { (self.open, files[0]) }
        let file = try? open?()
        return lock.with {
            opening -= 1
            guard let file, !isClosed, files[0] === former, file.seize() else { return nil }
            files.append(file)
            file.isTaken()
            return file
        }
    }

    private func wait(for wish: OpenFile?, _ check: (() -> Bool)?) throws -> OpenFile {
        let mayWait = !platform_holds_connection()
        if mayWait { LockOrder.willWait(for: wish ?? self, .connection) }
        let place = Waiting(wish)
        try lock.with {
            if isClosed { throw closed }
            waiting.append(place)
            waitingCount.add(1, ordering: .sequentiallyConsistent)
            handOut()
        }
        if !mayWait, withdraw(place) {
            throw CoreError(
                .storeBusy, code: .persistentStoreOperation,
                "a callback of a fetch or save needs \(path), but other threads use its connections; use the store "
                    + "before or after the fetch or save", file: path)
        }
        while !place.turn.waitAWhile() {
            guard let check, check(), withdraw(place) else { continue }
            throw CoreError(
                .cancelled, code: .persistentStoreOperation, "waiting for a connection to \(path) was cancelled",
                file: path)
        }
        guard let file = lock.with({ place.given }) else { throw closed }
        file.isTaken()
        return file
    }

    /// False when a connection came at the same moment.
    private func withdraw(_ place: Waiting) -> Bool {
        lock.with {
            guard let index = waiting.firstIndex(where: { $0 === place }) else { return false }
            waiting.remove(at: index)
            waitingCount.subtract(1, ordering: .sequentiallyConsistent)
            return true
        }
    }

    func give(_ file: OpenFile) {
        if file.depth > 0 {
            file.depth -= 1
            return
        }
        file.release()
        if waitingCount.load(ordering: .sequentiallyConsistent) > 0 { lock.with(handOut) }
    }

    /// Gives free connections to those that wait for one. Under the lock.
    private func handOut() {
        var index = 0
        while index < waiting.count {
            let place = waiting[index]
            let candidates = place.wish.map { [$0] } ?? files
            guard let file = candidates.first(where: { $0.seize() }) else {
                index += 1
                continue
            }
            place.given = file
            waiting.remove(at: index)
            waitingCount.subtract(1, ordering: .sequentiallyConsistent)
            sem_post(place.turn)
        }
    }

    private var closed: CoreError {
        CoreError(
            .objectGone, code: .persistentStoreOperation,
            "the store \(path) was closed; add it to a coordinator again", file: path)
    }

    // MARK: States

    /// Has whatever is read from now on find what is in the file now.
    func requireNewest() { newest.add(1, ordering: .acquiringAndReleasing) }

    /// Sees to it that a connection, which the caller has, finds what has to be found.
    @inline(__always)
    func catchUp(_ file: OpenFile) {
        let state = newest.load(ordering: .acquiring)
        if file.state == state { return }
        file.endReads()
        file.state = state
    }

    /// Brings a log that has grown long into the file. By who has committed with `file`, before anybody else does: readers that
    /// idle in the past must not keep it growing.
    func shortenLog(_ file: OpenFile) {
        guard longLog > 0, file.logFrames >= longLog else { return }
        endUnusedReads(but: file)
        sqlite3_wal_checkpoint_v2(file.connection.db, "main", SQLITE_CHECKPOINT_PASSIVE, nil, nil)
        file.logFrames = 0
    }

    /// Ends the read transactions of connections that nobody uses right now.
    func endUnusedReads(but own: OpenFile? = nil) {
        for file in lock.with({ files }) where file !== own && !file.isMine && file.seize() {
            file.endReads()
            give(idle: file)
        }
    }

    /// Ends read transactions that nobody used for a while. Whether any is left. All under the lock, so that a thread which finds
    /// its connection in use just then does not look for another one.
    private func endIdleReads() -> Bool {
        lock.with {
            var isAnyHeld = false
            for file in files {
                guard file.seize() else {
                    isAnyHeld = true
                    continue
                }
                file.endIdleRead()
                if file.held?.isHeld == true { isAnyHeld = true }
                file.release()
            }
            handOut()
            return isAnyHeld
        }
    }

    private func give(idle file: OpenFile) {
        file.release()
        if waitingCount.load(ordering: .sequentiallyConsistent) > 0 { lock.with(handOut) }
    }

    // MARK: The end

    /// Closes all, each when who uses it is done; who waits for one gets an error.
    func close() {
        let all = lock.with { () -> [OpenFile] in
            if isClosed { return [] }
            isClosed = true
            for place in waiting { sem_post(place.turn) }
            waitingCount.subtract(waiting.count, ordering: .sequentiallyConsistent)
            waiting = []
            return files
        }
        if all.isEmpty { return }
        reaper.stop()
        for file in all.reversed() {
            while !file.isMine, !file.seize() { usleep(1000) }
            file.close()
            if !file.isMine { file.release() }
        }
    }

    /// Goes on with another file, and closes the connections to the former one, each when who uses it is done.
    func change(to file: OpenFile, at path: String, open: (() throws -> OpenFile)?) throws {
        let former = try lock.with { () -> [OpenFile] in
            if isClosed { throw closed }
            defer { (files, self.open, self.path) = ([file], open, path) }
            return files
        }
        for file in former.reversed() {
            while !file.seize() { usleep(1000) }
            file.close()
            file.release()
        }
        requireNewest()
        lock.with(handOut)
    }

    /// Runs `body` with a connection that the caller has taken.
    func use<Result>(_ file: OpenFile, check: (() -> Bool)?, _ body: (OpenFile) throws -> Result) throws -> Result {
        if file.isClosed { throw closed }
        file.connection.followLog()
        if platform_sql_detail() != 0, platform_is_telling() { throw calledFromLog() }
        catchUp(file)
        let asks = check != nil && file.depth == 0
        if asks { file.progress.ask(check) }
        defer { if asks { file.progress.ask(nil) } }
        let result: Result
        do {
            result =
                if let watch = file.watch { try watch.reading { try body(file) } } else { try body(file) }
        } catch {
            // Other tables may be the reason.
            try file.requireOwnStore()
            throw error
        }
        try file.requireOwnStore()
        return result
    }

    /// SQLite is in the middle of the statement that the log is told of.
    private func calledFromLog() -> CoreError {
        CoreError(
            .invalidArgument, code: .persistentStoreOperation,
            "the log callback used the store \(path); keep the line, and use the store after the call that logs it has "
                + "returned", file: path)
    }
}
