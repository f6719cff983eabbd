import CorestoneModel

/// The place of a relationship's pairs in the tables of the former model.
///
/// Owners are the objects of the relationship, members those that it leads to.
struct LinkOrigin {
    /// A query with the columns `owner`, `member`, `member_order` (the sort key of the member within the owner's list) and
    /// `owner_order` (that of the owner within the member's list of the inverse relationship); these two may be null.
    let query: String

    /// nil for a relationship that neither side had.
    init?(of relationship: Relationship, mapping: ModelMapping, former: StoreSchema) {
        let own = LinkOrigin.sources(of: relationship, mapping)
        let inverse = own.isEmpty ? relationship.inverse.map { LinkOrigin.sources(of: $0, mapping) } ?? [] : []
        let queries =
            own.compactMap { LinkOrigin.query($0, former) }
            + inverse.compactMap { LinkOrigin.query($0, former).map(LinkOrigin.reversed) }
        if queries.isEmpty { return nil }
        query = queries.joined(separator: " UNION ALL ")
    }

    /// The relationship of the former model that became this one; of several that did, one.
    static func source(of relationship: Relationship, _ mapping: ModelMapping) -> Relationship? {
        sources(of: relationship, mapping).first
    }

    /// The relationships of the former model that became this one: several if it moved up from subentities.
    static func sources(of relationship: Relationship, _ mapping: ModelMapping) -> [Relationship] {
        var found: [Relationship] = []
        for entity in relationship.entity.withDescendants {
            guard let source = mapping.pair(to: entity).pair(to: relationship)?.source as? Relationship,
                !found.contains(where: { $0 === source })
            else { continue }
            found.append(source)
        }
        return found
    }

    private static func reversed(_ query: String) -> String {
        "SELECT member AS owner, owner AS member, owner_order AS member_order, member_order AS owner_order FROM (\(query))"
    }

    /// The same query for the tables of any model; nil for a relationship that is not stored.
    ///
    /// - Parameter database: the name under which the file of the tables is attached; nil for the main one.
    static func pairs(of relationship: Relationship, in schema: StoreSchema, of database: String? = nil) -> String? {
        query(relationship, schema, database.map { "\($0)." } ?? "")
    }

    private static func query(
        _ relationship: Relationship, _ former: StoreSchema, _ database: String = ""
    ) -> String? {
        guard relationship.isToMany else {
            let table = former.table(of: relationship.entity)
            guard let column = table.column(of: relationship)?.name else { return nil }
            let order = table.orderColumn(of: relationship)?.name ?? "NULL"
            let numbers = relationship.entity.withDescendants.map { former.number(of: $0) }
            return
                "SELECT Z_PK AS owner, \(column) AS member, NULL AS member_order, \(order) AS owner_order "
                + "FROM \(database)\(table.name) "
                + "WHERE \(column) IS NOT NULL AND Z_ENT IN (\(numbers.joinedText))"
        }
        switch former.storage(of: relationship) {
        case nil: return nil
        case .foreignKey(let members, let column, let order, _):
            return "SELECT \(column) AS owner, Z_PK AS member, \(order ?? "NULL") AS member_order, NULL AS owner_order "
                + "FROM \(database)\(members.name) WHERE \(column) IS NOT NULL"
        case .joinTable(let pairs, let owner, let member, let order, _):
            let other = relationship.inverse.flatMap { former.storage(of: $0) }
            var ownerOrder = "NULL"
            if case .joinTable(_, _, _, let name?, false)? = other, relationship.inverse !== relationship {
                ownerOrder = name
            }
            return
                "SELECT \(owner) AS owner, \(member) AS member, \(order ?? "NULL") AS member_order, \(ownerOrder) AS owner_order "
                + "FROM \(database)\(pairs)"
        }
    }
}

extension [Int64] {
    /// As the elements of a list in SQL.
    var joinedText: String { map(String.init).joined(separator: ", ") }
}
