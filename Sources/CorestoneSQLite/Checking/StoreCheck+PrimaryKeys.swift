import CorestoneModel

extension StoreCheck {
    /// Checks that `Z_PRIMARYKEY` lists every entity with its superentity, and that no key in use is above `Z_MAX`.
    mutating func checkPrimaryKeys() throws {
        let numbers = Dictionary(contents.entities.map { ($0.name, $0) }) { first, _ in first }
        for entity in schema.model.entities {
            guard let stored = numbers[entity.name] else {
                findings.add(
                    .primaryKey, "Z_PRIMARYKEY does not list the entity \(entity.name)", entity: entity.name)
                continue
            }
            let parent = entity.parent.map { schema.number(of: $0) } ?? 0
            if stored.parent != parent {
                findings.add(
                    .primaryKey,
                    "Z_PRIMARYKEY lists entity number \(stored.parent) as the superentity of \(entity.name), not \(parent)",
                    entity: entity.name)
            }
        }
        for table in schema.tables where contents.tables[table.name] != nil {
            try checkHighestKey(of: table.name, number: schema.number(of: table.root), entity: table.root.name)
        }
        findings.addExamined(schema.tables.count, "entity tables")
    }

    mutating func checkHighestKey(of table: String, number: Int64, entity: String?) throws {
        let given = try count("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = \(number)")
        let highest = try count("SELECT max(Z_PK) FROM \(table)")
        if highest > given {
            findings.add(
                .primaryKey,
                "\(table) has a row with the key \(highest), but the highest key in Z_PRIMARYKEY (Z_MAX) is \(given)",
                entity: entity)
        }
    }
}
