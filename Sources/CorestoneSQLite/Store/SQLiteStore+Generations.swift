import CPlatform
import CSQLite
import CorestoneGraph
import CorestoneValues
import Glibc

/// The readers of a store that are pinned to a query generation, and idle readers that can be reused.
///
/// Each reader has its own connection, with an open read transaction while the reader is pinned. As long as a reader is
/// pinned, the store keeps the backing files that later saves no longer refer to.
final class PinnedReaders: @unchecked Sendable {
    private struct State {
        /// The pinned readers, in the order in which they were added.
        var pinned: [(reader: SQLiteStore, number: Int)] = []
        var idle: [SQLiteStore] = []
        var lastNumber = 0
        /// The highest number of a reader of a file that the store no longer uses.
        var lastOfFormerFile = 0
        /// Backing files to which only readers up to a number refer.
        var obsolete: [(upTo: Int, paths: [String])] = []
    }

    private let state = Locked(State())
    /// The maximum number of idle readers. They need memory, but avoid opening the file for each save of a pinned
    /// context.
    private static let maximumIdle = 2

    func takeIdle() -> SQLiteStore? { state.withLock { $0.idle.popLast() } }

    /// Returns a number for a reader that is about to be reused or opened.
    ///
    /// The number is assigned before the reader is opened, so that a reader of the former file cannot have a higher
    /// number than `closeIdle` records.
    func nextNumber() -> Int {
        state.withLock {
            $0.lastNumber += 1
            return $0.lastNumber
        }
    }

    func add(_ reader: SQLiteStore, _ number: Int) { state.withLock { $0.pinned.append((reader, number)) } }

    /// Ends the pin of a reader.
    func end(_ reader: SQLiteStore) {
        let isReady = reader.endPin()
        let (paths, closing) = state.withLock { state -> ([String], Bool) in
            // A reader that is not in the list was closed with its store.
            guard let place = state.pinned.firstIndex(where: { $0.reader === reader }) else { return ([], false) }
            let pinned = state.pinned.remove(at: place)
            let keeps =
                isReady && pinned.number > state.lastOfFormerFile && state.idle.count < PinnedReaders.maximumIdle
            if keeps { state.idle.append(reader) }
            let oldest = state.pinned.map(\.number).min() ?? .max
            let free = state.obsolete.prefix { $0.upTo < oldest }.flatMap(\.paths)
            state.obsolete.removeAll { $0.upTo < oldest }
            return (free, !keeps)
        }
        for path in paths { unlink(path) }
        if closing { reader.close() }
    }

    /// Removes backing files to which the newest state does not refer.
    ///
    /// They are removed immediately, or when the last reader that may need them is unpinned.
    func remove(_ paths: [String]) {
        let isKept = state.withLock { state in
            if state.pinned.isEmpty { return false }
            state.obsolete.append((state.lastNumber, paths))
            return true
        }
        if !isKept { for path in paths { unlink(path) } }
    }

    /// Closes the idle readers, and prevents the reuse of the readers that are pinned now.
    func closeIdle() {
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
        for reader in former.idle + former.pinned.map(\.reader) { reader.close() }
        for path in former.obsolete.flatMap(\.paths) { unlink(path) }
    }
}

extension SQLiteStore {
    func pinnedReader() throws -> (any StoreReading)? {
        // A file that was opened read-only has only one state.
        if isReadOnly { return self }
        let number = readers.nextNumber()
        let reader = try readers.takeIdle() ?? SQLiteStore(readingFrom: self)
        do { try reader.beginPin() } catch {
            reader.close()
            throw error
        }
        readers.add(reader, number)
        return reader
    }

    func unpin(_ reader: any StoreReading) {
        if let reader = reader as? SQLiteStore, reader !== self, !platform_is_forked() { readers.end(reader) }
    }

    /// Opens a connection for a pinned reader.
    func connectionForReading() throws -> Connection {
        try withFile { file in
            guard !isInMemory else {
                throw CoreError(
                    .unsupported, code: .persistentStoreOperation,
                    "\(path) is an in-memory store, which does not support query generations; use a store with a file",
                    file: path)
            }
            guard file.keepsReaders, let location = sqlite3_db_filename(file.connection.db, "main") else {
                let given: [String] = [
                    options.rollbackJournal ? "CST_STORE_ROLLBACK_JOURNAL (journal=\"rollback\")" : nil,
                    options.pragmas.contains { $0.key.lowercased() == "journal_mode" && $0.value.lowercased() != "wal" }
                        ? "the pragma journal_mode" : nil,
                ].compactMap { $0 }
                let remedy =
                    given.isEmpty
                    ? "\(StoreLocation.addingAgain) while other processes do not use it"
                    : "\(StoreLocation.addingAgain) without \(given.joined(separator: " and without "))"
                throw CoreError(
                    .unsupported, code: .persistentStoreOperation,
                    "\(path) uses a rollback journal, so a context pinned to a query generation would block every "
                        + "writer. Use a write-ahead log: \(remedy)", file: path)
            }
            // The path may meanwhile refer to another file.
            try file.requireName()
            // Opened for writing, because SQLite writes the log's index even for readers.
            let connection = try Connection(
                String(cString: location), path: path, flags: SQLITE_OPEN_READWRITE, limits: options.limits)
            connection.waitForLocks(milliseconds: file.connection.busyTimeout)
            connection.limitExpressions()
            try connection.execute("PRAGMA query_only=1;PRAGMA cache_size=-8192", "read \(path)")
            return connection
        }
    }

    /// Begins the read transaction of a pinned reader. The transaction sees the state at its first statement.
    private func beginPin() throws {
        try withFile { file in
            try file.connection.execute("BEGIN", "read \(path)")
            _ = try file.connection.finds("SELECT 1 FROM sqlite_schema", purpose: "read \(path)")
        }
    }

    /// Ends the read transaction. Returns false if the reader cannot be reused.
    fileprivate func endPin() -> Bool {
        let hasEnded = try? withFile { file in
            // An unfinished statement would keep the transaction open.
            file.endReads()
            try file.connection.execute("COMMIT", "read \(path)")
            sqlite3_db_release_memory(file.connection.db)
            return file.connection.isAutocommit
        }
        return hasEnded == true
    }
}
