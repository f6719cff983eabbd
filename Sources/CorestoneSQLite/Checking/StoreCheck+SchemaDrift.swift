import CorestoneModel

extension StoreCheck {
    /// Checks that the file has the indexes and triggers that enforce the model, and no other triggers.
    ///
    /// Duplicates are searched only if a unique index is missing; otherwise SQLite's own check has excluded them. The
    /// content of an R-tree index that exists in the required form is compared with the rows.
    mutating func checkSchemaDrift() throws {
        guard let schema = checkedSchema else { return }
        let drift = try SchemaDrift(schema, connection)
        for defect in drift.all where isPresent(defect, in: schema) {
            findings.add(defect.kind, defect.explanation, entity: defect.entity, key: defect.key)
        }
        for index in drift.unenforcedConstraints
        where index.columns.allSatisfy({ contents.tables[index.table]?[$0] != nil }) {
            try checkDuplicates(index, schema)
        }
        for index in schema.spatialIndexes where drift.isIntact(index) && contents.tables[index.table] != nil {
            try checkContent(of: index, schema)
        }
        let foreign = try ForeignTrigger.all(in: connection, schema)
        for trigger in foreign.prefix(StoreReport.limit) {
            findings.add(.trigger, trigger.explanation, entity: trigger.entity)
        }
        if foreign.count > StoreReport.limit {
            let more = foreign.count - StoreReport.limit
            findings.add(
                .trigger, "\(more) more \(more == 1 ? "trigger does" : "triggers do") not belong to Core Data",
                isCut: true)
        }
        // Missing indexes that affect only speed are not reported for a store that does not match its model.
        if misfit != nil { return }
        let slow = drift.missingSpeedIndexes
        for defect in slow.prefix(StoreReport.limit) {
            findings.add(defect.kind, defect.explanation, entity: defect.entity, key: defect.key)
        }
        if slow.count > StoreReport.limit {
            let more = slow.count - StoreReport.limit
            findings.add(.speed, "\(more) more \(more == 1 ? "index is" : "indexes are") missing", isCut: true)
        }
    }

    /// The schema of the model whose indexes and triggers are checked.
    ///
    /// nil for an inferred model, which does not require indexes or triggers.
    ///
    /// A cached model that does not match the tables is used if the file contains all of its entities.
    private var checkedSchema: StoreSchema? {
        if source != .inferred { return schema }
        guard let cached = misfit?.model, cached.isFrozen else { return nil }
        let numbers = cached.entities.compactMap { contents.number(ofEntity: $0.name) }
        guard numbers.count == cached.entities.count else { return nil }
        return StoreSchema(model: cached, numbers: numbers, tables: contents.tables)
    }

    /// Whether the table and the column of a missing index or trigger exist.
    ///
    /// If they do not, another check reports the missing table or column.
    private func isPresent(_ defect: SchemaDefect, in schema: StoreSchema) -> Bool {
        guard let entity = defect.entity.flatMap({ schema.model.entity(named: $0) }) else { return true }
        let table = schema.table(of: entity)
        guard let columns = contents.tables[table.name] else { return false }
        let property = defect.key.flatMap { entity.property(named: $0) }
        return property.flatMap { table.column(of: $0) }.map { columns[$0.name] != nil } ?? true
    }

    private mutating func checkDuplicates(_ index: StoreIndex, _ schema: StoreSchema) throws {
        guard let table = schema.tables.first(where: { $0.name == index.table }) else { return }
        let conditions = index.columns.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
        let columns = index.columns.map { "\($0) COLLATE BINARY" }.joined(separator: ", ")
        let names = index.keys.map { "\"\($0)\"" }.joined(separator: ", ")
        let rule = index.keys.count == 1 ? "which must be unique" : "whose combination must be unique"
        let check = self
        try report(
            .constraint,
            "SELECT d.n, a.Z_PK, a.Z_ENT, b.Z_PK, b.Z_ENT FROM (SELECT count(*) n, min(Z_PK) a, max(Z_PK) b "
                + "FROM \(table.name) WHERE \(conditions) GROUP BY \(columns) HAVING count(*) > 1) d "
                + "JOIN \(table.name) a ON a.Z_PK = d.a JOIN \(table.name) b ON b.Z_PK = d.b",
            entity: index.entity.name, key: index.keys.first
        ) { row in
            let first = check.uri(table, number: row.integer(2), primaryKey: row.integer(1))
            let last = check.uri(table, number: row.integer(4), primaryKey: row.integer(3))
            let others = row.integer(0) > 2 ? ", \(last) and \(row.integer(0) - 2) more" : " and \(last)"
            return ("\(first)\(others) have the same \(names), \(rule)", first)
        }
    }

    /// Checks that every row is in the R-tree, with bounds that include the values of the row.
    private mutating func checkContent(of index: SpatialIndex, _ schema: StoreSchema) throws {
        guard let table = schema.tables.first(where: { $0.name == index.table }) else { return }
        let check = self
        let remedy = "Rebuild the index with: \(index.refillingStatements.joined(separator: "; "))"
        try report(
            .spatial,
            "SELECT t.Z_PK, t.Z_ENT, r.Z_PK IS NULL FROM \(table.name) t LEFT JOIN \(index.name) r ON r.Z_PK = t.Z_PK "
                + "WHERE r.Z_PK IS NULL OR \(index.staleCondition)",
            entity: index.entity.name, key: index.keys.first
        ) { row in
            let uri = check.uri(table, number: row.integer(1), primaryKey: row.integer(0))
            let fault =
                row.integer(2) != 0
                ? "is not in the R-tree index \(index.name)"
                : "has values outside its bounds in the R-tree index \(index.name), so range queries miss the object"
            return ("\(uri) \(fault). \(remedy)", uri)
        }
    }
}
