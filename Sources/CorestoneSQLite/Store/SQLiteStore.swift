import CPlatform
import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneSQL
import CorestoneValues
import Synchronization

/// A store in Apple's SQLite layout. Any number of threads read it, through readers of their own, while one saves.
final class SQLiteStore: PersistentStore, SQLiteReading {
    let type = StoreType.sqlite
    let identifier: String
    let path: String
    let modelSource: ModelSource
    static let abilities: StoreAbilities = [.derivedAttributes, .uniqueConstraints, .generations, .parallelReads]
    let abilities: StoreAbilities
    let schema: StoreSchema
    /// Why nothing can be written; nil when it can.
    let readOnlyReason: String?
    /// Empty for a store in memory.
    let externalFolder: String
    let externalDataThreshold: Int
    let compiler: FetchCompiler
    let postsOwnChanges: Bool
    /// Milliseconds; 0: as the file system allows.
    let watchInterval: Int32
    let watched = Locked(WatchedStore())
    var isReadOnly: Bool { readOnlyReason != nil }

    let connections: ConnectionPool
    /// Those that hold a state of this store.
    let readers = PinnedReaders()
    /// Of whoever saves.
    private let check = Locked<(() -> Bool)?>(nil)
    /// What triggers changed in the last save.
    let computed = Locked<Set<TriggerFunctions.Row>>([])

    init(_ opened: OpenedStore, options: StoreOptions = StoreOptions()) throws {
        postsOwnChanges = options.postsOwnChanges
        watchInterval = Int32(clamping: options.watchIntervalMilliseconds)
        identifier = opened.identifier
        path = opened.path
        modelSource = opened.source
        schema = opened.schema
        readOnlyReason = opened.readOnlyReason
        externalFolder = opened.externalFolder
        externalDataThreshold = externalFolder.isEmpty ? .max : options.externalDataThreshold
        abilities = SQLiteStore.abilities(inMemory: externalFolder.isEmpty)
        compiler = FetchCompiler(schema: opened.schema, storeIdentifier: opened.identifier)
        let reaper = ReadReaper()
        let schema = opened.schema
        let history = opened.history
        let file = try OpenFile(
            opened.connection, schema: schema, history: history, reaper: opened.mayHoldReads ? reaper : nil,
            watch: opened.watch, isFixed: opened.readOnlyReason != nil)
        connections = ConnectionPool(
            file, reaper: reaper, limit: opened.maximumConnections, longLog: opened.longLog, path: opened.path,
            open: opened.openAnother.map { open in
                { try OpenFile(open(), schema: schema, history: history, reaper: reaper) }
            })
    }

    /// A reader of another store, which shares its schema; it writes nothing.
    init(readingFrom store: SQLiteStore) throws {
        identifier = store.identifier
        path = store.path
        modelSource = store.modelSource
        schema = store.schema
        readOnlyReason = Store.isOpenForReading
        externalFolder = store.externalFolder
        (externalDataThreshold, abilities) = (.max, store.abilities)
        compiler = store.compiler
        postsOwnChanges = false
        watchInterval = 0
        let file = try OpenFile(store.connectionForReading(), schema: schema, reaper: nil, isFixed: true)
        connections = ConnectionPool(file, reaper: ReadReaper(), limit: 1, path: path, open: nil)
    }

    var isInMemory: Bool { externalFolder.isEmpty }

    private static func abilities(inMemory: Bool) -> StoreAbilities {
        let always: StoreAbilities = [.derivedAttributes, .uniqueConstraints, .parallelReads]
        return inMemory ? always : always.union(.generations)
    }

    deinit { close() }

    var store: SQLiteStore { self }

    /// The store itself is asked by whoever saves.
    func withFile<Result>(only file: OpenFile?, _ body: (OpenFile) throws -> Result) throws -> Result {
        let check = check.withLock { $0 }
        let file =
            try file.map { try connections.take(only: $0, check: check) }
            ?? connections.take(connections.first, check: check)
        defer { connections.give(file) }
        return try connections.use(file, check: check, body)
    }

    func setInterruptCheck(_ check: (() -> Bool)?) { self.check.withLock { $0 = check } }

    func endRead() { connections.requireNewest() }

    func makeReader() -> any StoreReading { SQLiteReader(self) }

    func close() {
        // A child process must leave the parent's file, locks and threads alone.
        if platform_is_forked() { return }
        readers.closeAll()
        connections.close()
    }
}
