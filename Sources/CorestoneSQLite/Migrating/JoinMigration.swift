import CorestoneModel

/// The migration of a join table from the former to the new model.
struct JoinMigration {
    let join: JoinTable
    /// The former join table; nil for a table that is new or filled from another source.
    let former: JoinTable?
    /// The former and the new names of the columns that are kept.
    private let columns: [(former: String, wanted: String)]
    /// The order columns that the former table lacks.
    private let added: [String]
    let isRebuilt: Bool
    /// The order columns that are removed later, with their temporary names.
    let leftovers: [(former: String, name: String)]

    /// Creates the migration of a table that is new or filled from another source.
    init(filling join: JoinTable) {
        self.join = join
        (former, columns, added, isRebuilt, leftovers) = (nil, [], [], false, [])
    }

    init(
        _ join: JoinTable, mapping: ModelMapping, former schema: StoreSchema, stored: StoreTables, defersCleanup: Bool
    ) {
        self.join = join
        guard let found = JoinMigration.former(join, mapping, schema), found.join.isReflexive == join.isReflexive else {
            (former, columns, added, isRebuilt, leftovers) = (nil, [], [], false, [])
            return
        }
        let old = found.join
        let sides =
            found.isReversed
            ? [(old.otherColumn, join.namingColumn), (old.namingColumn, join.otherColumn)]
            : [(old.namingColumn, join.namingColumn), (old.otherColumn, join.otherColumn)]
        var columns: [(former: String, wanted: String)] = sides.map { ($0.name, $1.name) }
        var added: [String] = []
        var removed: [String] = []
        for (before, after) in sides {
            switch (before.orderName, after.orderName) {
            case (let before?, let after?): columns.append((before, after))
            case (nil, let after?): added.append(after)
            case (let before?, nil): removed.append(before)
            case (nil, nil): break
            }
        }
        (self.former, self.columns, self.added) = (old, columns, added)
        isRebuilt = !removed.isEmpty && !defersCleanup
        leftovers = isRebuilt ? [] : Leftover.names(for: removed, besides: (stored[old.name] ?? [:]).keys)
    }

    /// Returns the former join table with the pairs of the new table, and whether its columns are exchanged.
    ///
    /// - Returns: nil if the pairs are not in exactly one former join table.
    private static func former(
        _ join: JoinTable, _ mapping: ModelMapping, _ schema: StoreSchema
    ) -> (join: JoinTable, isReversed: Bool)? {
        let own = LinkOrigin.sources(of: join.naming, mapping)
        let others = own.isEmpty ? join.other.map { LinkOrigin.sources(of: $0, mapping) } ?? [] : []
        // Pairs from several tables are copied instead.
        guard own.count + others.count == 1, let source = own.first ?? others.first?.inverse, source.isToMany,
            let old = schema.joins.first(where: { $0.naming === source || $0.other === source })
        else { return nil }
        return (old, old.naming !== source)
    }

    /// Returns the statements that create the new table or change the former one.
    ///
    /// - Parameter temporaryName: The temporary name of the former table, if it was renamed.
    func statements(temporaryName: String?) -> [String] {
        guard let former else { return [join.creationStatement] }
        let current = temporaryName ?? former.name
        if isRebuilt {
            let names = columns.map(\.wanted).joined(separator: ", ")
            return [
                join.creationStatement,
                "INSERT INTO \(join.name) (\(names)) SELECT \(columns.map(\.former).joined(separator: ", ")) "
                    + "FROM \(current.asIdentifier)",
            ]
        }
        var statements: [String] = []
        if current != join.name {
            statements.append("ALTER TABLE \(current.asIdentifier) RENAME TO \(join.name.asIdentifier)")
        }
        statements += leftovers.map { "ALTER TABLE \(join.name) RENAME COLUMN \($0.former) TO \($0.name)" }
        return statements + renames() + added.map { "ALTER TABLE \(join.name) ADD COLUMN \($0) INTEGER" }
    }

    private func renames() -> [String] {
        let changed = columns.filter { $0.former != $0.wanted }
        let taken = Set(changed.map(\.former))
        // A column whose new name belongs to another column until then is first renamed to an unused name.
        let direct = changed.filter { !taken.contains($0.wanted) }
        let indirect = changed.filter { taken.contains($0.wanted) }.enumerated()
        func rename(_ from: String, _ to: String) -> String {
            "ALTER TABLE \(join.name) RENAME COLUMN \(from) TO \(to)"
        }
        return indirect.map { rename($1.former, "CST_RENAMED_\($0)") } + direct.map { rename($0.former, $0.wanted) }
            + indirect.map { rename("CST_RENAMED_\($0)", $1.wanted) }
    }
}
