import CSQLite
import CorestoneModel
import CorestoneValues

/// The tables, columns and entities that a model has and a file lacks, if version hashes are ignored.
///
/// They are added to a file that is opened for writing. For reading, temporary views and empty tables of the connection
/// replace them.
struct ModelGaps {
    /// A missing table or column.
    enum Gap {
        case table(TableSchema)
        case column(TableSchema, ColumnSchema)
        case join(JoinTable)
        case joinColumn(JoinTable, String)
    }

    /// An entity that the model lacks, and that has rows in a table of the model.
    struct Hidden {
        let name: String
        let table: TableSchema
    }

    private(set) var all: [Gap] = []
    /// Entities without a row in `Z_PRIMARYKEY`; superentities before their subentities.
    var entities: [Entity] = []
    var hidden: [Hidden] = []

    var first: Gap? { all.first }
    var isEmpty: Bool { all.isEmpty && entities.isEmpty && hidden.isEmpty }

    init() {}

    /// Finds the gaps of a file.
    ///
    /// - Parameter schema: The schema that names missing tables and columns as in a new store.
    init(of schema: StoreSchema, in contents: StoreContents) {
        for table in schema.tables {
            if let present = contents.tables[table.name] {
                all += table.columns.filter { present[$0.name] == nil }.map { .column(table, $0) }
            } else {
                all.append(.table(table))
            }
        }
        for join in schema.joins {
            guard let present = contents.tables[join.name] else {
                all.append(.join(join))
                continue
            }
            let names = [join.namingColumn, join.otherColumn].flatMap { [$0.name] + ($0.orderName.map { [$0] } ?? []) }
            all += names.filter { present[$0] == nil }.map { .joinColumn(join, $0) }
        }
    }

    /// The reason why the store is read-only, as a clause for a message; nil if it is not. A row of an entity that the
    /// model lacks cannot become an object, and references to that row could not be preserved.
    var readOnlyReason: String? {
        hidden.first.map {
            "it has objects of \($0.name), an entity in the tree of \($0.table.root.name) that is not in the "
                + "model; migrate the store with CST_STORE_MIGRATE (migrate, corestone migrate), or add \($0.name) to "
                + "the model"
        }
    }
}

// MARK: - Changes of the file

extension ModelGaps {
    /// The statements that create the tables and columns.
    private var statements: [String] {
        all.map { gap in
            switch gap {
            case .table(let table): table.creationStatement
            case .column(let table, let column):
                "ALTER TABLE \(table.name) ADD COLUMN \(column.name) \(column.declaredType)"
            case .join(let join): join.creationStatement
            case .joinColumn(let join, let column): "ALTER TABLE \(join.name) ADD COLUMN \(column) INTEGER"
            }
        }
    }

    /// Creates missing tables and columns, computes new derived attributes, and creates indexes and triggers.
    ///
    /// Must be called in a transaction.
    func fill(_ connection: Connection, _ schema: StoreSchema, _ purpose: String) throws {
        for statement in statements { try connection.execute(statement, purpose, cocoaCode: .persistentStoreOpen) }
        try connection.number(entities, schema, purpose)
        try connection.setParents(schema, purpose)
        let derived = schema.derivedAttributes.filter { derived in
            all.contains { gap in
                if case .column(_, let column) = gap { column.property === derived.attribute } else { false }
            }
        }
        for statement in derived.compactMap(\.fillingStatement) {
            try connection.execute(statement, purpose, cocoaCode: .persistentStoreOpen)
        }
        let drift = try SchemaDrift(schema, connection)
        for defect in drift.all + drift.missingSpeedIndexes { try make(defect, connection, purpose) }
    }

    private func make(_ defect: SchemaDefect, _ connection: Connection, _ purpose: String) throws {
        do {
            for statement in defect.statements {
                try connection.execute(statement, purpose, cocoaCode: .persistentStoreOpen)
            }
        } catch let error as CoreError where error.sqliteCode & 0xff == SQLITE_CONSTRAINT {
            let keys = defect.keys.isEmpty ? [defect.key ?? ""] : defect.keys
            let names = keys.map { "\(defect.entity ?? "").\($0)" }.joined(separator: ", ")
            let (subject, found) =
                keys.count == 1 ? (names, "the same value") : ("the combination of \(names)", "the same values")
            throw CoreError(
                .modelMismatch, code: .persistentStoreIncompatibleVersionHash,
                "cannot \(purpose): \(subject) must be unique, but several objects have \(found); change "
                    + "the values with the store's own model, or open the store with CST_STORE_READ_ONLY (read_only)",
                entity: defect.entity, key: defect.key,
                sqliteCode: error.sqliteCode, file: connection.path)
        }
    }
}

// MARK: - Temporary views and tables

extension ModelGaps {
    /// Creates temporary views and tables for missing parts of the file, which is not changed.
    ///
    /// With them, statements read nulls in missing columns, and no rows in missing tables and of hidden entities.
    func createSubstitutes(_ connection: Connection, _ schema: StoreSchema) throws {
        let purpose = "read \(connection.path) with another model"
        for statement in substituteStatements(schema) {
            try connection.execute(statement, purpose, cocoaCode: .persistentStoreOpen)
        }
    }

    private func substituteStatements(_ schema: StoreSchema) -> [String] {
        var columns: [String: [String]] = [:]
        var tables: [String] = []
        for gap in all {
            switch gap {
            case .table(let table): tables.append(table.creationStatement)
            case .join(let join): tables.append(join.creationStatement)
            case .column(let table, let column): columns[table.name, default: []].append(column.name)
            case .joinColumn(let join, let column): columns[join.name, default: []].append(column)
            }
        }
        for hidden in hidden { columns[hidden.table.name, default: []] += [] }
        let views = columns.sorted { byteOrder($0.key, $1.key) }.map { table, missing in
            let nulls = missing.map { ", NULL AS \($0)" }.joined()
            return "CREATE TEMP VIEW \(table) AS SELECT *\(nulls) FROM main.\(table)\(knownRows(table, schema))"
        }
        return tables.map { "CREATE TEMP TABLE\($0.dropFirst("CREATE TABLE".count))" } + views
    }

    private func knownRows(_ table: String, _ schema: StoreSchema) -> String {
        guard let hidden = hidden.first(where: { $0.table.name == table }) else { return "" }
        let numbers = hidden.table.entities.map { "\(schema.number(of: $0))" }.joined(separator: ", ")
        return " WHERE Z_ENT IN (\(numbers))"
    }
}
