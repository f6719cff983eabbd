import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The metadata, entities and tables of a store's file, which are read without a model.
struct StoreContents {
    /// A row of `Z_PRIMARYKEY`.
    struct StoredEntity {
        let name: String
        let number: Int64
        /// The number of the entity from which it inherits; 0 for a root.
        let parent: Int64
    }

    let place: StoreLocation
    let document: StoreDocument
    /// The entities, sorted by number.
    let entities: [StoredEntity]
    let tables: StoreTables
    /// Tables whose column Z_PK is not an INTEGER PRIMARY KEY, so that keys may be repeated or not be integers.
    let unkeyedTables: Set<String>

    init(_ connection: Connection, place: StoreLocation) throws {
        self.place = place
        if place.hasCompanion("-journal") {
            // The first read rolls back the unfinished transaction of a killed process. The file has its correct size
            // only after that.
            do {
                _ = try connection.prepare("SELECT 1 FROM sqlite_master LIMIT 1", "open \(place.given)").step("")
            } catch let error as CoreError { throw StoreContents.explained(error, place) }
        }
        let header = try FileHeader(connection)
        try StoreContents.checkSize(connection, header, place)
        do {
            var tables = try StoreContents.tables(connection, place)
            try StoreContents.requireSystemTables(tables, connection, header, place)
            unkeyedTables = try StoreContents.addColumns(to: &tables, connection, place)
            self.tables = tables
            document = try StoreContents.document(connection, place)
            entities = try StoreContents.entities(connection, place)
        } catch let error as CoreError { throw StoreContents.explained(error, place) }
    }

    /// Whether the file lists deferred tasks of a migration.
    var hasDeferredTasks: Bool { tables[DeferredCleanup.table] != nil }

    /// The state of the metadata that prevents writing; nil if the metadata allows writing.
    var foreignState: String? { document.metadata?.foreignState(hasDeferredTasks: hasDeferredTasks) }

    func number(ofEntity name: String) -> Int64? { entities.first { $0.name == name }?.number }

    /// Returns the store's cached model, which is not frozen; nil if the store does not have one.
    ///
    /// - Throws: `storeCorrupt` or `model` if the cached model cannot be read.
    func cachedModel(_ connection: Connection) throws -> Model? {
        guard tables["Z_MODELCACHE"]?["Z_CONTENT"] != nil else { return nil }
        let purpose = "read the table Z_MODELCACHE"
        do {
            let statement = try connection.prepare("SELECT Z_CONTENT FROM Z_MODELCACHE LIMIT 1", purpose)
            guard try statement.step(purpose), let content = statement.blob(0), !content.isEmpty else { return nil }
            return try Model(modelCache: content)
        } catch let error as CoreError {
            throw CoreError(
                error.status, code: .persistentStoreOpen,
                error.messageForModel(inStoreAt: place.given), entity: error.entity, key: error.key,
                value: error.value, sqliteCode: error.sqliteCode, file: place.given, offset: error.offset)
        }
    }
}

/// Returns the defect of a table in `unkeyedTables`, as a clause for a message after the table's name.
func unkeyedTableExplanation(of root: Entity) -> String {
    "Z_PK is not an INTEGER PRIMARY KEY, so keys of \(root.name) may be repeated or invalid"
}

/// The columns of each table with their declared types, by table name.
typealias StoreTables = [String: [String: String]]

// MARK: - Reading

extension StoreContents {
    /// Returns the tables without their columns. Virtual tables are left out, because their modules may be missing.
    private static func tables(_ connection: Connection, _ place: StoreLocation) throws -> StoreTables {
        let purpose = "open \(place.given)"
        var tables: StoreTables = [:]
        let statement = try connection.prepare("SELECT name, sql FROM sqlite_master WHERE type = 'table'", purpose)
        while try statement.step(purpose) {
            guard let name = statement.text(0), statement.text(1)?.hasPrefix("CREATE VIRTUAL") != true else { continue }
            tables[name] = [:]
        }
        return tables
    }

    /// Adds the columns of tables with the prefix Z, and returns the tables whose Z_PK is not an INTEGER PRIMARY KEY.
    private static func addColumns(
        to tables: inout StoreTables, _ connection: Connection, _ place: StoreLocation
    ) throws -> Set<String> {
        let purpose = "read the tables of \(place.given)"
        let statement = try connection.prepare("SELECT name, type, pk FROM pragma_table_info(?)", purpose)
        // A primary key has its own index unless it is the rowid. Keys of several columns, keys of other types, and
        // keys of tables without rowid have such an index.
        let keyIndex = try connection.prepare("SELECT 1 FROM pragma_index_list(?) WHERE origin = 'pk'", purpose)
        var unkeyed: Set<String> = []
        for table in tables.keys where table.hasPrefix("Z") {
            statement.bind(copying: table, at: 1)
            var columns: [String: String] = [:]
            while try statement.step(purpose) {
                guard let name = statement.text(0) else { continue }
                columns[name] = statement.text(1) ?? ""
                if name == "Z_PK", statement.integer(2) == 0 { unkeyed.insert(table) }
            }
            statement.reset()
            tables[table] = columns
            guard columns["Z_PK"] != nil else { continue }
            keyIndex.bind(copying: table, at: 1)
            if try keyIndex.step(purpose) { unkeyed.insert(table) }
            keyIndex.reset()
        }
        return unkeyed
    }

    /// The longest identifier in bytes: the column is declared with 255 characters, and a UUID has 36.
    private static let longestIdentifier = 255
    /// The longest name of an entity in bytes. Real names are much shorter, because they are parts of class and table
    /// names.
    private static let longestName = 4096

    private static func document(_ connection: Connection, _ place: StoreLocation) throws -> StoreDocument {
        let purpose = "read the metadata of \(place.given)"
        let statement = try connection.prepare(
            "SELECT substr(CAST(Z_UUID AS TEXT), 1, \(longestIdentifier + 1)), Z_PLIST FROM Z_METADATA ORDER BY Z_VERSION LIMIT 1",
            purpose)
        guard try statement.step(purpose), let identifier = statement.text(0), !identifier.isEmpty else {
            throw CoreError(
                .notAStore, code: .persistentStoreOpen,
                "\(place.given) is not a complete Core Data store: its table Z_METADATA does not have a row with an "
                    + "identifier; restore the store from a backup",
                file: place.given)
        }
        guard identifier.utf8.count <= longestIdentifier else {
            throw CoreError(
                .storeCorrupt, code: .persistentStoreOpen,
                "\(place.given) is damaged: its identifier in the table Z_METADATA has more than \(longestIdentifier) bytes, but a UUID "
                    + "has 36; restore the store from a backup", file: place.given)
        }
        return try StoreDocument(identifier: identifier, propertyList: statement.blob(1) ?? [], path: place.given)
    }

    private static func entities(_ connection: Connection, _ place: StoreLocation) throws -> [StoredEntity] {
        let purpose = "read the entities of \(place.given)"
        var entities: [StoredEntity] = []
        let statement = try connection.prepare(
            "SELECT substr(CAST(Z_NAME AS TEXT), 1, \(longestName + 1)), Z_ENT, Z_SUPER FROM Z_PRIMARYKEY WHERE Z_NAME IS NOT NULL "
                + "ORDER BY Z_ENT", purpose)
        while try statement.step(purpose) {
            let (name, number) = (statement.text(0) ?? "", statement.integer(1))
            guard name.utf8.count <= longestName else {
                throw CoreError(
                    .storeCorrupt, code: .persistentStoreOpen,
                    "\(place.given) is damaged: the name of entity \(number) in its table Z_PRIMARYKEY has more than "
                        + "\(longestName) bytes; restore the store from a backup", file: place.given)
            }
            // The rows of an entity contain its number, so the number must be valid.
            guard number > 0 else {
                throw CoreError(
                    .storeCorrupt, code: .persistentStoreOpen,
                    "\(place.given) is damaged: the number (Z_ENT) of the entity \"\(name)\" in the table Z_PRIMARYKEY is "
                        + "\(number), but must be positive; restore the store from a backup", entity: name,
                    value: .int(number),
                    file: place.given)
            }
            entities.append(StoredEntity(name: name, number: number, parent: statement.integer(2)))
        }
        return entities
    }
}

// MARK: - Files that are not stores

extension StoreContents {
    private static func requireSystemTables(
        _ tables: StoreTables, _ connection: Connection, _ header: FileHeader, _ place: StoreLocation
    ) throws {
        if tables.isEmpty, try connection.isOfDestroyedStore("open \(place.given)") {
            throw CoreError(
                .notAStore, code: .persistentStoreOpen,
                "\(place.given) is the empty file of a destroyed store; restore the store from a backup, or create it "
                    + "again with cst_coordinator_add_store (add_store), a model, and neither CST_STORE_READ_ONLY "
                    + "(read_only) nor CST_STORE_MUST_EXIST (must_exist)", file: place.given)
        }
        if tables.isEmpty, header.usesLog, !place.hasCompanion("-wal") {
            throw CoreError(
                .notAStore, code: .persistentStoreOpen,
                "\(place.given) does not contain tables, and its write-ahead log \(place.companion("-wal")), which may contain "
                    + "them, is missing or empty; put the log back next to the store", file: place.given)
        }
        let missing = StoreSchema.systemTables.dropLast().filter { tables[$0] == nil }
        if missing.count == 1, let table = missing.first {
            throw CoreError(
                .notAStore, code: .persistentStoreOpen,
                "\(place.given) is not a complete Core Data store: it does not have the table \(table); restore "
                    + "the store from a backup", file: place.given)
        }
        guard missing.isEmpty else {
            throw CoreError(
                .notAStore, code: .persistentStoreOpen,
                "\(place.given) is an SQLite database but not a Core Data store: "
                    + "it does not have the table \(missing.joined(separator: " or the table ")); pass the path of a store",
                file: place.given)
        }
    }

    /// Throws for a truncated file.
    ///
    /// SQLite only reports "malformed", and does not detect that the last page is incomplete.
    private static func checkSize(_ connection: Connection, _ header: FileHeader, _ place: StoreLocation) throws {
        if place.hasCompanion("-wal") { return }
        let (size, needed) = (connection.fileSize, header.size)
        guard size > 0, size < needed else { return }
        let log =
            header.usesLog
            ? ", or its write-ahead log \(place.companion("-wal")) is missing or empty; put the log back next to the store, or"
            : ";"
        throw CoreError(
            .storeCorrupt, code: .persistentStoreOpen,
            "\(place.given) is truncated to \(size) of \(needed) bytes\(log) restore the store from a backup",
            sqliteCode: SQLITE_CORRUPT, file: place.given)
    }

    /// Converts an error of the first read of a file to a message about stores.
    private static func explained(_ error: CoreError, _ place: StoreLocation) -> CoreError {
        let message: String
        var status = error.status
        switch error.sqliteCode & 0xff {
        case SQLITE_NOTADB:
            message =
                "\(place.given) is not an SQLite database; pass the path of a store"
        case SQLITE_CORRUPT:
            message = "\(place.given) is damaged or truncated to \(place.size) bytes; restore it from a backup"
        case SQLITE_ERROR:
            status = .notAStore
            message =
                "\(place.given) is not a Core Data store: its table Z_METADATA or Z_PRIMARYKEY lacks a required column; "
                + "pass the path of a store"
        default:
            message = error.file == nil ? "\(place.given) is damaged: \(error.message)" : error.message
        }
        return CoreError(
            status, code: .persistentStoreOpen, message, entity: error.entity, key: error.key, value: error.value,
            sqliteCode: error.sqliteCode, file: place.given, offset: error.offset)
    }
}
