import CorestoneModel

/// The statements that read the members of a to-many relationship.
///
/// Each row consists of the owner's primary key, and of the member's primary key and entity or the member's whole row.
struct MembersQuery {
    let relationship: Relationship
    let storage: ToManyStorage
    let table: TableSchema
    /// The plan for the members' rows; nil to read only primary keys.
    let plan: RowPlan?
    var hasEntityColumn: Bool { table.hasSubentities }
    /// The number of times that the statement contains the condition on the owners.
    var repetitions: Int { isReadBothWays ? 2 : 1 }

    /// Whether both columns are searched.
    ///
    /// A pair of a relationship that is its own inverse may be stored in only one direction.
    private var isReadBothWays: Bool { if case .joinTable(_, _, _, nil, true) = storage { true } else { false } }

    init(relationship: Relationship, storage: ToManyStorage, schema: StoreSchema, file: OpenFile, rows: Bool) {
        self.relationship = relationship
        self.storage = storage
        table = schema.table(of: relationship.destination)
        plan = rows ? file.plan(for: relationship.destination, includesSubentities: true, leading: 1) : nil
    }

    /// Returns the SQL of the statement.
    ///
    /// - Parameter condition: The condition on the owners, as `KeyPart.condition`.
    func text(owners condition: String) -> String {
        switch storage {
        case .foreignKey(_, let column, let order, _):
            return "SELECT t0.\(column), \(memberColumns) FROM \(table.name) t0 WHERE t0.\(column) \(condition)"
                + (order.map { " ORDER BY t0.\(column), t0.\($0), t0.Z_PK" } ?? "")
        case .joinTable(let join, let owner, let member, let order, _):
            let ordering = order.map { " ORDER BY t1.\(owner), t1.\($0), t1.\(member)" } ?? ""
            let pairs =
                isReadBothWays
                ? "(SELECT \(owner) o, \(member) m FROM \(join) WHERE \(owner) \(condition) "
                    + "UNION SELECT \(member), \(owner) FROM \(join) WHERE \(member) \(condition)) t1" : "\(join) t1"
            let (first, second) = isReadBothWays ? ("o", "m") : (owner, member)
            let filter = isReadBothWays ? "" : " WHERE t1.\(first) \(condition)"
            if plan == nil && !hasEntityColumn {
                return "SELECT t1.\(first), t1.\(second) FROM \(pairs)\(filter)\(ordering)"
            }
            return "SELECT t1.\(first), \(memberColumns) FROM \(pairs) JOIN \(table.name) t0 ON t0.Z_PK = t1.\(second)"
                + filter + ordering
        }
    }

    private var memberColumns: String {
        plan?.selection ?? (hasEntityColumn ? "t0.Z_PK, t0.Z_ENT" : "t0.Z_PK")
    }
}
