import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

extension HistoryReader {
    func past(after number: Int64) throws -> StoredPast {
        let store = reader.store
        guard let folder = WorkFolder.temporary("corestone-past-") else {
            throw CoreError(
                .storeIO, code: .persistentStoreOperation,
                "cannot create a folder for the past of \(store.path): \(StorePlace.text(of: errno)); set TMPDIR to a writable "
                    + "folder with free space", file: store.path)
        }
        let path = folder.path + "/store"
        var options = store.options
        (options.vacuums, options.analyzes, options.fileMode) = (false, false, nil)
        try store.backup(to: path, options: options) { _, _ in true }
        let unknown = try restore(path, to: number)
        (options.isReadOnly, options.mustExist, options.dropsOldValues) = (true, true, false)
        (options.keepsHistory, options.keepsCompleteHistory) = (false, false)
        let versions: VersionRule = options.ignoresVersioning || store.modelSource != .given ? .aside : .compared
        let opened = try StoreOpening(path, model: schema.model, options: options, versions: versions).run()
        return StoredPast(try SQLiteStore(opened, options: options), unknown, in: folder)
    }

    private var schema: StoreSchema { reader.store.schema }

    private func restore(_ path: String, to number: Int64) throws -> UnknownValues {
        let connection = try Connection(
            path, path: reader.store.path, flags: SQLITE_OPEN_READWRITE, limits: reader.store.options.limits)
        defer { connection.close() }
        // The copy is temporary: nothing has to outlive a crash.
        try connection.execute(
            "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; PRAGMA temp_store=MEMORY",
            purpose)
        try requireNoMigration(after: number, connection)
        _ = try StoreFunctions(connection)
        var restoration = PastRestoration(connection, schema)
        try restoration.run(to: number)
        return restoration.unknown
    }

    /// A migration changes rows and tables; the model before it is not known.
    private func requireNoMigration(after number: Int64, _ connection: Connection) throws {
        let statement = try connection.prepare(
            "SELECT max(Z_PK) FROM ATRANSACTION t WHERE Z_PK > ? AND \(form.author) LIKE '\(HistoryMigration.authorPrefix)%'",
            purpose)
        statement.bind(number, at: 1)
        guard try statement.step(purpose), !statement.isNull(0) else { return }
        throw CoreError(
            .invalidArgument, code: .persistentHistoryTokenExpired,
            "the past of \(reader.store.path) after transaction \(number) cannot be opened: transaction \(statement.integer(0)) "
                + "migrated the store to its present model; choose transaction \(statement.integer(0)) or a later one",
            value: .int(number), file: reader.store.path)
    }

    // MARK: - One object

    func changes(of id: ObjectID) throws -> [StoredChange] {
        guard let owner = id.store else { return [] }
        return try reading { file in
            let number = schema.number(of: id.entity)
            let rows = try file.connection.statement(
                "SELECT DISTINCT ZTRANSACTIONID FROM ACHANGE WHERE ZENTITY = ? AND ZENTITYPK = ? ORDER BY ZTRANSACTIONID",
                purpose)
            rows.bind(number, at: 1)
            rows.bind(id.reference, at: 2)
            var numbers: [Int64] = []
            while try rows.step(purpose) { numbers.append(rows.integer(0)) }
            rows.reset()
            let old = try OldValueReader(file.connection, schema, id.entity, purpose)
            var found: [StoredChange] = []
            for number in numbers {
                let batch = try transactions(after: number - 1, of: owner, limit: 1, includingChanges: true)
                guard let transaction = batch.transactions.first, transaction.head.number == number else { continue }
                for change in transaction.changes
                where change.objectID.reference == id.reference
                    && change.objectID.entity.rootIndex == id.entity.rootIndex
                {
                    found.append(StoredChange(change, try old?.values(of: change, number)))
                }
            }
            return found
        }
    }
}

/// Reads what a complete history keeps of one entity's objects.
private struct OldValueReader {
    private let connection: Connection
    private let purpose: String
    private let columns: [(number: Int64, property: Property, target: Int64?)]
    private let schema: StoreSchema

    /// nil for a store without a complete history.
    init?(_ connection: Connection, _ schema: StoreSchema, _ entity: Entity, _ purpose: String) throws {
        guard try OldValueTables.exist(in: connection, purpose) else { return nil }
        (self.connection, self.schema, self.purpose) = (connection, schema, purpose)
        let table = schema.table(of: entity)
        var numbers: [String: Int64] = [:]
        for (number, name, column) in try OldValueTables.columns(of: connection, purpose) where name == table.name {
            numbers[column] = number
        }
        columns = table.columns.compactMap { column in
            guard column.role == .attribute || column.role == .toOne, let number = numbers[column.name] else {
                return nil
            }
            let target = (column.property as? Relationship).flatMap { table.targetEntityColumn(of: $0) }
            return (number, column.property, target.flatMap { numbers[$0.name] })
        }
    }

    /// The values that a change replaced; nil if its transaction did not keep them, empty for an insertion.
    func values(of change: HistoryChange, _ transaction: Int64) throws -> [String: PropertyValue]? {
        guard
            try connection.finds(
                "SELECT 1 FROM \(OldValueTables.spans) WHERE ZFIRST <= ?1 AND ZLAST >= ?1", transaction,
                purpose: purpose)
        else { return nil }
        var values: [String: PropertyValue] = [:]
        if change.kind == .insert { return values }
        let entity = change.objectID.entity
        for (number, property, target) in columns where entity.isKind(of: property.entity) {
            guard let row = try row(transaction, number, change.objectID.reference) else { continue }
            defer { row.reset() }
            if let attribute = property as? Attribute {
                values[property.path] = row.oldValue(0, of: attribute)
            } else if let relationship = property as? Relationship {
                let key = row.integer(0)
                var destination = relationship.destination
                let isNull = row.isNull(0) || key <= 0
                row.reset()
                if let target, let other = try self.row(transaction, target, change.objectID.reference) {
                    defer { other.reset() }
                    if let index = schema.entityIndex(number: other.integer(0)) {
                        destination = schema.model.entities[Int(index)]
                    }
                }
                values[property.path] =
                    isNull
                    ? .null
                    : .object(
                        ObjectIDReference(
                            ObjectID(store: change.objectID.store, entity: destination, reference: key)))
            }
        }
        return values
    }

    private func row(_ transaction: Int64, _ column: Int64, _ key: Int64) throws -> Statement? {
        let statement = try connection.statement(
            "SELECT ZVALUE FROM \(OldValueTables.values) WHERE ZTRANSACTION = ? AND ZCOLUMN = ? AND ZROW = ?", purpose)
        statement.bind(transaction, at: 1)
        statement.bind(column, at: 2)
        statement.bind(key, at: 3)
        if try statement.step(purpose) { return statement }
        statement.reset()
        return nil
    }
}

extension Statement {
    /// As `storedValue`; of an attribute that may be in a backing file, without its mark.
    fileprivate func oldValue(_ column: Int32, of attribute: Attribute) -> PropertyValue {
        guard attribute.allowsExternalStorage, let bytes = blob(column) else {
            return storedValue(column, of: attribute)
        }
        return bytes.first == ExternalFile.inlineMark ? .bytes(Bytes(Array(bytes.dropFirst()))) : .null
    }
}
