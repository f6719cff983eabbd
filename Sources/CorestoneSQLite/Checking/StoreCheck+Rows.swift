import CorestoneModel

extension StoreCheck {
    /// Every row is of an entity of its table, and has a version.
    mutating func checkRows() throws {
        var rows = 0
        for table in schema.tables where contents.tables[table.name] != nil {
            rows += try count("SELECT count(*) FROM \(table.name)")
            let numbers = table.entities.filter { !$0.isAbstract }.map { String(schema.number(of: $0)) }
            let check = self
            try report(
                .row,
                "SELECT Z_PK, Z_ENT FROM \(table.name) WHERE Z_ENT IS NULL OR Z_ENT NOT IN (\(numbers.joined(separator: ", ")))",
                entity: table.root.name
            ) { row in
                let number = row.isNull(1) ? "none" : String(row.integer(1))
                return (
                    "\(table.name) has a row \(row.integer(0)) of entity number \(number), which is none of its entities",
                    check.uri(table, number: row.integer(1), primaryKey: row.integer(0))
                )
            }
            guard table.hasVersions else {
                findings.add(
                    .row, "\(table.name) has no column Z_OPT, in which \(table.root.name) would have its versions",
                    entity: table.root.name)
                continue
            }
            try report(
                .row, "SELECT Z_PK, Z_ENT, Z_OPT FROM \(table.name) WHERE Z_OPT IS NULL OR Z_OPT < 1",
                entity: table.root.name
            ) { row in
                let uri = check.uri(table, number: row.integer(1), primaryKey: row.integer(0))
                let version = row.isNull(2) ? "none" : String(row.integer(2))
                return ("\(uri) has the version (Z_OPT) \(version); 1 is the first", uri)
            }
        }
        findings.examined(rows, "objects")
    }
}
