import CPlatform
import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneSQL
import CorestoneValues

/// A store in Apple's SQLite layout.
///
/// Every entry point takes the store's lock, which the thread that ends idle read transactions takes too.
final class SQLiteStore: PersistentStore, @unchecked Sendable {
    let identifier: String
    let path: String
    let modelSource: ModelSource
    let abilities: StoreAbilities = [.derivedAttributes, .uniqueConstraints, .generations]
    let schema: StoreSchema
    /// Why nothing can be written; nil when it can.
    let readOnlyReason: String?
    let externalFolder: String
    let compiler: FetchCompiler
    let postsOwnChanges: Bool
    /// Milliseconds; 0: as the file system allows.
    let watchInterval: Int32
    let watched = Locked(WatchedStore())
    var isReadOnly: Bool { readOnlyReason != nil }

    let lock = StoreLock()
    /// Those that hold a state of this store.
    let readers = PinnedReaders()
    /// Everything that belongs to the open file; nil once closed.
    private var file: OpenFile?

    init(_ opened: OpenedStore, options: StoreOptions = StoreOptions()) throws {
        postsOwnChanges = options.postsOwnChanges
        watchInterval = Int32(clamping: options.watchIntervalMilliseconds)
        identifier = opened.identifier
        path = opened.path
        modelSource = opened.source
        schema = opened.schema
        readOnlyReason = opened.readOnlyReason
        externalFolder = opened.externalFolder
        compiler = FetchCompiler(schema: opened.schema, storeIdentifier: opened.identifier)
        file = try OpenFile(
            opened.connection, schema: schema, history: opened.history, held: opened.mayHoldReads, watch: opened.watch,
            isFixed: opened.readOnlyReason != nil, lock: lock)
    }

    /// A reader of another store, which shares its schema; it writes nothing.
    init(readingFrom store: SQLiteStore) throws {
        identifier = store.identifier
        path = store.path
        modelSource = store.modelSource
        schema = store.schema
        readOnlyReason = Store.isOpenForReading
        externalFolder = store.externalFolder
        compiler = store.compiler
        postsOwnChanges = false
        watchInterval = 0
        file = try OpenFile(
            store.connectionForReading(), schema: schema, history: nil, held: false, watch: nil, isFixed: true,
            lock: lock)
    }

    deinit { close() }

    /// Runs `body` with the open file, one thread at a time.
    @inline(__always)
    func withFile<Result>(_ body: (OpenFile) throws -> Result) throws -> Result {
        lock.lock()
        defer { lock.unlock() }
        guard let file else {
            throw CoreError(
                .objectGone, code: .persistentStoreOperation,
                "the store \(path) was closed; add it to a coordinator again",
                file: path)
        }
        file.connection.followLog()
        if platform_sql_detail() != 0, platform_is_telling() { throw calledFromLog() }
        guard let watch = file.watch else { return try body(file) }
        return try watch.reading { try body(file) }
    }

    /// SQLite is in the middle of the statement that the log is told of.
    private func calledFromLog() -> CoreError {
        CoreError(
            .invalidArgument, code: .persistentStoreOperation,
            "the function that takes the lines of the log used the store \(path); let it keep the line, and use the store "
                + "after the call that is under way", file: path)
    }

    func setInterruptCheck(_ check: (() -> Bool)?) {
        lock.lock()
        defer { lock.unlock() }
        guard let file else { return }
        file.progress.ask(check)
    }

    func endRead() {
        lock.lock()
        defer { lock.unlock() }
        file?.endReads()
    }

    func close() {
        // A child process must leave the parent's file, locks and threads alone.
        if platform_is_forked() { return }
        readers.closeAll()
        lock.lock()
        let closing = file
        file = nil
        lock.unlock()
        closing?.close()
    }
}

/// The connection of an open store with everything that is prepared for it.
final class OpenFile {
    let connection: Connection
    let schema: StoreSchema
    let functions: StoreFunctions
    /// nil when the store keeps no history.
    let history: HistoryDesign?
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
    let progress: ProgressCheck
    /// Whether pages may lead to each other without end: of a file that does not change and was not looked at yet.
    private(set) var mayBeEndless: Bool
    var singleRows: SingleRows?
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
    }

    init(
        _ connection: Connection, schema: StoreSchema, history: HistoryDesign?, held: Bool, watch: FileWatch?,
        isFixed: Bool, lock: StoreLock
    ) throws {
        self.connection = connection
        self.watch = watch
        mostRows = sqlite3_db_readonly(connection.db, "main") == 1 ? connection.fileSize / OpenFile.leastRowSize : .max
        self.isFixed = isFixed
        progress = ProgressCheck(connection)
        mayBeEndless = mostRows < .max
        self.schema = schema
        self.history = history
        functions = try StoreFunctions(connection)
        self.held = held ? try HeldRead(connection, lock: lock) : nil
        faults = Array(repeating: nil, count: schema.tables.count)
    }

    /// The plan of a fetch; `leading` columns of its result come before the row's own.
    func plan(for entity: Entity, includesSubentities: Bool, leading: Int32 = 0) -> RowPlan {
        let shape = FetchShape(entity: entity.index, includesSubentities: includesSubentities, leading: leading)
        if let known = fetchPlans[shape] { return known }
        let family = includesSubentities ? entity.withDescendants : [entity]
        let plan = RowPlan(schema: schema, family: family, leading: leading)
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

    /// Whether readers keep no writer out.
    var keepsReaders: Bool { held != nil }

    /// Lets what is read or written next see the newest state.
    func endReads() {
        held?.end()
        if !isFixed { cursors.forEach { $0.settle() } }
    }

    func pagesAreSound() { mayBeEndless = false }

    /// Takes in a cursor that was just made. Where readers would keep a writer out, it does not stay open.
    func keep(_ cursor: RowCursor) throws {
        cursors.add(cursor)
        if !keepsReaders && !isFixed { cursor.settle() }
    }

    func close() {
        cursors.forEach { $0.end() }
        held?.stop()
        if !connection.isAutocommit { sqlite3_exec(connection.db, "ROLLBACK", nil, nil, nil) }
        progress.end()
        faults.removeAll()
        fetchPlans.removeAll()
        insertPlans.removeAll()
        singleRows = nil
        held = nil
        connection.close()
    }
}
