import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

extension SQLiteReading {
    func members(of relationship: Relationship, owners: [Int64], includingRows: Bool) throws -> StoreMembers {
        try withFile { file in
            guard let storage = schema.storage(of: relationship), !owners.isEmpty else { return StoreMembers() }
            file.held?.fault()
            let query = MembersQuery(
                relationship: relationship, storage: storage, schema: schema, file: file, rows: includingRows)
            return try file.bounded(query.table) { try members(query, of: owners, file) }
        }
    }

    private func members(_ query: MembersQuery, of owners: [Int64], _ file: OpenFile) throws -> StoreMembers {
        let relationship = query.relationship
        var found = StoreMembers()
        var reader = RowReader(cursor: RecordCursor(first: query.plan == nil ? 1024 : owners.count * 4096))
        var place = 0
        while place < owners.count {
            let count = owners.count - place < 4 ? 1 : min(MembersQuery.chunk, owners.count - place)
            let parameters = count == 1 ? 1 : MembersQuery.chunk
            let statement = try file.connection.statement(
                query.text(owners: parameters), "read \(relationship.entity.name).\(relationship.name)")
            for offset in 0..<parameters {
                let owner = owners[place + (offset < count ? offset : 0)]
                for repetition in 0..<query.repetitions {
                    statement.bind(owner, at: Int32(offset + 1 + repetition * parameters))
                }
            }
            try read(statement, query, &reader, into: &found, atMost: file.mostRows)
            place += count
        }
        found.batch.chunks = reader.cursor.flush()
        found.batch.ownsChunks = true
        return found
    }

    private func read(
        _ statement: Statement, _ query: MembersQuery, _ reader: inout RowReader, into found: inout StoreMembers,
        atMost most: Int
    ) throws {
        let row = statement.handle
        defer { statement.reset() }
        while try statement.step("read \(query.relationship.entity.name).\(query.relationship.name)") {
            if found.members.count >= most { throw endless(query.table) }
            let owner = sqlite3_column_int64(row, 0)
            if let plan = query.plan {
                guard let record = try reader.read(row, plan, leading: 1) else { continue }
                found.members.append(
                    .init(owner: owner, primaryKey: record.primaryKey, entity: record.header.pointee.entity))
                found.batch.records.append(record)
            } else {
                let key = sqlite3_column_int64(row, 1)
                guard key > 0 else { continue }
                let entity: UInt32
                if query.hasEntityColumn {
                    let number = sqlite3_column_int64(row, 2)
                    guard let index = schema.entityIndex(number: number, in: query.relationship.destination) else {
                        continue
                    }
                    entity = index
                } else {
                    entity = query.relationship.destination.index
                }
                found.members.append(.init(owner: owner, primaryKey: key, entity: entity))
            }
        }
    }
}

/// The statement that reads the members of a to-many relationship: owner, then the member's key and entity or whole
/// row.
struct MembersQuery {
    /// Owners that one statement takes.
    static let chunk = 100

    let relationship: Relationship
    let storage: ToManyStorage
    let table: TableSchema
    /// nil when only keys are wanted.
    let plan: RowPlan?
    var hasEntityColumn: Bool { table.hasSubentities }
    /// How often the owners are bound.
    var repetitions: Int { if case .joinTable(_, _, _, nil, true) = storage { 2 } else { 1 } }

    init(relationship: Relationship, storage: ToManyStorage, schema: StoreSchema, file: OpenFile, rows: Bool) {
        self.relationship = relationship
        self.storage = storage
        table = schema.table(of: relationship.destination)
        plan = rows ? file.plan(for: relationship.destination, includesSubentities: true, leading: 1) : nil
    }

    func text(owners: Int) -> String {
        let condition = owners == 1 ? "= ?" : "IN (\(Array(repeating: "?", count: owners).joined(separator: ", ")))"
        switch storage {
        case .foreignKey(_, let column, let order, _):
            return "SELECT t0.\(column), \(memberColumns) FROM \(table.name) t0 WHERE t0.\(column) \(condition)"
                + (order.map { " ORDER BY t0.\($0), t0.Z_PK" } ?? "")
        case .joinTable(let join, let owner, let member, let order, let isReflexive):
            let ordering = order.map { " ORDER BY t1.\($0), t1.\(member)" } ?? ""
            // A pair of a relationship that is its own inverse may have been written in one direction only.
            let pairs =
                isReflexive && order == nil
                ? "(SELECT \(owner) o, \(member) m FROM \(join) WHERE \(owner) \(condition) "
                    + "UNION SELECT \(member), \(owner) FROM \(join) WHERE \(member) \(condition)) t1" : "\(join) t1"
            let (first, second) = isReflexive && order == nil ? ("o", "m") : (owner, member)
            let filter = isReflexive && order == nil ? "" : " WHERE t1.\(first) \(condition)"
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
