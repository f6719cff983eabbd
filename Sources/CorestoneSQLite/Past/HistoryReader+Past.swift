import CSQLite
import CorestoneFileSystem
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

extension HistoryReader {
    func past(after number: Int64, of owner: Store, unknown: UnknownValues) throws -> StoredPast {
        let store = reader.store
        guard let folder = WorkFolder.temporary("corestone-past-") else {
            let code = errno
            throw CoreError(
                .storeIO, code: .persistentStoreOperation,
                "cannot open a past state of \(store.path): cannot create a folder in \(temporaryFolder): "
                    + "\(SystemError(code).text)\(SystemError(code).remedyForTemporaryFile)",
                file: store.path)
        }
        let path = folder.path + "/store"
        var options = store.options
        (options.vacuums, options.analyzes, options.fileMode) = (false, false, nil)
        try store.backup(to: path, options: options) { _, _ in true }
        let unknown = try restore(path, to: number, of: owner, unknown)
        (options.isReadOnly, options.mustExist, options.dropsOldValues) = (true, true, false)
        (options.keepsHistory, options.keepsCompleteHistory) = (false, false)
        options.readOnlyReason = "it is a past state of \(store.path); use the present store"
        let opened = try StoreOpener(
            path, model: schema.model, options: options, versions: store.versionsOfCopies
        ).run()
        return StoredPast(try SQLiteStore(opened, options: options), unknown, in: folder)
    }

    private var schema: StoreSchema { reader.store.schema }

    private func restore(
        _ path: String, to number: Int64, of owner: Store, _ unknown: UnknownValues
    ) throws -> UnknownValues {
        let connection = try Connection(
            path, path: reader.store.path, flags: SQLITE_OPEN_READWRITE, limits: reader.store.options.limits)
        defer { connection.close() }
        // The copy is temporary, so it need not survive a crash.
        try connection.execute(
            "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; PRAGMA temp_store=MEMORY",
            purpose)
        // Another process may have purged the history before the store was copied.
        try bounds(in: connection).requireKept(after: number, owner, opensPast: true)
        try requireNoMigration(after: number, connection)
        _ = try StoreFunctions(connection)
        var restoration = PastRestoration(connection, schema, unknown)
        try restoration.run(to: number)
        return restoration.unknown
    }

    /// Throws if a later transaction is a migration, which changes rows and tables. The former model is unknown.
    private func requireNoMigration(after number: Int64, _ connection: Connection) throws {
        let migration = try lastMigration(connection)
        guard migration > number else { return }
        throw CoreError(
            .invalidArgument, code: .persistentHistoryTokenExpired,
            "cannot open the past state of \(reader.store.path) after transaction \(number): transaction "
                + "\(migration) migrated the store to its present model; choose transaction \(migration) or later, or "
                + "a date after it",
            key: "transaction", value: .int(number), file: reader.store.path)
    }

    /// Returns the number of the last transaction of a migration; 0 without one.
    private func lastMigration(_ connection: Connection) throws -> Int64 {
        let statement = try connection.statement(
            "SELECT max(Z_PK) FROM ATRANSACTION t WHERE \(form.author) LIKE '\(HistoryMigration.authorPrefix)%'",
            purpose)
        defer { statement.reset() }
        return try statement.step(purpose) ? statement.integer(0) : 0
    }

    // MARK: - One object

    func changes(of id: ObjectID) throws -> StoredChanges {
        guard let owner = id.store else { return StoredChanges() }
        return try reading { file in
            var found = StoredChanges()
            found.lastMigration = try lastMigration(file.connection)
            found.completeFrom = try completeFrom(file.connection)
            let old = try OldValueReader(file.connection, schema, id.entity, purpose)
            for change in try ownChanges(of: id, owner, file.connection) {
                found.list.append(try old?.stored(change) ?? StoredChange(change, nil))
            }
            return found
        }
    }

    private func ownChanges(of id: ObjectID, _ owner: Store, _ connection: Connection) throws -> [HistoryChange] {
        let numbers = schema.table(of: id.entity).entities.map { schema.number(of: $0) }.joinedText
        let rows = try connection.statement(form.changes(where: "ZENTITYPK = ? AND ZENTITY IN (\(numbers))"), purpose)
        rows.bind(id.reference, at: 1)
        defer { rows.reset() }
        var (found, head): ([HistoryChange], HistoryHead?) = ([], nil)
        while try rows.step(purpose) {
            let number = rows.integer(1)
            if head?.number != number {
                head = try heads(after: number.addingClamped(-1), of: owner, limit: 1, connection).first
            }
            if let head, head.number == number, let change = try change(rows, head) { found.append(change) }
        }
        return found
    }

    /// Returns the number of the first transaction since which all old values are recorded.
    private func completeFrom(_ connection: Connection) throws -> Int64 {
        let highest = try bounds(in: connection).highest
        guard try OldValueTables.exist(in: connection, purpose) else { return highest.addingClamped(1) }
        let span = try connection.statement(
            "SELECT min(ZFIRST) FROM \(OldValueTables.spans) WHERE ZFIRST <= ?1 AND ZLAST >= ?1", purpose)
        span.bind(highest, at: 1)
        defer { span.reset() }
        return try span.step(purpose) && !span.isNull(0) ? span.integer(0) : highest.addingClamped(1)
    }

    // MARK: - Objects without their own changes

    func objectsWithOldValues(after number: Int64, of store: Store) throws -> [ObjectID] {
        try reading { file in
            let connection = file.connection
            guard try OldValueTables.exist(in: connection, purpose) else { return [] }
            var found: [ObjectID] = []
            for query in try queriesOfTouchedRows(connection) {
                let rows = try connection.prepare(query, purpose)
                rows.bind(number, at: 1)
                while try rows.step(purpose) {
                    guard let entity = schema.entity(number: rows.integer(1)) else { continue }
                    found.append(ObjectID(store: store, entity: entity, reference: rows.integer(0)))
                }
            }
            return found
        }
    }

    /// Returns the queries for the key and entity number of rows that may have old values.
    ///
    /// These are rows with old values, rows in changed pairs of join tables, and former and present owners and targets.
    private func queriesOfTouchedRows(_ connection: Connection) throws -> [String] {
        func rows(of table: TableSchema, keys: String) -> String {
            "SELECT Z_PK, Z_ENT FROM \(table.name) WHERE Z_PK IN (\(keys))"
        }
        var queries: [String] = []
        for (number, subject) in try OldValueTables.subjects(of: connection, schema, purpose) {
            let values = "FROM \(OldValueTables.values) WHERE ZTRANSACTION > ?1 AND ZCOLUMN = \(number)"
            switch subject {
            case .links(let join):
                let links = "FROM \(OldValueTables.links) WHERE ZTRANSACTION > ?1 AND ZTABLE = \(number)"
                for (key, side) in [("ZKEY1", join.namingColumn), ("ZKEY2", join.otherColumn)] {
                    queries.append(rows(of: schema.table(of: side.entity), keys: "SELECT \(key) \(links)"))
                }
            case .column(let column, let table):
                queries.append(rows(of: table, keys: "SELECT ZROW \(values)"))
                guard let relationship = column.property as? Relationship,
                    column.role == .owner || column.role == .toOne
                else { continue }
                let other = schema.table(of: column.role == .owner ? relationship.entity : relationship.destination)
                queries.append(rows(of: other, keys: "SELECT ZVALUE \(values)"))
                let now = "SELECT \(column.name) FROM \(table.name) WHERE Z_PK IN (SELECT ZROW \(values))"
                queries.append(rows(of: other, keys: now))
            }
        }
        return queries
    }
}

/// A reader of the old values that a complete history has recorded for the objects of one entity.
private struct OldValueReader {
    private let connection: Connection
    private let purpose: String
    /// The attributes and to-one relationships by column number.
    private var columns: [Int64: Property] = [:]
    /// The to-one relationships by the number of the column with the target's entity.
    private var targetColumns: [Int64: Property] = [:]
    private let numbers: String
    private let schema: StoreSchema

    /// Creates a reader, or nil for a store without a complete history.
    init?(_ connection: Connection, _ schema: StoreSchema, _ entity: Entity, _ purpose: String) throws {
        guard try OldValueTables.exist(in: connection, purpose) else { return nil }
        (self.connection, self.schema, self.purpose) = (connection, schema, purpose)
        let table = schema.table(of: entity)
        var found: [Int64] = []
        for (number, subject) in try OldValueTables.subjects(of: connection, schema, purpose) {
            guard case .column(let column, let owner) = subject, owner === table else { continue }
            switch column.role {
            case .attribute, .toOne: columns[number] = column.property
            case .targetEntity: targetColumns[number] = column.property
            case .order, .owner: continue
            }
            found.append(number)
        }
        numbers = found.joinedText
    }

    /// Returns a change with the values that it replaced, or without values if its transaction did not record them.
    func stored(_ change: HistoryChange) throws -> StoredChange {
        let (transaction, id) = (change.transaction.number, change.objectID)
        guard
            try connection.finds(
                "SELECT 1 FROM \(OldValueTables.spans) WHERE ZFIRST <= ?1 AND ZLAST >= ?1", transaction,
                purpose: purpose)
        else { return StoredChange(change, nil) }
        if change.kind == .insert { return StoredChange(change, [:]) }
        let rows = try connection.statement(
            "SELECT ZCOLUMN, ZVALUE FROM \(OldValueTables.values) WHERE ZTRANSACTION = ? AND ZROW = ? "
                + "AND ZCOLUMN IN (\(numbers))", purpose)
        rows.bind(transaction, at: 1)
        rows.bind(id.reference, at: 2)
        defer { rows.reset() }
        var (values, lost, keys, targets): ([String: PropertyValue], Set<String>, [String: Int64], [String: Int64]) =
            ([:], [], [:], [:])
        while try rows.step(purpose) {
            let number = rows.integer(0)
            if let property = targetColumns[number] {
                targets[property.path] = rows.integer(1)
            } else if let attribute = columns[number] as? Attribute, id.entity.isKind(of: attribute.entity) {
                if let value = rows.oldValue(1, of: attribute) {
                    values[attribute.path] = value
                } else {
                    lost.insert(attribute.path)
                }
            } else if let relationship = columns[number] as? Relationship, id.entity.isKind(of: relationship.entity) {
                keys[relationship.path] = rows.integer(1)
            }
        }
        for (path, key) in keys {
            guard let relationship = id.entity.property(named: path) as? Relationship else { continue }
            let entity = targets[path].flatMap { schema.entity(number: $0) } ?? relationship.destination
            values[path] =
                key > 0
                ? .object(ObjectIDReference(ObjectID(store: id.store, entity: entity, reference: key))) : .null
        }
        return StoredChange(change, values, lost: lost)
    }
}

extension Statement {
    /// Reads a column as `storedValue` does, but without the mark of a value that may be in a backing file.
    ///
    /// - Returns: nil for a backing file that could not be read.
    fileprivate func oldValue(_ column: Int32, of attribute: Attribute) -> PropertyValue? {
        guard attribute.allowsExternalStorage, !isNull(column) else { return storedValue(column, of: attribute) }
        guard sqlite3_column_type(handle, column) == SQLITE_BLOB, let bytes = blob(column),
            bytes.first == ExternalFile.inlineMark
        else { return nil }
        return .bytes(Bytes(Array(bytes.dropFirst())))
    }
}
