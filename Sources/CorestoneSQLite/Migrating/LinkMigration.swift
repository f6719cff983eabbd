import CorestoneModel

/// The migration of a relationship whose storage changes.
///
/// The new model stores its pairs in another table, or on the other side.
///
/// The pairs are copied to a temporary table before any table changes. The copies stay valid because primary keys do
/// not change.
struct LinkMigration {
    let relationship: Relationship
    let origin: LinkOrigin
    /// The temporary table.
    let name: String

    var copyStatements: [String] {
        [
            "CREATE TEMP TABLE \(name) AS \(origin.query)", "CREATE INDEX temp.\(name)_owner ON \(name) (owner)",
            "CREATE INDEX temp.\(name)_member ON \(name) (member)",
        ]
    }

    var dropStatement: String { "DROP TABLE temp.\(name)" }

    /// Returns the statements that fill the relationship's columns.
    ///
    /// The columns are those of a to-one relationship, or the owner columns of a to-many relationship without an
    /// inverse.
    func columnStatements(_ wanted: StoreSchema) -> [String] {
        let isOwner = relationship.isToMany
        let table = wanted.table(of: isOwner ? relationship.destination : relationship.entity)
        let (own, other) = isOwner ? ("member", "owner") : ("owner", "member")
        guard let column = table.column(of: relationship)?.name else { return [] }
        var statements = [
            "UPDATE \(table.name) SET \(column) = (SELECT min(l.\(other)) FROM temp.\(name) l WHERE l.\(own) = \(table.name).Z_PK) "
                + "WHERE Z_PK IN (SELECT \(own) FROM temp.\(name))"
        ]
        if let target = table.targetEntityColumn(of: relationship)?.name {
            let members = wanted.table(of: relationship.destination).name
            statements.append(
                "UPDATE \(table.name) SET \(target) = (SELECT t.Z_ENT FROM \(members) t WHERE t.Z_PK = \(table.name).\(column)) "
                    + "WHERE \(column) IS NOT NULL")
        }
        if let order = table.orderColumn(of: relationship)?.name {
            let key = isOwner ? "member_order" : "owner_order"
            statements.append(
                "UPDATE \(table.name) SET \(order) = (SELECT l.\(key) FROM temp.\(name) l WHERE l.\(own) = \(table.name).Z_PK AND "
                    + "l.\(other) = \(table.name).\(column)) WHERE \(column) IS NOT NULL")
        }
        return statements
    }

    /// Returns the statement that fills an empty join table.
    func joinStatement(_ join: JoinTable) -> String {
        let isNaming = join.naming === relationship
        let (owner, member) = isNaming ? (join.namingColumn, join.otherColumn) : (join.otherColumn, join.namingColumn)
        var columns = [owner.name, member.name]
        var values = ["owner", "member"]
        if let order = member.orderName {
            columns.append(order)
            values.append("member_order")
        }
        if let order = owner.orderName {
            columns.append(order)
            values.append("owner_order")
        }
        return
            "INSERT OR IGNORE INTO \(join.name) (\(columns.joined(separator: ", "))) SELECT \(values.joined(separator: ", ")) "
            + "FROM temp.\(name) WHERE owner IS NOT NULL AND member IS NOT NULL"
    }
}
