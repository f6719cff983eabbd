import CSQLite
import CorestoneModel
import CorestoneValues
import Glibc

/// A writer of the changes of one save to the store's history, in the transaction of the save.
///
/// The transaction's row is written with the first change, so a save without changes is not recorded unless the caller
/// requires it.
final class HistoryWriter {
    enum ChangeType: Int64 { case insert = 0, update, delete }

    private let design: HistorySchema
    private let connection: Connection
    private let purpose: String
    private let schema: StoreSchema
    private let names: [HistorySchema.Label: String]
    /// The number of the transaction; 0 before the first change.
    private(set) var transaction: Int64 = 0
    private var lastChange: Int64 = 0
    /// The number of the last change before this transaction.
    private var firstChange: Int64 = 0
    private var lastType = ChangeType.insert
    /// Whether a change was recorded after a change of a later type, so that the changes must be sorted.
    private var isMixed = false
    private let insertion: Statement
    private var slots = EntitySlots()
    private var deletions: [UInt32: Statement] = [:]
    private var lastMask: (entity: UInt32, slots: [Int], mask: [UInt8])?

    init(
        design: HistorySchema, connection: Connection, schema: StoreSchema, names: [HistorySchema.Label: String]
    ) throws {
        self.design = design
        self.connection = connection
        self.schema = schema
        self.names = names
        let purpose = "write the history of \(connection.path)"
        self.purpose = purpose
        insertion = try connection.statement(
            "INSERT INTO ACHANGE (Z_PK, Z_ENT, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID"
                + (design.hasColumns
                    ? ", ZCOLUMNS) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)" : ") VALUES (?1, ?2, ?3, ?4, ?5, ?6)"),
            purpose)
    }

    /// Runs a statement that must change one row.
    private func write(_ statement: Statement, of entity: Entity? = nil) throws {
        try statement.run(purpose)
        try connection.requireOneChange(purpose, entity: entity?.name)
    }

    func insert(_ primaryKey: Int64, entity: Entity) throws {
        try bind(insertion, .insert, primaryKey, entity)
        if design.hasColumns { insertion.bindNull(at: 7) }
        try write(insertion, of: entity)
    }

    /// Records the update of a row.
    ///
    /// - Parameters:
    ///   - slots: The slots that were written.
    ///   - members: To-many relationships whose members changed.
    func update(_ primaryKey: Int64, entity: Entity, slots: [Int], members: [Relationship] = []) throws {
        try bind(insertion, .update, primaryKey, entity)
        if design.hasColumns {
            insertion.bind(copying: mask(of: slots, members, entity), at: 7)
        }
        try write(insertion, of: entity)
    }

    /// Returns the mask of changed properties.
    ///
    /// Most updates of a save change the same properties, so the last mask is cached.
    private func mask(of changed: [Int], _ members: [Relationship], _ entity: Entity) -> [UInt8] {
        if let lastMask, lastMask.entity == entity.index, members.isEmpty, lastMask.slots == changed {
            return lastMask.mask
        }
        let properties = changed.lazy.filter { entity.properties.indices.contains($0) }.map { entity.properties[$0] }
        let mask = slots.slots(of: entity).mask(of: Array(properties) + members)
        if members.isEmpty { lastMask = (entity.index, changed, mask) }
        return mask
    }

    /// Records the deletion of a row that still exists, with the values that the model preserves.
    func delete(_ primaryKey: Int64, entity: Entity) throws {
        let statement = try deletion(of: entity)
        try bind(statement, .delete, primaryKey, entity)
        try statement.run(purpose)
        if connection.changes == 1 { return }
        // If the row does not exist, the deletion itself reports that it is missing.
        let search = "SELECT 1 FROM \(schema.table(of: entity).name) WHERE Z_PK = ?"
        if try connection.finds(search, primaryKey, purpose: purpose) {
            throw connection.unwrittenRowError(purpose, entity: entity.name)
        }
    }

    private func deletion(of entity: Entity) throws -> Statement {
        if let known = deletions[entity.index] { return known }
        let table = schema.table(of: entity)
        let kept = HistorySchema.preservedAttributes(of: entity).prefix(design.tombstoneCount)
            .compactMap { table.column(of: $0)?.name }
        let targets = kept.indices.map { ", ZTOMBSTONE\($0)" }.joined()
        let statement = try connection.statement(
            "INSERT INTO ACHANGE (Z_PK, Z_ENT, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID\(targets)) "
                + "SELECT ?1, ?2, ?3, ?4, ?5, ?6\(kept.map { ", \($0)" }.joined()) FROM \(table.name) WHERE Z_PK = ?5",
            purpose)
        deletions[entity.index] = statement
        return statement
    }

    private func bind(_ statement: Statement, _ type: ChangeType, _ primaryKey: Int64, _ entity: Entity) throws {
        if transaction == 0 { try begin() }
        lastChange += 1
        if type.rawValue < lastType.rawValue { isMixed = true }
        lastType = type
        statement.bind(lastChange, at: 1)
        statement.bind(HistorySchema.Table.change.number, at: 2)
        statement.bind(type.rawValue, at: 3)
        statement.bind(schema.number(of: entity), at: 4)
        statement.bind(primaryKey, at: 5)
        statement.bind(transaction, at: 6)
    }

    /// Writes a transaction without changes, as a migration does.
    func writeEmptyTransaction() throws {
        try requireTransaction()
        try finish()
    }

    /// Writes the row of the transaction if no change has written it.
    func requireTransaction() throws { if transaction == 0 { try begin() } }

    /// Sorts the changes if necessary, and writes the highest assigned primary keys. Called before the commit.
    func finish() throws {
        guard transaction != 0 else { return }
        if isMixed { try sortChanges() }
        try setHighest(lastChange, .change)
        try setHighest(transaction, .transaction)
    }
}

// MARK: - The transaction's row

extension HistoryWriter {
    private static let maximumKeys: Int64 = 1 << 62

    /// Renumbers the changes in the order of Apple's framework: insertions, updates, deletions.
    ///
    /// A save deletes first, so that the unique values of deleted objects can be reused.
    private func sortChanges() throws {
        let count = lastChange - firstChange
        for type in [ChangeType.update, .delete] {
            let statement = try connection.statement(
                "UPDATE ACHANGE SET Z_PK = Z_PK + ? WHERE ZTRANSACTIONID = ? AND ZCHANGETYPE = ?", purpose)
            statement.bind(count * type.rawValue, at: 1)
            statement.bind(transaction, at: 2)
            statement.bind(type.rawValue, at: 3)
            try statement.run(purpose)
        }
        lastChange = max(try highest(.change), lastChange)
    }

    private func begin() throws {
        lastChange = try highest(.change)
        firstChange = lastChange
        transaction = try highest(.transaction) + 1
        var columns = ["Z_PK", "Z_ENT", "ZTIMESTAMP"]
        var values: [PropertyValue] = [
            .int(transaction), .int(HistorySchema.Table.transaction.number), .double(ReferenceDate.currentSeconds),
        ]
        for label in HistorySchema.Label.allCases {
            guard let name = names[label], let (column, isReference) = design.labels[label] else { continue }
            columns.append(column)
            values.append(isReference ? .int(try key(ofString: name)) : .string(name))
        }
        let marks = columns.map { _ in "?" }.joined(separator: ", ")
        let statement = try connection.statement(
            "INSERT INTO ATRANSACTION (\(columns.joined(separator: ", "))) VALUES (\(marks))", purpose)
        for (place, value) in values.enumerated() { statement.bind(copying: value, at: Int32(place + 1)) }
        try write(statement)
    }

    /// Returns the key of a string in the table of distinct strings, and adds the string if necessary.
    private func key(ofString name: String) throws -> Int64 {
        let search = try connection.statement(
            "SELECT Z_PK FROM ATRANSACTIONSTRING WHERE ZNAME = ?", purpose)
        search.bind(copying: name, at: 1)
        defer { search.reset() }
        if try search.step(purpose) { return search.integer(0) }
        let key = try highest(.string) + 1
        let insertion = try connection.statement(
            "INSERT INTO ATRANSACTIONSTRING (Z_PK, Z_ENT, ZNAME) VALUES (?, ?, ?)", purpose)
        insertion.bind(key, at: 1)
        insertion.bind(HistorySchema.Table.string.number, at: 2)
        insertion.bind(copying: name, at: 3)
        try write(insertion)
        try setHighest(key, .string)
        return key
    }

    /// Returns the highest assigned primary key, which is at least the highest primary key in use.
    private func highest(_ table: HistorySchema.Table) throws -> Int64 {
        let statement = try connection.statement(
            "SELECT (SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = ?), (SELECT max(Z_PK) FROM \(table.rawValue))",
            purpose)
        statement.bind(table.number, at: 1)
        defer { statement.reset() }
        guard try statement.step(purpose) else { return 0 }
        let highest = max(statement.integer(0), statement.integer(1), 0)
        // A save assigns few keys, so a key above this limit is a sign of damage.
        guard highest <= HistoryWriter.maximumKeys else {
            throw CoreError(
                .storeCorrupt, code: .persistentStoreSave,
                "the history of \(connection.path) is damaged: the highest primary key of \(table.rawValue), in the "
                    + "table or in Z_PRIMARYKEY, is \(highest), but the limit is \(HistoryWriter.maximumKeys); restore "
                    + "the store from a backup",
                value: .int(highest), file: connection.path)
        }
        return highest
    }

    private func setHighest(_ key: Int64, _ table: HistorySchema.Table) throws {
        let statement = try connection.statement(
            "UPDATE Z_PRIMARYKEY SET Z_MAX = ? WHERE Z_ENT = ?", purpose)
        statement.bind(key, at: 1)
        statement.bind(table.number, at: 2)
        try write(statement)
    }

    /// The name of the running program, which is recorded as bundle identifier and process identifier.
    static let processName: String = {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        guard count > 0 else { return "corestone" }
        let path = String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return path.split(separator: "/").last.map(String.init) ?? "corestone"
    }()
}
