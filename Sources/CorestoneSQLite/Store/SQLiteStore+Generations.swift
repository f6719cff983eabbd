import CPlatform
import CSQLite
import CorestoneGraph
import CorestoneValues
import Glibc

/// The readers of a store that hold a state of it, and those that held one and wait to be used again.
///
/// Such a reader is a connection of its own with a read transaction that stays open. As long as one is, the store keeps the files
/// of external data that saves leave behind.
final class PinnedReaders: @unchecked Sendable {
    private struct State {
        /// The readers that hold a state, by the order in which they came.
        var held: [(reader: SQLiteStore, number: Int)] = []
        var idle: [SQLiteStore] = []
        var lastNumber = 0
        /// Readers up to this number read a file that the store has left.
        var lastOfFormerFile = 0
        /// Files that only readers up to a number lead to.
        var obsolete: [(upTo: Int, paths: [String])] = []
    }

    private let state = Locked(State())
    /// Connections that wait cost some memory and spare opening the file for each save of a pinned context.
    private static let mostIdle = 2

    func takeIdle() -> SQLiteStore? { state.withLock { $0.idle.popLast() } }

    /// The number of a reader that is about to be taken or opened: drawn before, so that it tells which file that one reads at the
    /// latest.
    func drawNumber() -> Int {
        state.withLock {
            $0.lastNumber += 1
            return $0.lastNumber
        }
    }

    func add(_ reader: SQLiteStore, _ number: Int) { state.withLock { $0.held.append((reader, number)) } }

    /// Nobody needs the reader's state any more.
    func end(_ reader: SQLiteStore) {
        let isReady = reader.letGo()
        let (paths, closing) = state.withLock { state -> ([String], Bool) in
            // One that is not there was closed with its store.
            guard let place = state.held.firstIndex(where: { $0.reader === reader }) else { return ([], false) }
            let held = state.held.remove(at: place)
            let keeps = isReady && held.number > state.lastOfFormerFile && state.idle.count < PinnedReaders.mostIdle
            if keeps { state.idle.append(reader) }
            let oldest = state.held.map(\.number).min() ?? .max
            let free = state.obsolete.prefix { $0.upTo < oldest }.flatMap(\.paths)
            state.obsolete.removeAll { $0.upTo < oldest }
            return (free, !keeps)
        }
        for path in paths { unlink(path) }
        if closing { reader.close() }
    }

    /// Removes files that the newest state does not lead to: now, or when the last reader that may want them has ended.
    func remove(_ paths: [String]) {
        let isKept = state.withLock { state in
            if state.held.isEmpty { return false }
            state.obsolete.append((state.lastNumber, paths))
            return true
        }
        if !isKept { for path in paths { unlink(path) } }
    }

    /// None of those that wait, or hold a state now, is used again.
    func leaveIdle() {
        let idle = state.withLock { state in
            state.lastOfFormerFile = state.lastNumber
            defer { state.idle = [] }
            return state.idle
        }
        for reader in idle { reader.close() }
    }

    func closeAll() {
        let former = state.withLock { state in
            defer { state = State() }
            return state
        }
        for reader in former.idle + former.held.map(\.reader) { reader.close() }
        for path in former.obsolete.flatMap(\.paths) { unlink(path) }
    }
}

extension SQLiteStore {
    func pinnedReader() throws -> (any StoreReading)? {
        // A file that was opened as one that does not change has this one state.
        if isReadOnly { return self }
        let number = readers.drawNumber()
        let reader = try readers.takeIdle() ?? SQLiteStore(readingFrom: self)
        do { try reader.hold() } catch {
            reader.close()
            throw error
        }
        readers.add(reader, number)
        return reader
    }

    func unpin(_ reader: any StoreReading) {
        if let reader = reader as? SQLiteStore, reader !== self, !platform_is_forked() { readers.end(reader) }
    }

    /// The connection for a reader of the state at some time.
    func connectionForReading() throws -> Connection {
        try withFile { file in
            guard !isInMemory else {
                throw CoreError(
                    .unsupported, code: .persistentStoreOperation,
                    "\(path) is an in-memory store, which does not support query generations; use a store with a file",
                    file: path)
            }
            guard file.keepsReaders, let location = sqlite3_db_filename(file.connection.db, "main") else {
                throw CoreError(
                    .unsupported, code: .persistentStoreOperation,
                    "\(path) uses a rollback journal, so a context pinned to a query generation would block every writer. Use "
                        + "a write-ahead log: open the store without CST_STORE_ROLLBACK_JOURNAL (journal=\"rollback\") and "
                        + "without the pragma journal_mode",
                    file: path)
            }
            // What has the path by now is another file.
            try file.requireName()
            // SQLite wants to write the log's index even for a reader.
            let connection = try Connection(
                String(cString: location), path: path, flags: SQLITE_OPEN_READWRITE, limits: options.limits)
            connection.waitForLocks(milliseconds: 5000)
            connection.limitExpressions()
            try connection.execute("PRAGMA query_only=1;PRAGMA cache_size=-8192", "read \(path)")
            return connection
        }
    }

    /// Begins the read transaction that is the reader's state: of the moment of its first statement.
    private func hold() throws {
        try withFile { file in
            try file.connection.execute("BEGIN", "read \(path)")
            _ = try file.connection.finds("SELECT 1 FROM sqlite_schema", purpose: "read \(path)")
        }
    }

    /// Ends it. False when the reader is of no more use.
    fileprivate func letGo() -> Bool {
        let hasEnded = try? withFile { file in
            // A statement that a thread left behind would keep the state.
            file.endReads()
            try file.connection.execute("COMMIT", "read \(path)")
            sqlite3_db_release_memory(file.connection.db)
            return file.connection.isAutocommit
        }
        return hasEnded == true
    }
}
