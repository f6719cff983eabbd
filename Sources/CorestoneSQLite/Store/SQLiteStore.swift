import CPlatform
import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneSQL
import CorestoneValues
import Synchronization

/// A store in Apple's SQLite layout.
///
/// Threads can read it through their own readers while one thread saves, up to the limit of connections. Without a
/// write-ahead log, they share one connection.
final class SQLiteStore: PersistentStore, SQLiteReading, WritableAfterMove {
    let type = StoreType.sqlite
    let identifier: String
    let modelSource: ModelSource
    static let abilities: StoreAbilities = abilities(inMemory: false)
    let abilities: StoreAbilities
    let schema: StoreSchema
    /// The reason why the store is read-only; nil if it is writable.
    var readOnlyReason: String? { isReadOnly ? readOnlyAtFirst : nil }
    var attributesReadAsNull: [Attribute] { schema.misfits.attributes(of: schema.model) }
    private let readOnlyAtFirst: String?
    private let mayWrite: Atomic<Bool>
    /// The path of the store's file, and the folder of its backing files; the folder is empty for a store in memory.
    private let location: Locked<(path: String, externalFolder: String)>
    var path: String { location.withLock { $0.path } }
    var externalFolder: String { location.withLock { $0.externalFolder } }
    let isInMemory: Bool
    let externalDataThreshold: Int
    /// The options that the store was opened with.
    let options: StoreOptions
    let compiler: FetchCompiler
    let postsOwnChanges: Bool
    let isNew: Bool
    /// The interval of the watcher in milliseconds; 0 to use the notifications of the file system.
    let watchInterval: Int32
    let watched = Locked(WatchedStore())
    var isReadOnly: Bool { !mayWrite.load(ordering: .relaxed) }
    func setMayWrite(_ mayWrite: Bool) { self.mayWrite.store(mayWrite || readOnlyAtFirst == nil, ordering: .relaxed) }

    let connections: ConnectionPool
    private let readCloser: IdleReadCloser
    /// The readers that are pinned to a query generation.
    let readers = PinnedReaders()
    /// The cancellation check of the thread that saves.
    private let check = Locked<(() -> Bool)?>(nil)
    /// The rows that triggers changed in the last save.
    let computed = Locked<Set<TriggerFunctions.Row>>([])

    init(_ opened: OpenedStore, options: StoreOptions = StoreOptions()) throws {
        (postsOwnChanges, isNew) = (options.postsOwnChanges, opened.isNew)
        watchInterval = Int32(clamping: options.watchIntervalMilliseconds)
        identifier = opened.identifier
        location = Locked((opened.path, opened.externalFolder))
        isInMemory = opened.externalFolder.isEmpty
        self.options = options
        modelSource = opened.source
        schema = opened.schema
        readOnlyAtFirst = opened.readOnlyReason
        mayWrite = Atomic(opened.readOnlyReason == nil)
        externalDataThreshold = isInMemory ? .max : options.externalDataThreshold
        abilities = SQLiteStore.abilities(inMemory: isInMemory)
        compiler = FetchCompiler(schema: opened.schema, storeIdentifier: opened.identifier, path: opened.path)
        readCloser = IdleReadCloser()
        let (file, open) = try SQLiteStore.files(of: opened, schema, readCloser)
        connections = ConnectionPool(
            file, readCloser: readCloser, limit: opened.maximumConnections, longLog: opened.longLog, path: opened.path,
            open: open)
    }

    /// Creates a read-only reader of another store, with the schema of that store and a separate connection.
    init(readingFrom store: SQLiteStore) throws {
        identifier = store.identifier
        location = Locked((store.path, store.externalFolder))
        (isInMemory, options) = (false, store.options)
        modelSource = store.modelSource
        schema = store.schema
        readOnlyAtFirst = Store.isOpenForReading
        mayWrite = Atomic(false)
        (externalDataThreshold, abilities) = (.max, store.abilities)
        compiler = store.compiler
        (postsOwnChanges, isNew) = (false, false)
        watchInterval = 0
        let file = try OpenFile(
            store.connectionForReading(), of: store.identifier, schema: schema, readCloser: nil, isFixed: true)
        readCloser = IdleReadCloser()
        connections = ConnectionPool(file, readCloser: readCloser, limit: 1, path: store.path, open: nil)
    }

    /// Switches to another open file. Must be called by the thread that holds the store's writer lock.
    func change(to opened: OpenedStore) throws {
        let (file, open) = try SQLiteStore.files(of: opened, schema, readCloser)
        location.withLock { $0 = (opened.path, opened.externalFolder) }
        readers.closeIdle()
        try connections.change(to: file, at: opened.path, open: open)
    }

    private static func files(of opened: OpenedStore, _ schema: StoreSchema, _ readCloser: IdleReadCloser) throws -> (
        first: OpenFile, another: (() throws -> OpenFile)?
    ) {
        let (history, identifier, document) = (opened.history, opened.identifier, opened.document)
        let file = try OpenFile(
            opened.connection, of: identifier, document: document, schema: schema, history: history,
            readCloser: opened.mayHoldReads ? readCloser : nil,
            watch: opened.watch, isFixed: opened.readOnlyReason != nil)
        return (
            file,
            opened.openAnother.map { open in
                {
                    try OpenFile(
                        open(), of: identifier, document: document, schema: schema, history: history,
                        readCloser: readCloser)
                }
            }
        )
    }

    private static func abilities(inMemory: Bool) -> StoreAbilities {
        let always: StoreAbilities = [.derivedAttributes, .uniqueConstraints, .parallelReads, .decimalsAsDoubles]
        return inMemory ? always : always.union(.generations)
    }

    deinit { close() }

    var store: SQLiteStore { self }

    /// Runs `body` with a connection, and with the cancellation check of the thread that saves.
    ///
    /// Other threads send their requests to their own readers instead.
    func withFile<Result>(only file: OpenFile?, _ body: (OpenFile) throws -> Result) throws -> Result {
        let check = check.withLock { $0 }
        let file =
            try file.map { try connections.acquire(only: $0, check: check) }
            ?? connections.acquire(preferring: connections.first, check: check)
        defer { connections.release(file) }
        return try connections.use(file, check: check, body)
    }

    func setInterruptCheck(_ check: (() -> Bool)?) { self.check.withLock { $0 = check } }

    func endRead() { connections.requireNewest() }

    func makeReader() -> any StoreReading { SQLiteReader(self) }

    func close() {
        // A child process must not access the parent's file, locks and threads.
        if platform_is_forked() { return }
        readers.closeAll()
        connections.close()
    }
}
