import CSQLite
import CorestoneModel
import CorestoneValues

/// Reads what a file says about itself and compares it with the model. Changes nothing.
struct StoreExamination {
    let document: StoreDocument
    let schema: StoreSchema
    /// What Apple's framework promises its users of this store and we do not keep; nil when there is nothing of the
    /// kind.
    let foreignPromise: String?
    /// nil when the store keeps no history, or one of a design that we do not know.
    let history: HistoryDesign?

    init(_ connection: Connection, model: Model, place: StorePlace) throws {
        let tables = try StoreExamination.tables(connection, place)
        let missing = StoreSchema.systemTables.dropLast().filter { tables[$0] == nil }
        guard missing.isEmpty else {
            throw CoreError(
                .notAStore, code: .persistentStoreOpen,
                "\(place.given) is an SQLite database but no Core Data store: "
                    + "it has no table \(missing.joined(separator: " and no table "))",
                file: place.given)
        }
        try StoreExamination.checkSize(connection, place)
        let document = try StoreExamination.document(connection, place)
        let numbers = try StoreExamination.numbers(connection, place)
        let comparison = ModelComparison(
            model: model, numbers: numbers, document: document, connection: connection, place: place,
            tables: tables)
        schema = try comparison.schema()
        self.document = document
        (history, foreignPromise) = try StoreExamination.promises(connection)
    }

    /// By name.
    private static func tables(_ connection: Connection, _ place: StorePlace) throws -> [String: Void] {
        let purpose = "open \(place.given)"
        var tables: [String: Void] = [:]
        do {
            let statement = try connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table'", purpose)
            while try statement.step(purpose) { if let name = statement.text(0) { tables[name] = () } }
        } catch let error as CoreError { throw explained(error, place) }
        return tables
    }

    private static func promises(_ connection: Connection) throws -> (history: HistoryDesign?, refusal: String?) {
        do {
            return (try HistoryDesign(of: connection), try StorePromises(connection: connection).refusal())
        } catch let refusal as HistoryRefusal {
            return (nil, refusal.reason)
        }
    }

    /// SQLite notices missing pages, but not that the last one is cut.
    private static func checkSize(_ connection: Connection, _ place: StorePlace) throws {
        if place.hasCompanion("-wal") { return }
        let purpose = "open \(place.given)"
        let statement = try connection.prepare(
            "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", purpose)
        guard try statement.step(purpose) else { return }
        let needed = Int(statement.integer(0))
        let size = place.sizeNow
        guard size > 0, size < needed else { return }
        throw CoreError(
            .storeCorrupt, code: .persistentStoreOpen,
            "\(place.given) is cut off: \(size) of \(needed) bytes are there; restore it from a backup",
            sqliteCode: SQLITE_CORRUPT, file: place.given)
    }

    private static func document(_ connection: Connection, _ place: StorePlace) throws -> StoreDocument {
        let purpose = "read the metadata of \(place.given)"
        do {
            let statement = try connection.prepare(
                "SELECT Z_UUID, Z_PLIST FROM Z_METADATA ORDER BY Z_VERSION LIMIT 1", purpose)
            guard try statement.step(purpose), let identifier = statement.text(0), !identifier.isEmpty else {
                throw CoreError(
                    .notAStore, code: .persistentStoreOpen,
                    "\(place.given) is no complete Core Data store: its table Z_METADATA has no row with an identifier",
                    file: place.given)
            }
            return try StoreDocument(identifier: identifier, propertyList: statement.blob(1) ?? [])
        } catch let error as CoreError { throw explained(error, place) }
    }

    /// By entity name.
    private static func numbers(_ connection: Connection, _ place: StorePlace) throws -> [String: Int64] {
        let purpose = "read the entities of \(place.given)"
        var numbers: [String: Int64] = [:]
        do {
            let statement = try connection.prepare("SELECT Z_ENT, Z_NAME FROM Z_PRIMARYKEY", purpose)
            while try statement.step(purpose) {
                if let name = statement.text(1) { numbers[name] = statement.integer(0) }
            }
        } catch let error as CoreError { throw explained(error, place) }
        return numbers
    }

    /// Puts the failure of a first look at a file in terms of stores.
    private static func explained(_ error: CoreError, _ place: StorePlace) -> CoreError {
        let message: String
        var status = error.status
        switch error.sqliteCode & 0xff {
        case SQLITE_NOTADB:
            message =
                "\(place.given) is no SQLite database; give the path of a store, or of a file that is not there yet"
        case SQLITE_CORRUPT:
            message = "\(place.given) is damaged or cut off (\(place.size) bytes are there); restore it from a backup"
        case SQLITE_ERROR:
            status = .notAStore
            message = "\(place.given) is no Core Data store: \(error.message)"
        default:
            message = error.file == nil ? "\(place.given) is damaged: \(error.message)" : error.message
        }
        return CoreError(status, code: .persistentStoreOpen, message, sqliteCode: error.sqliteCode, file: place.given)
    }
}
