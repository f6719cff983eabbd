import CorestoneModel

/// The table of a many-to-many relationship and its inverse, or of one that is its own inverse.
final class JoinTable: @unchecked Sendable {
    /// A column holds primary keys of the rows of one side.
    struct Column {
        let name: String
        /// The entity whose rows the column points to.
        let entity: Entity
        /// The column of sort keys of these rows within the other side, present when that side's relationship is
        /// ordered.
        let orderName: String?
    }

    let name: String
    /// The relationship that gave the table its name.
    let naming: Relationship
    /// Its inverse; nil when it is its own.
    let other: Relationship?
    /// Points to the rows that have the naming relationship.
    let namingColumn: Column
    /// Points to its members.
    let otherColumn: Column
    /// The entity table behind which the join table is created.
    let host: TableSchema

    var isReflexive: Bool { other == nil }

    init(
        name: String, naming: Relationship, other: Relationship?, namingColumn: Column, otherColumn: Column,
        host: TableSchema
    ) {
        self.name = name
        self.naming = naming
        self.other = other
        self.namingColumn = namingColumn
        self.otherColumn = otherColumn
        self.host = host
    }

    /// In the order of the CREATE statement. For a reflexive table the members come first.
    private var orderedColumns: [Column] {
        isReflexive ? [otherColumn, namingColumn] : [namingColumn, otherColumn]
    }

    var creationStatement: String {
        let columns = orderedColumns
        let keys = columns.map(\.name)
        let orders = columns.compactMap(\.orderName)
        let definitions = (keys + orders).map { "\($0) INTEGER" }.joined(separator: ", ")
        return "CREATE TABLE \(name) ( \(definitions), PRIMARY KEY (\(keys.joined(separator: ", "))) )"
    }

    var indexStatement: String {
        let keys = orderedColumns.map(\.name)
        return "CREATE INDEX \(name)_\(keys[1])_INDEX ON \(name) (\(keys[1]), \(keys[0]))"
    }
}

extension JoinTable {
    /// All join tables of a model, those of one host in order of the naming relationship.
    ///
    /// Entities are visited by name, each with its inherited relationships; the first one seen names the table, except
    /// that of two relationships of one entity the later name does (store-format.md 1.3).
    /// Of these two, the other name is taken when `existing` has it alone: older frameworks vary.
    static func all(of schema: StoreSchema, existing: Set<String>, tableNames: inout UniqueNames) -> [JoinTable] {
        var seen: Set<UInt32> = []
        var columnNames = UniqueNames()
        var joins: [JoinTable] = []
        for entity in schema.model.entities.sorted(by: { byteOrder($0.name, $1.name) }) {
            for relationship in entity.relationships.sorted(by: { byteOrder($0.name, $1.name) }) {
                guard relationship.isStoredToMany, let inverse = relationship.inverse, inverse.isToMany,
                    !inverse.isTransient,
                    !seen.contains(relationship.key)
                else { continue }
                seen.formUnion([relationship.key, inverse.key])
                var sides = [relationship, inverse]
                if inverse.entity === relationship.entity, byteOrder(relationship.name, inverse.name) {
                    sides.reverse()
                }
                let names = sides.map { "Z_\(schema.number(of: $0.entity))\($0.name.uppercased())" }
                let naming = !existing.contains(names[0]) && existing.contains(names[1]) ? sides[1] : sides[0]
                joins.append(
                    make(naming: naming, schema: schema, tableNames: &tableNames, columnNames: &columnNames))
            }
        }
        return joins
    }

    private static func make(
        naming: Relationship, schema: StoreSchema, tableNames: inout UniqueNames, columnNames: inout UniqueNames
    ) -> JoinTable {
        let number = schema.number(of: naming.entity)
        let upper = naming.name.uppercased()
        let table = tableNames.take("Z_\(number)\(upper)")
        let host = schema.table(of: naming.entity)
        guard let other = naming.inverse, other !== naming else {
            let members = columnNames.take("\(number)\(upper)")
            return JoinTable(
                name: table, naming: naming, other: nil,
                namingColumn: Column(name: "REFLEXIVE", entity: naming.entity, orderName: nil),
                otherColumn: Column(
                    name: "Z_" + members, entity: naming.destination,
                    orderName: naming.isOrdered ? "Z_FOK_" + members : nil),
                host: host)
        }
        let namingTail = columnNames.take("\(number)\(other.name.uppercased())")
        let otherTail = columnNames.take("\(schema.number(of: other.entity))\(upper)")
        return JoinTable(
            name: table, naming: naming, other: other,
            namingColumn: Column(
                name: "Z_" + namingTail, entity: naming.entity, orderName: other.isOrdered ? "Z_FOK_" + namingTail : nil
            ),
            otherColumn: Column(
                name: "Z_" + otherTail, entity: other.entity, orderName: naming.isOrdered ? "Z_FOK_" + otherTail : nil),
            host: host)
    }
}
