import CSQLite
import CorestoneModel
import CorestoneValues

/// What a model has and a file lacks, when versions are ignored. Opened for writing, the file gets it; opened for reading,
/// views and empty tables of the connection stand for it.
struct ModelGaps {
    /// A table or a column that is missing.
    enum Gap {
        case table(TableSchema)
        case column(TableSchema, ColumnSchema)
        case join(JoinTable)
        case joinColumn(JoinTable, String)
    }

    /// An entity that the model lacks, and that has rows in the table of one that it has.
    struct Hidden {
        let name: String
        let table: TableSchema
    }

    private(set) var all: [Gap] = []
    /// Without a number in `Z_PRIMARYKEY`; parents before their heirs.
    var entities: [Entity] = []
    var hidden: [Hidden] = []

    var first: Gap? { all.first }
    var isEmpty: Bool { all.isEmpty && entities.isEmpty && hidden.isEmpty }

    init() {}

    /// - Parameter schema: names what is missing as a fresh store does.
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

    /// Why nothing may be saved, as the end of a sentence: a row of an entity that the model lacks would be no object, and what
    /// refers to it could not be kept.
    var readOnlyReason: String? {
        hidden.first.map {
            "it has objects of \($0.name), an entity in the tree of \($0.table.root.name) that is not in the model; migrate the store, "
                + "or add \($0.name) to the model"
        }
    }
}

// MARK: - Into the file

extension ModelGaps {
    /// What makes the tables and columns.
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

    /// Makes what is missing, computes derived attributes that are new, and makes indexes and triggers. Within a transaction.
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
        let promises = try LostPromises(schema, connection)
        for promise in promises.all + promises.slowness { try make(promise, connection, purpose) }
    }

    private func make(_ promise: LostPromise, _ connection: Connection, _ purpose: String) throws {
        do {
            for statement in promise.statements {
                try connection.execute(statement, purpose, cocoaCode: .persistentStoreOpen)
            }
        } catch let error as CoreError where error.sqliteCode & 0xff == SQLITE_CONSTRAINT {
            let keys = promise.keys.isEmpty ? [promise.key ?? ""] : promise.keys
            let names = keys.map { "\(promise.entity ?? "").\($0)" }.joined(separator: ", ")
            let (subject, found) =
                keys.count == 1 ? (names, "the same value") : ("the combination of \(names)", "the same values")
            throw CoreError(
                .modelMismatch, code: .persistentStoreIncompatibleVersionHash,
                "cannot \(purpose): \(subject) must be unique, but several objects have \(found); change them with "
                    + "the store's own model, or open the store read-only", entity: promise.entity, key: promise.key,
                sqliteCode: error.sqliteCode, file: connection.path)
        }
    }
}

// MARK: - Beside the file

extension ModelGaps {
    /// Has statements of the connection find what is missing: columns of null, tables without rows, and no row of an entity that
    /// the model lacks. The file stays as it is.
    func standIn(_ connection: Connection, _ schema: StoreSchema) throws {
        let purpose = "read \(connection.path) with another model"
        for statement in standIns(schema) {
            try connection.execute(statement, purpose, cocoaCode: .persistentStoreOpen)
        }
    }

    private func standIns(_ schema: StoreSchema) -> [String] {
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
