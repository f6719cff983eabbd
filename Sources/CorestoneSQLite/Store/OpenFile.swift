import CPlatform
import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Synchronization

/// A connection of an open store, with its prepared statements and plans.
///
/// Only the thread that has acquired it from its `ConnectionPool` may use it.
final class OpenFile: @unchecked Sendable {
    let connection: Connection
    let schema: StoreSchema
    let functions: StoreFunctions
    /// The history; nil if the store does not record one.
    let history: HistorySchema?
    /// The recorder of old values; nil unless the history is complete.
    private(set) var oldValues: OldValueRecorder?
    /// The version of the file's schema that `oldValues` matches; nil before the first write.
    private var schemaOfOldValues: Int?
    /// The read transaction that stays open; nil if readers would block writers.
    private(set) var openRead: OpenReadTransaction?
    /// The check for writes; nil for a file that is locked while it is read, or that no other process can write to.
    let watch: ImmutableFileCheck?
    /// The maximum number of rows in a read-only file; `.max` for a file that may grow. In a damaged file, pages may
    /// form a cycle, so that a read would return rows endlessly.
    let maximumRows: Int
    /// Whether every read sees the same state: the file is immutable, a private copy, or read in one transaction.
    private let isFixed: Bool
    private var cursors = RowCursors()
    private(set) var isClosed = false
    /// The number of frames in the write-ahead log after the last commit.
    var logFrames: Int32 = 0
    /// The identifier of the store, from `Z_METADATA`.
    let identifier: String
    /// The last known metadata of the store; nil for a pinned reader, because its store checks the metadata.
    var document: StoreDocument?
    /// The `contentVersion` that was last checked to belong to the store; nil before the first check.
    var examined: UInt32?
    /// The size of the file in bytes when this connection last wrote.
    var fileBytes: Int
    /// The value of `ConnectionPool.newest` when the file was last read.
    var state: UInt64 = 0

    private let outdated = Locked<[Statement]>([])
    private let hasOutdated = Atomic(false)
    private let isInUse = Atomic(false)
    /// The number of the thread that uses the connection; 0 if it is free.
    private let user = Atomic<UInt64>(0)
    /// The number of nested uses by that thread.
    var depth = 0
    let progress: ProgressCheck
    /// Whether pages may form a cycle. True for a read-only file whose pages were not yet checked.
    private(set) var mayBeEndless: Bool
    var singleRows: SingleRows?
    /// Whether the file has triggers, which may need more time and memory than the written rows.
    private(set) lazy var hasTriggers =
        (try? connection.finds("SELECT 1 FROM sqlite_schema WHERE type = 'trigger'", purpose: "save")) ?? true
    /// The plans of faults, by the index of the root's table in `schema.tables`.
    private(set) var faults: [FaultPlan?]
    private var fetchPlans: [FetchShape: RowPlan] = [:]
    private var insertPlans: [UInt32: InsertPlan] = [:]

    /// The smallest size of a row in bytes: a cell with size, key and header, and its pointer in the page.
    private static let minimumRowSize = 5

    private struct FetchShape: Hashable {
        let entity: UInt32
        let includesSubentities: Bool
        let leading: Int32
        let keys: Set<UInt32>?
    }

    init(
        _ connection: Connection, of identifier: String, document: StoreDocument? = nil, schema: StoreSchema,
        history: HistorySchema? = nil, readCloser: IdleReadCloser?,
        watch: ImmutableFileCheck? = nil, isFixed: Bool = false
    ) throws {
        (self.connection, self.identifier, self.document) = (connection, identifier, document)
        self.watch = watch
        maximumRows =
            sqlite3_db_readonly(connection.db, "main") == 1 ? connection.fileSize / OpenFile.minimumRowSize : .max
        self.isFixed = isFixed
        fileBytes = connection.fileSize
        progress = ProgressCheck(connection)
        mayBeEndless = maximumRows < .max
        self.schema = schema
        self.history = history
        functions = try StoreFunctions(connection)
        openRead = try readCloser.map { try OpenReadTransaction(connection, readCloser: $0) }
        faults = Array(repeating: nil, count: schema.tables.count)
        noteLogFrames()
    }

    /// Returns the plan of a fetch.
    ///
    /// - Parameters:
    ///   - leading: The number of result columns before those of the row.
    ///   - keys: The keys of the properties to read; nil reads all.
    func plan(
        for entity: Entity, includesSubentities: Bool, leading: Int32 = 0, keys: Set<UInt32>? = nil
    ) -> RowPlan {
        let shape = FetchShape(
            entity: entity.index, includesSubentities: includesSubentities, leading: leading, keys: keys)
        if let known = fetchPlans[shape] { return known }
        let family = includesSubentities ? entity.withDescendants : [entity]
        let plan = RowPlan(schema: schema, family: family, leading: leading, keys: keys, path: connection.path)
        fetchPlans[shape] = plan
        return plan
    }

    func faultPlan(for root: Entity) throws -> FaultPlan {
        let table = schema.table(of: root)
        if let known = faults[table.place] { return known }
        let plan = try FaultPlan(plan(for: root, includesSubentities: true), connection: connection)
        faults[table.place] = plan
        return plan
    }

    func insertPlan(for entity: Entity) throws -> InsertPlan {
        if let known = insertPlans[entity.index] { return known }
        let plan = try InsertPlan(entity: entity, schema: schema, connection: connection)
        insertPlans[entity.index] = plan
        return plan
    }

    /// Starts or stops recording old values according to the file, because another connection may have changed that.
    ///
    /// Must be called in a write transaction.
    func followOldValues() throws {
        guard history != nil else { return }
        let purpose = "save to \(connection.path)"
        let version = try connection.statement("PRAGMA main.schema_version", purpose)
        let schemaVersion = try version.step(purpose) ? Int(version.integer(0)) : 0
        version.reset()
        if schemaVersion == schemaOfOldValues { return }
        if try OldValueTables.exist(in: connection, purpose) {
            oldValues = try oldValues ?? OldValueRecorder(connection, schema)
        } else {
            oldValues = nil
            try OldValueRecorder.remove(from: connection)
        }
        schemaOfOldValues = schemaVersion
    }

    /// Discards the recorder after a rollback, which may have removed the triggers that `followOldValues` created.
    func forgetOldValues() { (oldValues, schemaOfOldValues) = (nil, nil) }

    /// Whether readers do not block writers.
    var keepsReaders: Bool { openRead != nil }

    /// Ends the read transaction, so that the next read or write sees the newest state.
    func endReads() {
        if hasOutdated.load(ordering: .acquiring) { finalizeOutdated() }
        openRead?.end()
        if !isFixed { for cursor in cursors.living { cursor.detachFromStatement() } }
    }

    /// Finalises outdated statements, and ends an idle read transaction.
    func endIdleRead() {
        if hasOutdated.load(ordering: .acquiring) { finalizeOutdated() }
        openRead?.endIfIdle()
    }

    /// Accepts a statement from a thread that has not acquired the connection.
    ///
    /// The next user of the connection finalises it.
    func finalizeLater(_ statement: Statement) {
        outdated.withLock { $0.append(statement) }
        hasOutdated.store(true, ordering: .releasing)
    }

    private func finalizeOutdated() {
        hasOutdated.store(false, ordering: .relaxed)
        let statements = outdated.withLock { all in
            defer { all = [] }
            return all
        }
        withExtendedLifetime(statements) {}
    }

    func notePagesAreSound() { mayBeEndless = false }

    /// Registers a new cursor. If readers would block writers, the cursor's statement does not stay open.
    func register(_ cursor: RowCursor) throws {
        cursors.add(cursor)
        if !keepsReaders && !isFixed { cursor.detachFromStatement() }
    }

    func close() {
        isClosed = true
        finalizeOutdated()
        for cursor in cursors.living { cursor.end() }
        openRead?.end()
        if !connection.isAutocommit { sqlite3_exec(connection.db, "ROLLBACK", nil, nil, nil) }
        progress.end()
        faults.removeAll()
        fetchPlans.removeAll()
        insertPlans.removeAll()
        singleRows = nil
        oldValues = nil
        openRead = nil
        warnOfLogOfRenamedFile()
        connection.close()
    }

    // MARK: Ownership

    /// Acquires the connection for a thread. Returns false if the connection is in use.
    @inline(__always)
    func tryAcquire() -> Bool {
        isInUse.compareExchange(expected: false, desired: true, ordering: .sequentiallyConsistent).exchanged
    }

    /// Records the calling thread as the user of the connection.
    @inline(__always)
    func recordUser() {
        user.store(platform_thread_id(), ordering: .relaxed)
        LockOrder.didAcquire(self, .connection)
        platform_did_acquire(UInt32(PLATFORM_CONNECTION))
    }

    @inline(__always)
    var isUsedByThisThread: Bool { user.load(ordering: .relaxed) == platform_thread_id() }

    /// Releases the connection.
    @inline(__always)
    func release() {
        if isUsedByThisThread {
            user.store(0, ordering: .relaxed)
            LockOrder.didRelease(self)
            platform_did_release(UInt32(PLATFORM_CONNECTION))
        }
        isInUse.store(false, ordering: .sequentiallyConsistent)
    }

    // MARK: The log

    /// Installs a hook that records the length of the log after each commit.
    ///
    /// The hook replaces SQLite's automatic checkpoints, which ignore idle readers.
    private func noteLogFrames() {
        sqlite3_wal_hook(
            connection.db,
            { userData, _, _, frames in
                guard let userData else { return SQLITE_OK }
                Unmanaged<OpenFile>.fromOpaque(userData).takeUnretainedValue().logFrames = frames
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }
}
