import CorestoneModel
import CorestoneValues

/// The migration of the table of an entity tree from the former to the new model.
///
/// It follows Apple's framework since version 977. Additions and renames change the table in place. For other changes,
/// such as the removal of a column, the table is recreated with the column order of a new store. If the migration
/// defers the removal of columns, it does not recreate the table for them.
struct TableMigration {
    let mapping: ModelMapping
    let former: StoreSchema
    let wanted: StoreSchema
    let table: TableSchema
    /// The former table; nil for a new table.
    let formerTable: TableSchema?
    /// The source of each column of the new table.
    let sources: [ColumnSource]
    /// The columns that another program added to the former table, with their declared types.
    let foreignColumns: [(name: String, type: String)]
    let isRebuilt: Bool
    /// The columns that are removed later, with their temporary names; empty unless the migration defers their removal.
    let leftovers: [(former: String, name: String)]

    /// Plans the migration of a table.
    ///
    /// - Parameters:
    ///   - stored: The columns of every table of the file.
    ///   - defersCleanup: Whether removed columns are kept for later, so that the table need not be recreated for them.
    init(
        _ table: TableSchema, mapping: ModelMapping, former: StoreSchema, wanted: StoreSchema, stored: StoreTables,
        defersCleanup: Bool
    ) {
        (self.table, self.mapping, self.former, self.wanted) = (table, mapping, former, wanted)
        guard let root = mapping.sourceRoot(ofTree: table.root) else {
            formerTable = nil
            sources = table.columns.map { _ in .new }
            foreignColumns = []
            isRebuilt = false
            leftovers = []
            return
        }
        let formerTable = former.table(of: root)
        self.formerTable = formerTable
        sources = ColumnSources(
            mapping: mapping, former: former, wanted: wanted, formerTable: formerTable, table: table
        ).all()
        let known = Set(formerTable.columns.map(\.name) + ["Z_PK", "Z_ENT", "Z_OPT"])
        let present = stored[formerTable.name] ?? [:]
        foreignColumns = present.filter { !known.contains($0.key) && !Leftover.isName($0.key) }
            .sorted { byteOrder($0.key, $1.key) }.map { ($0.key, $0.value) }
        let kept = Set(
            sources.compactMap { source -> String? in
                if case .column(let name) = source { return name }
                return nil
            })
        let gone = formerTable.columns.map(\.name).filter { !kept.contains($0) }
        let isRenamed = !TableMigration.mustRebuild(sources, formerTable, table, mapping)
        isRebuilt = !isRenamed || !gone.isEmpty && !defersCleanup
        leftovers = isRebuilt ? [] : Leftover.names(for: gone, besides: present.keys)
    }

    /// Whether the table must be recreated, because changing it in place cannot produce the preserved columns.
    private static func mustRebuild(
        _ sources: [ColumnSource], _ formerTable: TableSchema, _ table: TableSchema, _ mapping: ModelMapping
    ) -> Bool {
        var kept: Set<String> = []
        for (source, column) in zip(sources, table.columns) {
            switch source {
            case .column(let name):
                // Renaming cannot split a column into two, nor change its declared type.
                guard kept.insert(name).inserted,
                    formerTable.columns.first(where: { $0.name == name })?.declaredType == column.declaredType
                else { return true }
            case .expressions: return true
            case .links, .new: continue
            }
        }
        // The rows of the table may be divided among several tables.
        return mapping.destinationRoots(ofTree: formerTable.root).count > 1
    }

    /// The former and new numbers of the entities whose rows are in the new table.
    var numbers: [(former: Int64, wanted: Int64)] {
        table.entities.compactMap { entity in
            mapping.source(of: entity).map { (former.number(of: $0), wanted.number(of: entity)) }
        }
    }

    private var formerNumbers: [Int64] { numbers.map(\.former) }
    private var keepsNumbers: Bool { numbers.allSatisfy { $0.former == $0.wanted } }

    /// Returns the WHERE clause for rows of entities, by their new numbers; empty for all entities of the table.
    func rows(of entities: [Int64]) -> String {
        Set(entities) == Set(numbers.map(\.wanted)) ? "" : " WHERE Z_ENT IN (\(entities.sorted().joinedText))"
    }
}

// MARK: - Structure

extension TableMigration {
    /// Returns the temporary name of a former table while the new one is created.
    static func temporaryName(_ place: Int) -> String { "CST_FORMER_\(place)" }

    /// Returns the statements that create the table, or change the former one. New columns are null.
    ///
    /// - Parameter temporaryName: The temporary name of the former table, if it was renamed.
    func structureStatements(temporaryName: String?) -> [String] {
        guard let formerTable else { return [table.creationStatement] }
        let current = temporaryName ?? formerTable.name
        if isRebuilt { return rebuilding(from: current) }
        var statements: [String] = []
        if current != table.name {
            statements.append("ALTER TABLE \(current.asIdentifier) RENAME TO \(table.name.asIdentifier)")
        }
        // Leftover columns are renamed first, because other columns may be renamed to their former names.
        statements += leftovers.map { "ALTER TABLE \(table.name) RENAME COLUMN \($0.former) TO \($0.name)" }
        return statements + renames() + additions()
    }

    private func rebuilding(from current: String) -> [String] {
        var targets = ["Z_PK", "Z_ENT", "Z_OPT"]
        var values = ["Z_PK", numberExpression("Z_ENT", numbers), "Z_OPT"]
        for (column, source) in zip(table.columns, sources) {
            guard let value = value(of: column, source) else { continue }
            targets.append(column.name)
            values.append(value)
        }
        for column in foreignColumns {
            targets.append(column.name.asIdentifier)
            values.append(column.name.asIdentifier)
        }
        let additions = foreignColumns.map {
            "ALTER TABLE \(table.name) ADD COLUMN \($0.name.asIdentifier) \($0.type)"
        }
        let insertion =
            "INSERT INTO \(table.name) (\(targets.joined(separator: ", "))) SELECT \(values.joined(separator: ", ")) "
            + "FROM \(current.asIdentifier) WHERE Z_ENT IN (\(formerNumbers.joinedText)) ORDER BY Z_PK"
        return [table.creationStatement] + additions + [insertion]
    }

    /// Returns the SQL expression for the value of a column, or nil for a column that is null at first.
    private func value(of column: ColumnSchema, _ source: ColumnSource) -> String? {
        switch source {
        case .new, .links: return nil
        case .column(let name): return column.role == .targetEntity ? numberExpression(name, allNumbers) : name
        case .expressions(let parts):
            let cases = parts.map { numbers, text in
                let value = column.role == .targetEntity && isColumn(text) ? numberExpression(text, allNumbers) : text
                return "WHEN Z_ENT IN (\(numbers.sorted().joinedText)) THEN \(value)"
            }
            return "CASE \(cases.joined(separator: " ")) END"
        }
    }

    private func isColumn(_ text: String) -> Bool { formerTable?.columns.contains { $0.name == text } == true }

    /// The former and new numbers of all entities.
    private var allNumbers: [(former: Int64, wanted: Int64)] {
        mapping.entities.compactMap { pair in
            guard let source = pair.source, let destination = pair.destination else { return nil }
            return (former.number(of: source), wanted.number(of: destination))
        }
    }

    /// Returns the SQL expression that renumbers a column with entity numbers.
    ///
    /// It does not contain numbers of removed entities, whose rows are deleted.
    private func numberExpression(_ column: String, _ numbers: [(former: Int64, wanted: Int64)]) -> String {
        if numbers.allSatisfy({ $0.former == $0.wanted }) { return column }
        let cases = numbers.map { "WHEN \($0.former) THEN \($0.wanted)" }.joined(separator: " ")
        return "CASE \(column) \(cases) END"
    }

    /// Returns the statements that rename columns.
    ///
    /// A column is renamed after the column that has its new name. If such columns form a cycle, one of them is first
    /// renamed to an unused name.
    private func renames() -> [String] {
        var pending: [(from: String, to: String)] = []
        for (column, source) in zip(table.columns, sources) {
            if case .column(let name) = source, name != column.name { pending.append((name, column.name)) }
        }
        var statements: [String] = []
        func rename(_ from: String, _ to: String) {
            statements.append("ALTER TABLE \(table.name) RENAME COLUMN \(from) TO \(to)")
        }
        var place = 0
        while !pending.isEmpty {
            if let free = pending.firstIndex(where: { one in !pending.contains { $0.from == one.to } }) {
                let (from, to) = pending.remove(at: free)
                rename(from, to)
            } else {
                rename(pending[0].from, "CST_RENAMED_\(place)")
                pending[0].from = "CST_RENAMED_\(place)"
                place += 1
            }
        }
        return statements
    }

    private func additions() -> [String] {
        zip(table.columns, sources).compactMap { column, source in
            switch source {
            case .new, .links: "ALTER TABLE \(table.name) ADD COLUMN \(column.name) \(column.declaredType)"
            case .column, .expressions: nil
            }
        }
    }
}

// MARK: - Values

extension TableMigration {
    /// The statements that assign new entity numbers to the rows.
    ///
    /// Empty for a new table and for a rebuilt table, which already has the new numbers.
    var numberStatements: [String] {
        guard formerTable != nil, !isRebuilt else { return [] }
        var settings: [String] = []
        var touched: [String] = []
        if !keepsNumbers { settings.append("Z_ENT = \(numberExpression("Z_ENT", numbers))") }
        for (column, source) in zip(table.columns, sources) where column.role == .targetEntity {
            guard case .column = source else { continue }
            let changed = allNumbers(of: column).filter { $0.former != $0.wanted }
            if changed.isEmpty { continue }
            settings.append("\(column.name) = \(numberExpression(column.name, allNumbers))")
            touched.append("\(column.name) IS NOT NULL")
        }
        if settings.isEmpty { return [] }
        let condition = keepsNumbers ? " WHERE \(touched.joined(separator: " OR "))" : ""
        return ["UPDATE \(table.name) SET \(settings.joined(separator: ", "))\(condition)"]
    }

    /// Returns the former and new numbers of the possible targets of a relationship.
    private func allNumbers(of column: ColumnSchema) -> [(former: Int64, wanted: Int64)] {
        guard let relationship = column.property as? Relationship else { return [] }
        let family = relationship.destination.root.withDescendants
        return family.compactMap { entity in
            mapping.source(of: entity).map { (former.number(of: $0), wanted.number(of: entity)) }
        }
    }

    /// The attributes that are set to their default.
    ///
    /// These are new attributes in every row, and attributes that became required in rows where they are null.
    var defaults: [DefaultFill] {
        guard formerTable != nil else { return [] }
        return table.columns.filter { $0.role == .attribute }.flatMap { column -> [DefaultFill] in
            guard let attribute = column.property as? Attribute, attribute.derivation == nil else { return [] }
            var added: [Int64] = []
            var required: [Int64] = []
            for entity in table.entities {
                guard mapping.source(of: entity) != nil, entity.property(named: attribute.path) === attribute else {
                    continue
                }
                guard let pair = mapping.pair(to: entity).pair(to: attribute) else {
                    added.append(wanted.number(of: entity))
                    continue
                }
                if pair.source.isOptional, !attribute.isOptional { required.append(wanted.number(of: entity)) }
            }
            if attribute.defaultValue.isNull { return [] }
            var fills: [DefaultFill] = []
            if !added.isEmpty {
                fills.append(DefaultFill(attribute: attribute, column: column.name, numbers: added, onlyNull: false))
            }
            if !required.isEmpty {
                fills.append(DefaultFill(attribute: attribute, column: column.name, numbers: required, onlyNull: true))
            }
            return fills
        }
    }

    /// Returns the SQL expression over the former table for the future value of a column in the new table.
    ///
    /// - Returns: nil if all rows will have null, and for relationships whose pairs are stored in another form.
    func formerValue(ofColumn name: String) -> String? {
        guard let place = table.columns.firstIndex(where: { $0.name == name }) else { return nil }
        if case .links = sources[place] { return nil }
        let fills = defaults.filter { $0.column == name }
        let value = self.value(of: table.columns[place], sources[place])
        if fills.isEmpty { return value }
        let cases = fills.map { fill in
            let former = numbers.filter { fill.numbers.contains($0.wanted) }.map(\.former)
            let null = fill.onlyNull ? " AND (\(value ?? "NULL")) IS NULL" : ""
            return "WHEN Z_ENT IN (\(former.joinedText))\(null) THEN \(fill.attribute.defaultValue.literal)"
        }
        return "CASE \(cases.joined(separator: " ")) ELSE \(value ?? "NULL") END"
    }

    /// Returns the statement that sets a default. Its parameter is the default in stored form.
    func statement(_ fill: DefaultFill) -> String {
        let rows = self.rows(of: fill.numbers)
        let null = fill.onlyNull ? "\(rows.isEmpty ? " WHERE" : " AND") \(fill.column) IS NULL" : ""
        return "UPDATE \(table.name) SET \(fill.column) = ?\(rows)\(null)"
    }
}

/// The rows that are set to the default of an attribute.
struct DefaultFill {
    let attribute: Attribute
    let column: String
    /// The new numbers of the entities of these rows.
    let numbers: [Int64]
    let onlyNull: Bool
}
