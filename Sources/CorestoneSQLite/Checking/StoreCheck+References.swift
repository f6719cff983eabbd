import CorestoneModel

extension StoreCheck {
    /// Checks that every to-one relationship refers to an existing row of a suitable entity.
    ///
    /// References to the owners of to-many relationships without an inverse are checked in the same way.
    mutating func checkReferences() throws {
        var references = 0
        for table in schema.tables {
            guard let existing = contents.tables[table.name] else { continue }
            for column in table.columns where existing[column.name] != nil {
                guard let relationship = column.property as? Relationship else { continue }
                switch column.role {
                case .toOne:
                    references += try count("SELECT count(\(column.name)) FROM \(table.name) WHERE \(column.name) <> 0")
                    try checkTargets(
                        of: relationship, shownAs: "\"\(relationship.name)\"", column.name, in: table,
                        are: relationship.destination)
                    try checkTargetEntities(of: relationship, column.name, in: table)
                case .owner:
                    references += try count("SELECT count(\(column.name)) FROM \(table.name) WHERE \(column.name) <> 0")
                    let name = "\(relationship.entity.name).\(relationship.name)"
                    try checkTargets(
                        of: relationship, shownAs: name, column.name, in: table, are: relationship.entity)
                case .attribute, .targetEntity, .order: continue
                }
            }
        }
        findings.addExamined(references, "references")
    }

    private mutating func checkTargets(
        of relationship: Relationship, shownAs name: String, _ column: String, in table: TableSchema,
        are wanted: Entity
    ) throws {
        let target = schema.table(of: wanted)
        guard contents.tables[target.name] != nil else { return }
        let numbers = wanted.withDescendants.map { String(schema.number(of: $0)) }.joined(separator: ", ")
        let check = self
        try report(
            .reference,
            "SELECT s.Z_PK, s.Z_ENT, s.\(column), t.Z_PK, t.Z_ENT FROM \(table.name) s LEFT JOIN \(target.name) t "
                + "ON t.Z_PK = s.\(column) WHERE s.\(column) <> 0 AND (t.Z_PK IS NULL OR t.Z_ENT NOT IN (\(numbers)))",
            entity: relationship.entity.name, key: relationship.name
        ) { row in
            let uri = check.uri(table, number: row.integer(1), primaryKey: row.integer(0))
            if row.isNull(3) {
                return (
                    "\(uri) refers by \(name) to row \(row.integer(2)) of \(target.name), which does not exist",
                    uri
                )
            }
            let found = check.uri(target, number: row.integer(4), primaryKey: row.integer(3))
            return ("\(uri) refers by \(name) to \(found), which is not of the entity \(wanted.name)", uri)
        }
    }

    /// Checks the entity number that is stored with a reference if the destination has subentities.
    private mutating func checkTargetEntities(
        of relationship: Relationship, _ column: String, in table: TableSchema
    ) throws {
        guard let number = table.targetEntityColumn(of: relationship)?.name,
            contents.tables[table.name]?[number] != nil
        else { return }
        let target = schema.table(of: relationship.destination)
        let check = self
        try report(
            .reference,
            "SELECT s.Z_PK, s.Z_ENT, s.\(number), t.Z_ENT FROM \(table.name) s JOIN \(target.name) t "
                + "ON t.Z_PK = s.\(column) WHERE s.\(number) IS NOT t.Z_ENT",
            entity: relationship.entity.name, key: relationship.name
        ) { row in
            let uri = check.uri(table, number: row.integer(1), primaryKey: row.integer(0))
            let stored = row.isNull(2) ? "does not store an entity number" : "stores entity number \(row.integer(2))"
            let actual = row.isNull(3) ? "which does not have one" : "whose entity number is \(row.integer(3))"
            return ("\(uri) \(stored) for the target of \"\(relationship.name)\", \(actual)", uri)
        }
    }

    /// Checks that both rows of every pair of a many-to-many relationship exist.
    mutating func checkPairs() throws {
        var pairs = 0
        for join in schema.joins where contents.tables[join.name] != nil {
            pairs += try count("SELECT count(*) FROM \(join.name)")
            for (column, other) in [(join.namingColumn, join.otherColumn), (join.otherColumn, join.namingColumn)] {
                let table = schema.table(of: column.entity)
                guard contents.tables[table.name] != nil, contents.tables[join.name]?[column.name] != nil else {
                    continue
                }
                try report(
                    .pair,
                    "SELECT j.\(column.name), j.\(other.name) FROM \(join.name) j LEFT JOIN \(table.name) t "
                        + "ON t.Z_PK = j.\(column.name) WHERE t.Z_PK IS NULL",
                    entity: join.naming.entity.name, key: join.naming.name
                ) { row in
                    let key = row.isNull(0) ? "null" : String(row.integer(0))
                    return (
                        "\(join.name) pairs row \(row.integer(1)) with row \(key) of \(table.name), which does not exist",
                        nil
                    )
                }
            }
        }
        findings.addExamined(pairs, "pairs of many-to-many relationships")
    }
}
