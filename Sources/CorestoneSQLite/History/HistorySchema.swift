import CorestoneModel
import CorestoneValues

/// The history tables of a file.
///
/// `ATRANSACTION` has one row for each save, and `ACHANGE` one row for each object that the save changed.
///
/// Older versions of Core Data wrote names of authors, contexts and processes into the row of the save. Newer versions
/// store each name once in `ATRANSACTIONSTRING` and refer to it. Columns differ too, so the design is read from the
/// file.
struct HistorySchema {
    enum Table: String, CaseIterable {
        case change = "ACHANGE"
        case transaction = "ATRANSACTION"
        case string = "ATRANSACTIONSTRING"

        /// The entity number in `Z_PRIMARYKEY` and in `Z_ENT` of the rows.
        var number: Int64 {
            switch self {
            case .change: 16001
            case .transaction: 16002
            case .string: 16003
            }
        }
        var entityName: String { String(rawValue.dropFirst()) }
    }

    /// The names that a transaction records about its origin.
    enum Label: String, CaseIterable {
        case bundle = "ZBUNDLEID"
        case context = "ZCONTEXTNAME"
        case author = "ZAUTHOR"
        case process = "ZPROCESSID"
    }

    /// The column of each label, and whether it refers to `ATRANSACTIONSTRING`. A design may lack some labels.
    let labels: [Label: (column: String, isReference: Bool)]
    /// The number of columns with preserved values of deleted objects, such as `ZTOMBSTONE0`.
    let tombstoneCount: Int
    /// Whether a change records which columns it affects.
    let hasColumns: Bool

    /// Derives the design from the columns of a file; nil for a file without history.
    ///
    /// - Parameter columns: The columns of the history tables in the file.
    /// - Throws: The reason why this library cannot write to the history.
    init?(columns: [Table: Set<String>]) throws(HistoryRefusal) {
        if columns[.change] == nil && columns[.transaction] == nil { return nil }
        guard let changes = columns[.change], let transactions = columns[.transaction] else {
            let missing: Table = columns[.change] == nil ? .change : .transaction
            throw HistoryRefusal("its persistent history does not have the table \(missing.rawValue)")
        }
        let tombstones = changes.filter { $0.hasPrefix("ZTOMBSTONE") }
        let known: Set<String> = [
            "Z_PK", "Z_ENT", "Z_OPT", "ZCHANGETYPE", "ZENTITY", "ZENTITYPK", "ZTRANSACTIONID", "ZCOLUMNS",
        ]
        try HistorySchema.compare(.change, changes.subtracting(tombstones), known, optional: ["ZCOLUMNS"])
        guard tombstones == Set((0..<tombstones.count).map { "ZTOMBSTONE\($0)" }) else {
            throw HistoryRefusal(
                "its persistent history has an unknown format: the columns ZTOMBSTONE of ACHANGE have gaps")
        }
        let names = Set(Label.allCases.flatMap { [$0.rawValue, $0.rawValue + "TS"] })
        let fixed: Set<String> = ["Z_PK", "Z_ENT", "Z_OPT", "ZTIMESTAMP"]
        try HistorySchema.compare(
            .transaction, transactions, fixed.union(names).union(["ZQUERYGEN"]), optional: names.union(["ZQUERYGEN"]))
        if let strings = columns[.string] {
            try HistorySchema.compare(.string, strings, ["Z_PK", "Z_ENT", "Z_OPT", "ZNAME"], optional: [])
        }
        var labels: [Label: (column: String, isReference: Bool)] = [:]
        for label in Label.allCases {
            if columns[.string] != nil, transactions.contains(label.rawValue + "TS") {
                labels[label] = (label.rawValue + "TS", true)
            } else if transactions.contains(label.rawValue) {
                labels[label] = (label.rawValue, false)
            }
        }
        self.labels = labels
        tombstoneCount = tombstones.count
        hasColumns = changes.contains("ZCOLUMNS")
    }

    private static func compare(
        _ table: Table, _ present: Set<String>, _ known: Set<String>, optional: Set<String>
    ) throws(HistoryRefusal) {
        if let extra = present.subtracting(known).min(by: byteOrder) {
            throw HistoryRefusal("its persistent history has a newer format: \(table.rawValue) has a column \(extra)")
        }
        if let missing = known.subtracting(optional).subtracting(present).min(by: byteOrder) {
            throw HistoryRefusal(
                "its persistent history has an unknown format: \(table.rawValue) does not have the column \(missing)")
        }
    }
}

/// The reason why this library cannot write to a history.
///
/// It completes a message such as "the store is open read-only: …".
struct HistoryRefusal: Error {
    let reason: String
    init(_ reason: String) { self.reason = reason }
}

// MARK: - Reading and creating the tables

extension HistorySchema {
    /// Reads the design of an open file; nil if the file does not have a history.
    init?(of connection: Connection) throws {
        try self.init(columns: HistorySchema.columns(in: connection))
    }

    /// Returns the columns of the history tables in the file.
    static func columns(in connection: Connection) throws -> [Table: Set<String>] {
        var columns: [Table: Set<String>] = [:]
        for table in Table.allCases {
            let names = try connection.columnNames(of: table.rawValue, "read the history of \(connection.path)")
            if !names.isEmpty { columns[table] = Set(names) }
        }
        return columns
    }

    /// Adds the tables to a file without a history, in the transaction of the caller.
    static func install(in connection: Connection, model: Model) throws {
        let purpose = "create the history tables in \(connection.path)"
        for statement in creationStatements(for: model) {
            try connection.execute(statement, purpose, cocoaCode: .persistentStoreOpen)
        }
        let key = try connection.statement(
            "INSERT OR REPLACE INTO Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (?, ?, 0, 0)", purpose)
        for table in Table.allCases {
            key.bind(table.number, at: 1)
            key.bind(copying: table.entityName, at: 2)
            try key.run(purpose)
        }
    }

    /// Returns the statements with which Apple's frameworks since 2018 create the tables, in their order.
    static func creationStatements(for model: Model) -> [String] {
        let tombstones = (0..<(model.entities.map { preservedAttributes(of: $0).count }.max() ?? 0))
            .map { ", ZTOMBSTONE\($0) BLOB" }.joined()
        let head = "Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER"
        let references = ["ZAUTHORTS", "ZBUNDLEIDTS", "ZCONTEXTNAMETS", "ZPROCESSIDTS"]
        let names = ["ZAUTHOR", "ZBUNDLEID", "ZCONTEXTNAME", "ZPROCESSID"].map { "\($0) VARCHAR" }
        return [
            "CREATE TABLE ACHANGE ( \(head), ZCHANGETYPE INTEGER, ZENTITY INTEGER, ZENTITYPK INTEGER, "
                + "ZTRANSACTIONID INTEGER, ZCOLUMNS BLOB\(tombstones) )",
            "CREATE TABLE ATRANSACTION ( \(head), \(references.map { "\($0) INTEGER" }.joined(separator: ", ")), "
                + "ZTIMESTAMP FLOAT, \(names.joined(separator: ", ")), ZQUERYGEN BLOB )",
            "CREATE TABLE ATRANSACTIONSTRING ( \(head), ZNAME VARCHAR )",
            "CREATE INDEX ACHANGE_ZTRANSACTIONID_INDEX ON ACHANGE (ZTRANSACTIONID)",
        ]
            + references.map { "CREATE INDEX ATRANSACTION_\($0)_INDEX ON ATRANSACTION (\($0))" }
            + [
                "CREATE INDEX Z_TRANSACTION_TransactionAuthorIndex ON ATRANSACTION (ZAUTHOR COLLATE BINARY ASC)",
                "CREATE INDEX Z_TRANSACTION_TransactionTimestampIndex ON ATRANSACTION (ZTIMESTAMP COLLATE BINARY ASC)",
                "CREATE UNIQUE INDEX Z_TRANSACTIONSTRING_UNIQUE_NAME ON ATRANSACTIONSTRING (ZNAME COLLATE BINARY ASC)",
            ]
    }

    /// Returns the attributes whose values the history keeps when an object is deleted.
    ///
    /// They are in the order of the tombstone columns: those of a superentity first, then by name. Values that may be
    /// in backing files are not kept.
    static func preservedAttributes(of entity: Entity) -> [Attribute] {
        sequence(first: entity, next: \.parent).reversed().flatMap { entity in
            entity.ownAttributes.filter { $0.preservesValueInHistory && !$0.isTransient && !$0.allowsExternalStorage }
                .sorted { byteOrder($0.name, $1.name) }
        }
    }
}
