import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// A reader of the history of an open store.
///
/// It supports the formats of older and newer versions of Core Data: names in the rows of transactions or in a separate
/// table, with or without masks of changed columns. Changes of entities that the model does not have are left out,
/// because they do not have an object ID.
final class HistoryReader: StoredHistory {
    let reader: any SQLiteReading
    let form: HistoryForm
    private var slots = EntitySlots()
    private var preserved: [UInt32: [Attribute]] = [:]
    private var updates: [UpdateMask: [Property]] = [:]
    private var wideUpdates: [WideMask: [Property]] = [:]
    /// A cache of the last entity. Consecutive changes often have the same entity and mask.
    private var lastEntity: (number: Int64, entity: Entity)?
    private var lastUpdate: (mask: UpdateMask, properties: [Property])?

    /// A mask of at most eight bytes, as nearly all masks are.
    private struct UpdateMask: Hashable {
        let entity: UInt32
        let bytes: Int32
        let bits: UInt64
    }

    private struct WideMask: Hashable {
        let entity: UInt32
        let bytes: [UInt8]
    }

    /// The number of changes after which a step ends. A step reads all changes of each of its transactions.
    private static let stepChanges = 20_000

    /// Creates a reader, or nil for a store without history.
    init?(_ reader: any SQLiteReading) throws {
        guard let form = try reader.withFile({ try HistoryForm(of: $0.connection) }) else { return nil }
        (self.reader, self.form) = (reader, form)
    }

    var purpose: String { "read the history of \(reader.store.path)" }

    func bounds() throws -> HistoryBounds { try reading { try bounds(in: $0.connection) } }

    func bounds(in connection: Connection) throws -> HistoryBounds {
        let statement = try connection.statement(
            "SELECT (SELECT min(Z_PK) FROM ATRANSACTION), (SELECT max(Z_PK) FROM ATRANSACTION), "
                + "(SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = ?)", purpose)
        statement.bind(HistorySchema.Table.transaction.number, at: 1)
        defer { statement.reset() }
        guard try statement.step(purpose) else { return HistoryBounds(lowest: 1, highest: 0) }
        let highest = max(statement.integer(1), statement.integer(2), 0)
        return HistoryBounds(
            lowest: statement.isNull(0) ? highest.addingClamped(1) : statement.integer(0), highest: highest)
    }

    func firstNumber(notBefore date: Double) throws -> Int64? { try firstNumber(">=", date) }
    func firstNumber(after date: Double) throws -> Int64? { try firstNumber(">", date) }

    private func firstNumber(_ comparison: String, _ date: Double) throws -> Int64? {
        try reading { file in
            let statement = try file.connection.statement(
                "SELECT min(Z_PK) FROM ATRANSACTION WHERE ZTIMESTAMP \(comparison) ?", purpose)
            statement.bind(date, at: 1)
            defer { statement.reset() }
            return try statement.step(purpose) && !statement.isNull(0) ? statement.integer(0) : nil
        }
    }

    func transactions(
        after number: Int64, of store: Store, limit: Int, includingChanges: Bool
    ) throws -> HistoryBatch {
        try reading { file in
            let bounds = try bounds(in: file.connection)
            let heads = try heads(after: number, of: store, limit: limit, file.connection)
            guard includingChanges, let first = heads.first, let last = heads.last else {
                return HistoryBatch(heads.map { ($0, []) }, bounds)
            }
            return HistoryBatch(try changes(of: heads, from: first.number, to: last.number, file.connection), bounds)
        }
    }

    /// Runs `body` in one read transaction, so that it reads one state of the store.
    func reading<Result>(_ body: (OpenFile) throws -> Result) throws -> Result {
        try reader.withFile { file in
            let isAlone = file.connection.isAutocommit
            if isAlone { try file.connection.execute("BEGIN", purpose) }
            defer { if isAlone { sqlite3_exec(file.connection.db, "COMMIT", nil, nil, nil) } }
            let result = try body(file)
            try file.requireOwnStore()
            return result
        }
    }

    func heads(
        after number: Int64, of store: Store, limit: Int, _ connection: Connection
    ) throws -> [HistoryHead] {
        let statement = try connection.statement(form.transactionQuery, purpose)
        statement.bind(number, at: 1)
        statement.bind(limit, at: 2)
        defer { statement.reset() }
        var heads: [HistoryHead] = []
        while try statement.step(purpose) {
            // In a damaged table whose key is text, reading would not end.
            guard statement.integer(0) > heads.last?.number ?? number else { throw damaged("ATRANSACTION", "Z_PK") }
            heads.append(
                HistoryHead(
                    store, number: statement.integer(0), timestamp: sqlite3_column_double(statement.handle, 1),
                    author: statement.text(2), contextName: statement.text(3), bundleIdentifier: statement.text(4),
                    processIdentifier: statement.text(5)))
        }
        return heads
    }

    private func damaged(_ table: String, _ column: String) -> CoreError {
        CoreError(
            .storeCorrupt, code: .persistentStoreOperation,
            "cannot \(purpose): the values of \(table).\(column) are not ascending, so the table is damaged; restore "
                + "the store from a backup", file: reader.store.path)
    }

    // MARK: - Changes

    /// Reads the changes of as many transactions as one step should read.
    private func changes(
        of heads: [HistoryHead], from first: Int64, to last: Int64, _ connection: Connection
    ) throws -> [(head: HistoryHead, changes: [HistoryChange])] {
        let statement = try connection.statement(form.changeQuery, purpose)
        statement.bind(first, at: 1)
        statement.bind(last, at: 2)
        defer { statement.reset() }
        var found: [(head: HistoryHead, changes: [HistoryChange])] = []
        found.reserveCapacity(heads.count)
        var (place, count) = (0, 0)
        var changes: [HistoryChange] = []
        while try statement.step(purpose) {
            let number = statement.integer(1)
            guard number <= heads[heads.count - 1].number else { throw damaged("ACHANGE", "ZTRANSACTIONID") }
            while heads[place].number < number {
                found.append((heads[place], changes))
                changes = []
                place += 1
                if count >= HistoryReader.stepChanges { return found }
            }
            // A change without its transaction is skipped; `check` reports it.
            if heads[place].number != number { continue }
            guard let change = try change(statement, heads[place]) else { continue }
            changes.append(change)
            count += 1
        }
        for head in heads[place...] {
            found.append((head, changes))
            changes = []
        }
        return found
    }

    func change(_ row: Statement, _ head: HistoryHead) throws -> HistoryChange? {
        let kind = UInt32(exactly: row.integer(2)).flatMap { HistoryChangeKind(rawValue: $0) }
        guard let kind, let entity = entity(ofNumber: row.integer(3)), row.integer(4) > 0 else { return nil }
        return HistoryChange(
            of: head, id: row.integer(0), kind: kind,
            objectID: ObjectID(store: head.store, entity: entity, reference: row.integer(4)),
            updatedProperties: kind == .update ? updated(row, entity) : [],
            tombstone: kind == .delete ? tombstone(row, entity) : nil)
    }

    private func entity(ofNumber number: Int64) -> Entity? {
        if let lastEntity, lastEntity.number == number { return lastEntity.entity }
        guard let entity = reader.schema.entity(number: number) else { return nil }
        lastEntity = (number, entity)
        return entity
    }

    /// Returns the distinct properties whose bits are set, in the order of the slots.
    ///
    /// The result is cached, because many changes have the same mask.
    private func updated(_ row: Statement, _ entity: Entity) -> [Property] {
        guard form.hasColumns, let bytes = sqlite3_column_blob(row.handle, 5) else { return [] }
        let mask = UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(row.handle, 5)))
        guard mask.count <= 8 else {
            let key = WideMask(entity: entity.index, bytes: Array(mask))
            if let known = wideUpdates[key] { return known }
            let properties = properties(key.bytes, entity)
            wideUpdates[key] = properties
            return properties
        }
        let bits = mask.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let key = UpdateMask(entity: entity.index, bytes: Int32(mask.count), bits: bits)
        if let lastUpdate, lastUpdate.mask == key { return lastUpdate.properties }
        let properties = updates[key] ?? properties(Array(mask), entity)
        updates[key] = properties
        lastUpdate = (key, properties)
        return properties
    }

    private func properties(_ mask: [UInt8], _ entity: Entity) -> [Property] {
        var seen: Set<ObjectIdentifier> = []
        return slots.slots(of: entity).slots(in: mask).map(\.property).filter {
            seen.insert(ObjectIdentifier($0)).inserted
        }
    }

    private func tombstone(_ row: Statement, _ entity: Entity) -> [String: PropertyValue] {
        let attributes = preserved[entity.index] ?? HistorySchema.preservedAttributes(of: entity)
        preserved[entity.index] = attributes
        var values: [String: PropertyValue] = [:]
        for (attribute, column) in zip(attributes, form.firstTombstone..<form.firstTombstone + form.tombstoneCount) {
            let value = row.storedValue(Int32(column), of: attribute)
            if !value.isNull { values[attribute.path] = value }
        }
        return values
    }
}

/// The columns of the history tables of a file, and the queries that read them.
struct HistoryForm {
    let transactionQuery: String
    /// The query for the changes of a range of transactions.
    let changeQuery: String
    private let changeColumns: String
    let hasColumns: Bool
    let tombstoneCount: Int
    /// The SQL expression for the author of a transaction `t`.
    let author: String
    /// The index of the first tombstone among the columns of `changeQuery`.
    let firstTombstone = 6

    /// Returns the query for the changes that satisfy a condition, in the order in which they were recorded.
    func changes(where condition: String) -> String { HistoryForm.changes(changeColumns, where: condition) }

    private static func changes(_ columns: String, where condition: String) -> String {
        "SELECT \(columns) FROM ACHANGE WHERE \(condition) ORDER BY ZTRANSACTIONID, Z_PK"
    }

    /// Reads the columns of an open file; nil for a file without history, or without the necessary columns.
    init?(of connection: Connection) throws {
        let columns = try HistorySchema.columns(in: connection)
        guard let transactions = columns[.transaction], transactions.isSuperset(of: ["Z_PK", "ZTIMESTAMP"]),
            let changes = columns[.change],
            changes.isSuperset(of: ["Z_PK", "ZTRANSACTIONID", "ZCHANGETYPE", "ZENTITY", "ZENTITYPK"])
        else { return nil }
        let hasStrings = columns[.string]?.contains("ZNAME") == true
        let names = [HistorySchema.Label.author, .context, .bundle, .process].map { label -> String in
            let inline = transactions.contains(label.rawValue) ? label.rawValue : "NULL"
            guard hasStrings, transactions.contains(label.rawValue + "TS") else { return inline }
            return "ifnull(\(inline), (SELECT ZNAME FROM ATRANSACTIONSTRING s WHERE s.Z_PK = t.\(label.rawValue)TS))"
        }
        author = names[0]
        transactionQuery =
            "SELECT Z_PK, ZTIMESTAMP, \(names.joined(separator: ", ")) FROM ATRANSACTION t WHERE Z_PK > ? "
            + "ORDER BY Z_PK LIMIT ?"
        hasColumns = changes.contains("ZCOLUMNS")
        var count = 0
        while changes.contains("ZTOMBSTONE\(count)") { count += 1 }
        tombstoneCount = count
        let tombstones = (0..<count).map { ", ZTOMBSTONE\($0)" }.joined()
        changeColumns =
            "Z_PK, ZTRANSACTIONID, ZCHANGETYPE, ZENTITY, ZENTITYPK, \(hasColumns ? "ZCOLUMNS" : "NULL")\(tombstones)"
        changeQuery = HistoryForm.changes(changeColumns, where: "ZTRANSACTIONID BETWEEN ? AND ?")
    }
}

extension Statement {
    /// Reads a column as a stored value of an attribute; null if SQLite's value does not suit the attribute's type.
    func storedValue(_ column: Int32, of attribute: Attribute) -> PropertyValue {
        switch attribute.type {
        case .integer16, .integer32, .integer64: return isNumber(column) ? .int(integer(column)) : .null
        case .boolean: return isNumber(column) ? .bool(integer(column) != 0) : .null
        case .double, .float: return isNumber(column) ? .double(sqlite3_column_double(handle, column)) : .null
        case .date: return isNumber(column) ? .date(sqlite3_column_double(handle, column)) : .null
        case .decimal: return DecimalNumber(column: column, of: handle).map { .decimal($0) } ?? .null
        case .string: return text(column).map { .string($0) } ?? .null
        case .uri: return text(column).map { .uri(Text($0)) } ?? .null
        case .uuid:
            guard let bytes = blob(column) else { return .null }
            return bytes.withUnsafeBytes { UUIDValue(bytes: $0) }.map { .uuid($0) } ?? .null
        default: return blob(column).map { .bytes(Bytes($0)) } ?? .null
        }
    }
}

extension SQLiteReading {
    var history: (any StoredHistory)? { get throws { try HistoryReader(self) } }
}
