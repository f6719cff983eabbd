import CorestoneModel

/// The join table of a many-to-many relationship and its inverse, or of a relationship that is its own inverse.
final class JoinTable: @unchecked Sendable {
    /// A column with the primary keys of the rows of one side.
    struct Column {
        let name: String
        /// The entity whose rows the column refers to.
        let entity: Entity
        /// The column with the order keys of these rows among the members of the other side.
        ///
        /// nil unless that side's relationship is ordered.
        let orderName: String?
    }

    let name: String
    /// The relationship that gave the table its name.
    let naming: Relationship
    /// The inverse of the naming relationship; nil if the relationship is its own inverse.
    let other: Relationship?
    /// The column that refers to the owners of the naming relationship.
    let namingColumn: Column
    /// The column that refers to the members of the naming relationship.
    let otherColumn: Column
    /// The entity table after which the join table is created.
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

    /// The columns in the order of the CREATE statement. In a reflexive table, the members come first.
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

    /// The index for the second column; the primary key is an index for the first column.
    var index: StoreIndex {
        let keys = orderedColumns.map(\.name)
        return StoreIndex(
            "\(name)_\(keys[1])_INDEX", on: name, [keys[1], keys[0]], of: naming.entity, [naming.name])
    }
}

extension JoinTable {
    /// Returns all join tables of a model, in the order in which their relationships are visited.
    ///
    /// Entities are visited in the order of their names, each with its inherited relationships. The first relationship
    /// names the table. If both relationships belong to one entity, the later name is used. If `existing` has
    /// only a table with the other name, that name is used, because older versions of Core Data vary.
    static func all(of schema: StoreSchema, existing: StoreTables, tableNames: inout UniqueNames) -> [JoinTable] {
        var seen: Set<UInt32> = []
        var maker = JoinTableMaker(schema: schema, existing: existing)
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
                maker.make(sides, tableNames: &tableNames)
            }
        }
        return maker.joins
    }
}

/// The assignment of names to join tables and their columns, as in a new store or as in the existing file.
private struct JoinTableMaker {
    let schema: StoreSchema
    let existing: StoreTables
    private(set) var joins: [JoinTable] = []
    private var columnNames = UniqueNames()
    /// The names that the tables have by the rules. Other tables do not receive these names.
    private let expected: Set<String>

    init(schema: StoreSchema, existing: StoreTables) {
        self.schema = schema
        self.existing = existing
        let sides = existing.isEmpty ? [] : schema.model.entities.flatMap(\.ownRelationships).filter(\.isStoredToMany)
        expected = Set(sides.map { "Z_\(schema.number(of: $0.entity))\($0.name.uppercased())" })
    }

    /// Adds a join table.
    ///
    /// - Parameter sides: A relationship and its inverse. The first one names the table in a new store.
    mutating func make(_ sides: [Relationship], tableNames: inout UniqueNames) {
        let naming = naming(of: sides)
        let number = schema.number(of: naming.entity)
        let upper = naming.name.uppercased()
        let table = NumberedName(prefix: "Z_", number: number, tail: upper).choose(
            tableNames.makeUnique("Z_\(number)\(upper)"),
            existing: existing.isEmpty ? nil : existing.mapValues { _ in "" }
        ) { other in expected.contains(other) || joins.contains { $0.name == other } }
        let host = schema.table(of: naming.entity)
        guard let other = naming.inverse, other !== naming else {
            let member = column(number, upper, of: table)
            let order = naming.isOrdered ? member.order : nil
            joins.append(
                JoinTable(
                    name: table, naming: naming, other: nil,
                    namingColumn: JoinTable.Column(name: "REFLEXIVE", entity: naming.entity, orderName: nil),
                    otherColumn: JoinTable.Column(name: member.name, entity: naming.destination, orderName: order),
                    host: host))
            return
        }
        let owner = column(number, other.name.uppercased(), of: table)
        let member = column(schema.number(of: other.entity), upper, of: table, except: owner.name)
        joins.append(
            JoinTable(
                name: table, naming: naming, other: other,
                namingColumn: JoinTable.Column(
                    name: owner.name, entity: naming.entity, orderName: other.isOrdered ? owner.order : nil),
                otherColumn: JoinTable.Column(
                    name: member.name, entity: other.entity, orderName: naming.isOrdered ? member.order : nil),
                host: host))
    }

    /// Returns the side whose name the file uses, or the first side if the file has neither or both names.
    private func naming(of sides: [Relationship]) -> Relationship {
        let names = sides.map {
            NumberedName(prefix: "Z_", number: schema.number(of: $0.entity), tail: $0.name.uppercased())
        }
        let found = names.map { existing[$0.text] != nil }
        if found[0] || existing.isEmpty { return sides[0] }
        if found[1] { return sides[1] }
        let isNumberedOtherwise = names.map { name in
            existing.keys.contains { name.resembles($0) && !expected.contains($0) }
        }
        return !isNumberedOtherwise[0] && isNumberedOtherwise[1] ? sides[1] : sides[0]
    }

    private mutating func column(
        _ number: Int64, _ tail: String, of table: String, except other: String? = nil
    ) -> (name: String, order: String) {
        let name = NumberedName(prefix: "Z_", number: number, tail: tail)
        let chosen = name.choose("Z_" + columnNames.makeUnique("\(number)\(tail)"), existing: existing[table]) {
            $0 == other
        }
        let order = NumberedName(prefix: "Z_FOK_", number: number, tail: tail).choose(
            "Z_FOK_" + chosen.dropFirst(2), existing: existing[table]
        ) { $0.dropFirst("Z_FOK_".count) == other?.dropFirst(2) }
        return (chosen, order)
    }
}
