import CPlatform
import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Synchronization

/// One connection of an open store with everything that is prepared for it. Used by the thread that took it from its
/// `ConnectionPool`.
final class OpenFile: @unchecked Sendable {
    let connection: Connection
    let schema: StoreSchema
    let functions: StoreFunctions
    /// nil when the store keeps no history.
    let history: HistoryDesign?
    /// nil unless the history is complete.
    private(set) var oldValues: OldValueRecorder?
    /// The schema of the file for which `oldValues` is right; nil before the first write.
    private var schemaOfOldValues: Int?
    /// nil where readers would keep a writer out.
    private(set) var held: HeldRead?
    /// nil for a file that is locked while it is read, or that nobody else can write.
    let watch: FileWatch?
    /// How many rows can lie in a file that does not grow; pages of a damaged one may lead to each other as if there were
    /// more without end.
    let mostRows: Int
    /// Whether every read sees the same state: of a file that was opened as one that does not change, or a private copy.
    private let isFixed: Bool
    private var cursors = RowCursors()
    private(set) var isClosed = false
    /// Frames of the write-ahead log after the last commit.
    var logFrames: Int32 = 0
    /// The store's, which `Z_METADATA` has.
    let identifier: String
    /// What the store said about itself at last; nil where it is read for another one, which looks at it.
    var document: StoreDocument?
    /// The number of the content that was found to be the store's; nil before anybody looked.
    var examined: UInt32?
    /// How large the file was when this connection last wrote.
    var fileBytes: Int
    /// What `ConnectionPool` knew when the file was last read.
    var state: UInt64 = 0

    private let outdated = Locked<[Statement]>([])
    private let hasOutdated = Atomic(false)
    private let isInUse = Atomic(false)
    /// The number of the thread that uses the connection; 0 for none.
    private let user = Atomic<UInt64>(0)
    /// How often that thread has taken it again.
    var depth = 0
    let progress: ProgressCheck
    /// Whether pages may lead to each other without end: of a file that does not change and was not looked at yet.
    private(set) var mayBeEndless: Bool
    var singleRows: SingleRows?
    /// Whether the file has triggers of its own, which may want more than the rows that are written need.
    private(set) lazy var hasTriggers =
        (try? connection.finds("SELECT 1 FROM sqlite_schema WHERE type = 'trigger'", purpose: "save")) ?? true
    /// By the root's place in `schema.tables`.
    private(set) var faults: [FaultPlan?]
    private var fetchPlans: [FetchShape: RowPlan] = [:]
    private var insertPlans: [UInt32: InsertPlan] = [:]

    /// A cell of a page with its place in the page's list: at least size, key and header.
    private static let leastRowSize = 5

    private struct FetchShape: Hashable {
        let entity: UInt32
        let includesSubentities: Bool
        let leading: Int32
        let keys: Set<UInt32>?
    }

    init(
        _ connection: Connection, of identifier: String, document: StoreDocument? = nil, schema: StoreSchema,
        history: HistoryDesign? = nil, reaper: ReadReaper?,
        watch: FileWatch? = nil, isFixed: Bool = false
    ) throws {
        (self.connection, self.identifier, self.document) = (connection, identifier, document)
        self.watch = watch
        mostRows = sqlite3_db_readonly(connection.db, "main") == 1 ? connection.fileSize / OpenFile.leastRowSize : .max
        self.isFixed = isFixed
        fileBytes = connection.fileSize
        progress = ProgressCheck(connection)
        mayBeEndless = mostRows < .max
        self.schema = schema
        self.history = history
        functions = try StoreFunctions(connection)
        held = try reaper.map { try HeldRead(connection, reaper: $0) }
        faults = Array(repeating: nil, count: schema.tables.count)
        noteLogFrames()
    }

    /// The plan of a fetch; `leading` columns of its result come before the row's own. `keys` are those of the properties to
    /// read; nil reads all.
    func plan(
        for entity: Entity, includesSubentities: Bool, leading: Int32 = 0, keys: Set<UInt32>? = nil
    ) -> RowPlan {
        let shape = FetchShape(
            entity: entity.index, includesSubentities: includesSubentities, leading: leading, keys: keys)
        if let known = fetchPlans[shape] { return known }
        let family = includesSubentities ? entity.withDescendants : [entity]
        let plan = RowPlan(schema: schema, family: family, leading: leading, keys: keys)
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

    /// Begins or ends keeping old values, as the file wants it now; another connection may have begun or ended it. In a transaction
    /// that writes.
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

    /// What `followOldValues` created may have gone with a transaction that was rolled back.
    func forgetOldValues() { (oldValues, schemaOfOldValues) = (nil, nil) }

    /// Whether readers keep no writer out.
    var keepsReaders: Bool { held != nil }

    /// Lets what is read or written next see the newest state.
    func endReads() {
        if hasOutdated.load(ordering: .acquiring) { finalizeOutdated() }
        held?.end()
        if !isFixed { for cursor in cursors.living { cursor.settle() } }
    }

    /// Lets go of what nobody used for a while.
    func endIdleRead() {
        if hasOutdated.load(ordering: .acquiring) { finalizeOutdated() }
        held?.endIfIdle()
    }

    /// Takes over a statement that a thread gave up which may not have the connection: whoever has it next ends it.
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

    func pagesAreSound() { mayBeEndless = false }

    /// Takes in a cursor that was just made. Where readers would keep a writer out, it does not stay open.
    func keep(_ cursor: RowCursor) throws {
        cursors.add(cursor)
        if !keepsReaders && !isFixed { cursor.settle() }
    }

    func close() {
        isClosed = true
        finalizeOutdated()
        for cursor in cursors.living { cursor.end() }
        held?.end()
        if !connection.isAutocommit { sqlite3_exec(connection.db, "ROLLBACK", nil, nil, nil) }
        progress.end()
        faults.removeAll()
        fetchPlans.removeAll()
        insertPlans.removeAll()
        singleRows = nil
        oldValues = nil
        held = nil
        warnOfLogOfRenamedFile()
        connection.close()
    }

    // MARK: Who uses it

    /// Takes the connection for a thread; false when one has it.
    @inline(__always)
    func seize() -> Bool {
        isInUse.compareExchange(expected: false, desired: true, ordering: .sequentiallyConsistent).exchanged
    }

    /// The calling thread is the one that it was taken for.
    @inline(__always)
    func isTaken() {
        user.store(platform_thread_id(), ordering: .relaxed)
        LockOrder.didTake(self, .connection)
        platform_did_take(UInt32(PLATFORM_CONNECTION))
    }

    @inline(__always)
    var isMine: Bool { user.load(ordering: .relaxed) == platform_thread_id() }

    /// Nobody has it any more.
    @inline(__always)
    func release() {
        if isMine {
            user.store(0, ordering: .relaxed)
            LockOrder.didLeave(self)
            platform_did_leave(UInt32(PLATFORM_CONNECTION))
        }
        isInUse.store(false, ordering: .sequentiallyConsistent)
    }

    // MARK: The log

    /// SQLite tells how long the log is. It would bring it into the file by itself, whatever reads it.
    private func noteLogFrames() {
        sqlite3_wal_hook(
            connection.db,
            { place, _, _, frames in
                guard let place else { return SQLITE_OK }
                Unmanaged<OpenFile>.fromOpaque(place).takeUnretainedValue().logFrames = frames
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }
}
