import CorestoneModel

extension StoreCheck {
    /// Checks that every row has a key, an entity of its table and a version.
    mutating func checkRows() throws {
        var rows = 0
        for table in schema.tables where contents.tables[table.name] != nil {
            rows += try count("SELECT count(*) FROM \(table.name)")
            try checkKeys(of: table)
            let numbers = table.entities.filter { !$0.isAbstract }.map { String(schema.number(of: $0)) }
            let check = self
            try report(
                .row,
                "SELECT Z_PK, Z_ENT FROM \(table.name) WHERE Z_ENT IS NULL OR Z_ENT NOT IN (\(numbers.joined(separator: ", ")))",
                entity: table.root.name
            ) { row in
                (
                    "row \(row.integer(0)) of \(table.name) \(check.entityFault(row, table))",
                    check.uri(table, number: row.integer(1), primaryKey: row.integer(0))
                )
            }
            guard table.hasVersions else {
                findings.add(
                    .row, "\(table.name) does not have the column Z_OPT for the versions of \(table.root.name)",
                    entity: table.root.name)
                continue
            }
            try report(
                .row, "SELECT Z_PK, Z_ENT, Z_OPT FROM \(table.name) WHERE Z_OPT IS NULL OR Z_OPT < 1",
                entity: table.root.name
            ) { row in
                let uri = check.uri(table, number: row.integer(1), primaryKey: row.integer(0))
                let version = row.isNull(2) ? "does not have a version" : "has the version \(row.integer(2))"
                return ("\(uri) \(version) (Z_OPT), but the first version is 1", uri)
            }
        }
        findings.addExamined(rows, "objects")
    }

    /// Returns why the entity number in the second column of a row is wrong, as a clause for a message.
    private func entityFault(_ row: Statement, _ table: TableSchema) -> String {
        if row.isNull(1) { return "does not have an entity number (Z_ENT)" }
        let number = row.integer(1)
        let abstract = table.entities.first { $0.isAbstract && schema.number(of: $0) == number }
        let fault = abstract.map { "is that of the abstract entity \($0.name)" } ?? "does not belong to the table"
        return "has entity number \(number), which \(fault)"
    }

    /// Checks that keys are distinct integers from 1.
    private mutating func checkKeys(of table: TableSchema) throws {
        let isUnkeyed = contents.unkeyedTables.contains(table.name)
        if isUnkeyed {
            findings.add(
                .row, "in the table \(table.name) \(unkeyedTableExplanation(of: table.root))", entity: table.root.name)
        }
        try report(
            .row,
            "SELECT substr(quote(Z_PK), 1, 61) FROM \(table.name) WHERE Z_PK < 1"
                + (isUnkeyed ? " OR typeof(Z_PK) <> 'integer'" : ""), entity: table.root.name
        ) { row in
            let key = row.text(0) ?? "NULL"
            let shown = key.count > 60 ? "\(key.prefix(60))…" : key
            return ("\(table.name) has a row with the key \(shown), but keys are integers from 1", nil)
        }
        guard isUnkeyed else { return }
        try report(
            .row,
            "SELECT Z_PK, count(*) FROM \(table.name) WHERE typeof(Z_PK) = 'integer' GROUP BY Z_PK HAVING count(*) > 1",
            entity: table.root.name
        ) { row in ("\(table.name) has \(row.integer(1)) rows with the key \(row.integer(0))", nil) }
    }
}
