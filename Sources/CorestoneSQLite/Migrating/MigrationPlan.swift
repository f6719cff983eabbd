import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The steps of an in-place migration of an SQLite store to another version of its model.
///
/// Creating a plan does not change the store.
struct MigrationPlan {
    let mapping: ModelMapping
    let former: StoreSchema
    let wanted: StoreSchema
    let tables: [TableMigration]
    let joins: [JoinMigration]
    /// The relationships whose pairs the new model stores in another form.
    let links: [LinkMigration]
    /// The columns and tables that are removed later, in that order; empty unless the migration defers their removal.
    let leftovers: [Leftover]

    /// Creates the plan.
    ///
    /// - Parameters:
    ///   - former: The current schema of the file, as the store's own model describes it.
    ///   - stored: The columns of every table of the file.
    ///   - defersCleanup: Whether unneeded columns and tables are kept for a later removal.
    init(_ mapping: ModelMapping, former: StoreSchema, stored: StoreTables, defersCleanup: Bool = false) {
        self.mapping = mapping
        self.former = former
        // A migrated store gets the same entity numbers and table names as a store that is created with the new model.
        let wanted = StoreSchema(model: mapping.destination)
        self.wanted = wanted
        tables = wanted.tables.map {
            TableMigration(
                $0, mapping: mapping, former: former, wanted: wanted, stored: stored, defersCleanup: defersCleanup)
        }
        let joins = wanted.joins.map {
            JoinMigration($0, mapping: mapping, former: former, stored: stored, defersCleanup: defersCleanup)
        }
        let claims = Dictionary(grouping: joins.compactMap { $0.former?.name }) { $0 }
        // A former join table can be renamed to only one table. If it is the source of several tables, its pairs are
        // copied into each of them.
        self.joins = joins.map { join in
            join.former.map { claims[$0.name]?.count ?? 0 > 1 } == true ? JoinMigration(filling: join.join) : join
        }
        links = MigrationPlan.links(mapping, former, tables, self.joins)
        var leftovers: [Leftover] = []
        for table in tables {
            leftovers += table.leftovers.map { Leftover(table: table.table.name, column: $0.name, former: $0.former) }
        }
        for join in self.joins {
            leftovers += join.leftovers.map { Leftover(table: join.join.name, column: $0.name, former: $0.former) }
        }
        if defersCleanup {
            let removed = MigrationPlan.removedTables(former, tables, self.joins)
            leftovers += Leftover.names(for: removed, besides: stored.keys).map {
                Leftover(table: $0.name, column: nil, former: $0.former)
            }
        }
        self.leftovers = leftovers
    }

    private static func links(
        _ mapping: ModelMapping, _ former: StoreSchema, _ tables: [TableMigration], _ joins: [JoinMigration]
    ) -> [LinkMigration] {
        var relationships: [Relationship] = []
        for table in tables {
            for (column, source) in zip(table.table.columns, table.sources) {
                guard case .links = source, column.role == .toOne || column.role == .owner,
                    let relationship = column.property as? Relationship
                else { continue }
                relationships.append(relationship)
            }
        }
        relationships += joins.filter { $0.former == nil }.map(\.join.naming)
        return relationships.compactMap { relationship in
            LinkOrigin(of: relationship, mapping: mapping, former: former).map { (relationship, $0) }
        }.enumerated().map { LinkMigration(relationship: $1.0, origin: $1.1, name: "CST_LINKS_\($0)") }
    }
}

// MARK: - Statements

extension MigrationPlan {
    /// The temporary names of former tables, which are renamed before new tables are created.
    private var temporaryNames: [String: String] {
        let targets = Set(wanted.tables.map(\.name) + wanted.joins.map(\.name))
        var names: [String: String] = [:]
        func assignTemporaryName(to name: String) {
            if names[name] == nil { names[name] = TableMigration.temporaryName(names.count) }
        }
        for table in tables {
            guard let former = table.formerTable else { continue }
            if table.isRebuilt || former.name != table.table.name && targets.contains(former.name) {
                assignTemporaryName(to: former.name)
            }
        }
        for join in joins {
            guard let former = join.former else { continue }
            if join.isRebuilt || former.name != join.join.name && targets.contains(former.name) {
                assignTemporaryName(to: former.name)
            }
        }
        // Tables to be removed must not block the names of new tables.
        for leftover in leftovers where leftover.column == nil { names[leftover.former] = leftover.table }
        for name in removedTables where targets.contains(name) { assignTemporaryName(to: name) }
        return names
    }

    /// Whether preserved values or pairs may change, so that derived attributes must be computed.
    var changesValues: Bool {
        tables.contains { $0.isRebuilt || !$0.defaults.isEmpty } || joins.contains { $0.former == nil || $0.isRebuilt }
            || !removalStatements.isEmpty || !linkStatements.isEmpty
    }

    /// The former tables that are not the source of a new table.
    private var removedTables: [String] { MigrationPlan.removedTables(former, tables, joins) }

    private static func removedTables(
        _ former: StoreSchema, _ tables: [TableMigration], _ joins: [JoinMigration]
    ) -> [String] {
        let used = Set(tables.compactMap { $0.formerTable?.name } + joins.compactMap { $0.former?.name })
        return (former.tables.map(\.name) + former.joins.map(\.name)).filter { !used.contains($0) }
    }

    /// The statements that copy the pairs of relationships that are stored in another form.
    var linkCopyStatements: [String] { links.flatMap(\.copyStatements) }

    /// The statements that delete rows of entities that the new model lacks, from tables that are not rebuilt.
    var removalStatements: [String] {
        tables.compactMap { table in
            guard let formerTable = table.formerTable, !table.isRebuilt else { return nil }
            let gone = formerTable.entities.filter { mapping.destination(of: $0) == nil }.map { former.number(of: $0) }
            return gone.isEmpty ? nil : "DELETE FROM \(formerTable.name) WHERE Z_ENT IN (\(gone.sorted().joinedText))"
        }
    }

    /// The statements that create, rename and change tables, and drop tables that are no longer needed.
    var structureStatements: [String] {
        let temporaryNames = temporaryNames
        var statements = temporaryNames.sorted { byteOrder($0.value, $1.value) }.map {
            "ALTER TABLE \($0.key.asIdentifier) RENAME TO \($0.value)"
        }
        for table in tables {
            statements += table.structureStatements(
                temporaryName: table.formerTable.flatMap { temporaryNames[$0.name] })
        }
        for join in joins {
            statements += join.statements(temporaryName: join.former.flatMap { temporaryNames[$0.name] })
        }
        let renamed = Set(
            tables.filter { !$0.isRebuilt }.compactMap { $0.formerTable?.name }
                + joins.filter { !$0.isRebuilt }.compactMap { $0.former?.name })
        let kept = Set(leftovers.filter { $0.column == nil }.map(\.table))
        let gone =
            temporaryNames.filter { !renamed.contains($0.key) && !kept.contains($0.value) }.map(\.value)
            + removedTables.filter { temporaryNames[$0] == nil }
        return statements + gone.sorted(by: byteOrder).map { "DROP TABLE \($0.asIdentifier)" }
    }

    /// The statements that assign new entity numbers to rows. They run before statements that select rows by new
    /// numbers.
    var numberStatements: [String] { tables.flatMap(\.numberStatements) }

    /// The statements that fill relationships whose pairs were stored in another form, and remove dangling references.
    var linkStatements: [String] {
        links.flatMap { link in
            let join = joins.first { $0.join.naming === link.relationship }
            return (join.map { [link.joinStatement($0.join)] } ?? link.columnStatements(wanted)) + [link.dropStatement]
        } + danglingStatements
    }

    /// The statements that remove references to objects that no longer exist, or that are not of the required entity.
    private var danglingStatements: [String] {
        tables.map(\.table).flatMap(danglingColumns) + wanted.joins.flatMap(danglingPairs)
    }

    private func danglingColumns(_ table: TableSchema) -> [String] {
        table.columns.compactMap { column in
            guard column.role == .toOne || column.role == .owner, let relationship = column.property as? Relationship
            else { return nil }
            let isOwner = column.role == .owner
            let target = isOwner ? relationship.entity : relationship.destination
            var conditions = [leavingMembers(column, table)].compactMap { $0 }
            if mayDangle(formerSide(relationship, ofOwners: isOwner), target) {
                conditions.append(missing(column.name, target))
            }
            if conditions.isEmpty { return nil }
            let others = [table.targetEntityColumn(of: relationship)?.name, table.orderColumn(of: relationship)?.name]
            let settings = ([column.name] + others.compactMap { $0 }).map { "\($0) = NULL" }.joined(separator: ", ")
            return "UPDATE \(table.name) SET \(settings) WHERE \(conditions.joined(separator: " OR "))"
        }
    }

    /// Returns the condition for members that are neither of the new destination nor of its subentities.
    private func leavingMembers(_ column: ColumnSchema, _ table: TableSchema) -> String? {
        guard column.role == .owner, let relationship = column.property as? Relationship,
            mayDangle(formerSide(relationship, ofOwners: false), relationship.destination)
        else { return nil }
        let numbers = relationship.destination.withDescendants.map { wanted.number(of: $0) }
        return "\(column.name) IS NOT NULL AND Z_ENT NOT IN (\(numbers.joinedText))"
    }

    private func danglingPairs(_ join: JoinTable) -> [String] {
        [(join.namingColumn, true), (join.otherColumn, false)].compactMap { column, isOwner in
            guard mayDangle(formerSide(join.naming, ofOwners: isOwner), column.entity) else { return nil }
            return "DELETE FROM \(join.name) WHERE \(missing(column.name, column.entity))"
        }
    }

    /// Returns the condition for values that are not primary keys of objects of an entity.
    private func missing(_ column: String, _ target: Entity) -> String {
        let table = wanted.table(of: target)
        let family = target.withDescendants
        let numbers =
            family.count == table.entities.count
            ? "" : " WHERE Z_ENT IN (\(family.map { wanted.number(of: $0) }.joinedText))"
        return "\(column) IS NOT NULL AND \(column) NOT IN (SELECT Z_PK FROM \(table.name)\(numbers))"
    }

    /// Returns the former entities of the owners or of the members of a relationship.
    private func formerSide(_ relationship: Relationship, ofOwners isOwner: Bool) -> [Entity] {
        let own = LinkOrigin.sources(of: relationship, mapping)
        let sides = own.map { isOwner ? $0.entity : $0.destination }
        let inverse = own.isEmpty ? relationship.inverse.map { LinkOrigin.sources(of: $0, mapping) } ?? [] : []
        return (sides + inverse.map { isOwner ? $0.destination : $0.entity }).flatMap(\.withDescendants)
    }

    /// Whether former values may refer to objects that are no longer valid targets.
    ///
    /// Such objects were removed, are in another table, or have another entity.
    private func mayDangle(_ former: [Entity], _ target: Entity) -> Bool {
        former.contains { entity in mapping.destination(of: entity).map { !$0.isKind(of: target) } ?? true }
    }
}
