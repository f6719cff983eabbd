import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The store that a route wrote, with the information for the replacement of the migrated store's content.
struct ConvertedStore {
    /// The name under which a migration attaches the converted store.
    static let alias = "converted"
    /// The table in which a route lists source objects and the objects created from them.
    static let associations = "CST_ASSOCIATION"

    struct Item {
        let type: String
        let name: String
        let table: String
        let statement: String
    }

    let path: String
    let contents: StoreContents
    let schema: StoreSchema
    /// All schema items with a statement, in the order of their creation.
    let items: [Item]
    /// The names of the backing files to which the rows refer.
    let externalNames: Set<String>
    var externalFolder: String { ExternalFile.folder(ofStore: path) }

    /// Examines the file.
    ///
    /// - Parameter namesFiles: Whether the names of backing files are read even if the store's folder does not contain
    ///   such files.
    /// - Throws: An error if the file is not a store of the model.
    init(at path: String, model: Model, namesFiles: Bool, _ limits: StoreLimits) throws {
        let place = try StoreLocation(path)
        try place.requireStore()
        let connection = try ReadOnlyFile(place, limits: limits).connection
        defer { connection.close() }
        let examination: StoreExamination
        do { examination = try StoreExamination(connection, model: model, place: place) } catch let error as CoreError {
            throw error.within("the migrated copy of the store cannot be used", file: path)
        }
        self.path = path
        (contents, schema) = (examination.contents, examination.schema)
        let folder = ExternalFile.folder(ofStore: path)
        externalNames =
            namesFiles || ExternalFile.hasFiles(in: folder)
            ? try connection.namesOfExternalFiles(in: schema.tables.map(\.name)) : []
        let purpose = "read the tables of \(path)"
        let statement = try connection.prepare(
            "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid", purpose)
        var items: [Item] = []
        while try statement.step(purpose) {
            guard let type = statement.text(0), let name = statement.text(1), let table = statement.text(2),
                let text = statement.text(3)
            else { continue }
            items.append(Item(type: type, name: name, table: table, statement: text))
        }
        self.items = items
    }
}

extension ConvertedStore.Item {
    var isVirtual: Bool { statement.hasPrefix("CREATE VIRTUAL") }
    /// Whether the item belongs to SQLite, or to this library but not to the store.
    var isInternal: Bool { table.hasPrefix("sqlite_") || table.hasPrefix("CST_") }
    var isOfHistory: Bool { HistorySchema.Table.allCases.contains { $0.rawValue == table } }
    var isOfSystem: Bool { StoreSchema.systemTables.contains(table) }
}
