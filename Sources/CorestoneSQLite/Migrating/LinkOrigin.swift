import CorestoneModel

/// The source of a relationship's pairs in the tables of the former model.
///
/// Owners are the objects that have the relationship; members are its targets.
struct LinkOrigin {
    /// A query with the columns `owner`, `member`, `member_order` and `owner_order`. `member_order` is the order key of
    /// the member among the owner's members. `owner_order` is the order key of the owner in the inverse relationship of
    /// the member. The order keys may be null.
    let query: String

    /// Finds the source of a relationship's pairs; nil if neither the relationship nor its inverse existed.
    init?(of relationship: Relationship, mapping: ModelMapping, former: StoreSchema) {
        let own = LinkOrigin.sources(of: relationship, mapping)
        let inverse = own.isEmpty ? relationship.inverse.map { LinkOrigin.sources(of: $0, mapping) } ?? [] : []
        let queries =
            own.compactMap { LinkOrigin.query($0, former) }
            + inverse.compactMap { LinkOrigin.query($0, former).map(LinkOrigin.reversed) }
        if queries.isEmpty { return nil }
        query = queries.joined(separator: " UNION ALL ")
    }

    /// Returns the source of a relationship in the former model, or the first source if there are several.
    static func source(of relationship: Relationship, _ mapping: ModelMapping) -> Relationship? {
        sources(of: relationship, mapping).first
    }

    /// Returns the sources of a relationship in the former model.
    ///
    /// There are several if several entities had the relationship in the former model.
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

    /// Returns a query like `query` for the tables of any model; nil for a relationship that is not stored.
    ///
    /// - Parameter database: The name of the attached database with the tables; nil for the main database.
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
    /// The numbers as the elements of an SQL list.
    var joinedText: String { map(String.init).joined(separator: ", ") }
}
