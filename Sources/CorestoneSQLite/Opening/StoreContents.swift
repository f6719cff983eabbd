import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// What the file of a store says about itself. Read without a model; changes nothing.
struct StoreContents {
    /// A row of `Z_PRIMARYKEY`.
    struct StoredEntity {
        let name: String
        let number: Int64
        /// The number of the entity from which it inherits; 0 for a root.
        let parent: Int64
    }

    let place: StorePlace
    let document: StoreDocument
    /// In order of their numbers.
    let entities: [StoredEntity]
    let tables: StoreTables
    /// Tables in which anything may stand as a key, and twice: their column Z_PK is no INTEGER PRIMARY KEY.
    let unkeyedTables: Set<String>

    init(_ connection: Connection, place: StorePlace) throws {
        self.place = place
        if place.hasCompanion("-journal") {
            // What a process had begun that was killed is taken back by the first look: only then the file has its size.
            do {
                _ = try connection.prepare("SELECT 1 FROM sqlite_master LIMIT 1", "open \(place.given)").step("")
            } catch let error as CoreError { throw StoreContents.explained(error, place) }
        }
        let header = try FileHeader(connection)
        try StoreContents.checkSize(connection, header, place)
        do {
            var tables = try StoreContents.tables(connection, place)
            try StoreContents.requireSystemTables(tables, header, place)
            unkeyedTables = try StoreContents.addColumns(to: &tables, connection, place)
            self.tables = tables
            document = try StoreContents.document(connection, place)
            entities = try StoreContents.entities(connection, place)
        } catch let error as CoreError { throw StoreContents.explained(error, place) }
    }

    /// Whether the file lists what a migration left for later.
    var hasDeferredTasks: Bool { tables[DeferredCleanup.table] != nil }

    /// What keeps us from writing; nil when there is nothing of the kind.
    var foreignState: String? { document.metadata?.foreignState(hasDeferredTasks: hasDeferredTasks) }

    func number(ofEntity name: String) -> Int64? { entities.first { $0.name == name }?.number }

    /// The model that the store carries, which is not frozen; nil when it carries none.
    ///
    /// - Throws: `storeCorrupt` or `model` when what is there cannot be read.
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
                "cannot read the model in \(place.given): \(error.message)", entity: error.entity, key: error.key,
                value: error.value, sqliteCode: error.sqliteCode, file: place.given, offset: error.offset)
        }
    }
}

/// What is wrong with a table of `unkeyedTables`, in words that follow its name.
func unkeyedAccount(of root: Entity) -> String {
    "the column Z_PK is not an INTEGER PRIMARY KEY, so keys of \(root.name) may be repeated or not be integers"
}

/// Declared types by column name, by table name.
typealias StoreTables = [String: [String: String]]

// MARK: - Reading

extension StoreContents {
    /// Names alone; not virtual ones, which may need modules that are not there.
    private static func tables(_ connection: Connection, _ place: StorePlace) throws -> StoreTables {
        let purpose = "open \(place.given)"
        var tables: StoreTables = [:]
        let statement = try connection.prepare("SELECT name, sql FROM sqlite_master WHERE type = 'table'", purpose)
        while try statement.step(purpose) {
            guard let name = statement.text(0), statement.text(1)?.hasPrefix("CREATE VIRTUAL") != true else { continue }
            tables[name] = [:]
        }
        return tables
    }

    /// Returns the tables that have a column Z_PK which is no INTEGER PRIMARY KEY.
    private static func addColumns(
        to tables: inout StoreTables, _ connection: Connection, _ place: StorePlace
    ) throws -> Set<String> {
        let purpose = "read the tables of \(place.given)"
        let statement = try connection.prepare("SELECT name, type, pk FROM pragma_table_info(?)", purpose)
        // A primary key has an index of its own unless it is the row's number: so have those of several columns, of other
        // types and of tables without such numbers.
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

    /// The column is declared for 255 characters, and a UUID has 36.
    private static let longestIdentifier = 255
    /// No name of an entity is nearly as long: it is in names of classes and tables.
    private static let longestName = 4096

    private static func document(_ connection: Connection, _ place: StorePlace) throws -> StoreDocument {
        let purpose = "read the metadata of \(place.given)"
        let statement = try connection.prepare(
            "SELECT substr(CAST(Z_UUID AS TEXT), 1, \(longestIdentifier + 1)), Z_PLIST FROM Z_METADATA ORDER BY Z_VERSION LIMIT 1",
            purpose)
        guard try statement.step(purpose), let identifier = statement.text(0), !identifier.isEmpty else {
            throw CoreError(
                .notAStore, code: .persistentStoreOpen,
                "\(place.given) is not a complete Core Data store: its table Z_METADATA has no row with an identifier; restore it "
                    + "from a backup",
                file: place.given)
        }
        guard identifier.utf8.count <= longestIdentifier else {
            throw CoreError(
                .storeCorrupt, code: .persistentStoreOpen,
                "\(place.given) is damaged: its identifier in the table Z_METADATA has more than \(longestIdentifier) bytes, but a UUID "
                    + "has 36; restore it from a backup", file: place.given)
        }
        return try StoreDocument(identifier: identifier, propertyList: statement.blob(1) ?? [], path: place.given)
    }

    private static func entities(_ connection: Connection, _ place: StorePlace) throws -> [StoredEntity] {
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
                        + "\(longestName) bytes; restore it from a backup", file: place.given)
            }
            // Its rows, which bear a number, would be nobody's.
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

// MARK: - What is no store

extension StoreContents {
    private static func requireSystemTables(_ tables: StoreTables, _ header: FileHeader, _ place: StorePlace) throws {
        if tables.isEmpty, header.usesLog, !place.hasCompanion("-wal") {
            throw CoreError(
                .notAStore, code: .persistentStoreOpen,
                "\(place.given) does not contain tables, and its write-ahead log \(place.companion("-wal")), which may contain "
                    + "them, is missing or empty; put it back next to the store", file: place.given)
        }
        let missing = StoreSchema.systemTables.dropLast().filter { tables[$0] == nil }
        guard missing.isEmpty else {
            throw CoreError(
                .notAStore, code: .persistentStoreOpen,
                "\(place.given) is an SQLite database but not a Core Data store: "
                    + "it has no table \(missing.joined(separator: " and no table ")); pass the path of a store",
                file: place.given)
        }
    }

    /// SQLite only says "malformed", and does not notice that the last page is cut.
    private static func checkSize(_ connection: Connection, _ header: FileHeader, _ place: StorePlace) throws {
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

    /// Puts the failure of a first look at a file in terms of stores.
    private static func explained(_ error: CoreError, _ place: StorePlace) -> CoreError {
        let message: String
        var status = error.status
        switch error.sqliteCode & 0xff {
        case SQLITE_NOTADB:
            message =
                "\(place.given) is not an SQLite database; pass the path of a store or of a new file"
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
