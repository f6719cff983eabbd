import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

extension SQLiteReading {
    func members(of relationship: Relationship, owners: [Int64], includingRows: Bool) throws -> StoreMembers {
        try withFile { file in
            guard let storage = schema.storage(of: relationship), !owners.isEmpty else { return StoreMembers() }
            file.openRead?.openBeforeFault()
            let query = MembersQuery(
                relationship: relationship, storage: storage, schema: schema, file: file, rows: includingRows)
            return try file.bounded(query.table) { try members(query, of: owners, file) }
        }
    }

    private func members(_ query: MembersQuery, of owners: [Int64], _ file: OpenFile) throws -> StoreMembers {
        let purpose = "read \(query.relationship.entity.name).\(query.relationship.name)"
        var found = StoreMembers()
        var reader = RowReader(
            cursor: RecordCursor(first: query.plan == nil ? 1024 : min(owners.count * 4096, 256 << 10)))
        // Unused capacity does not occupy physical memory.
        found.members.reserveCapacity(owners.count * 4)
        for part in KeyPart.parts(of: owners) {
            let statement = try file.connection.statement(query.text(owners: part.condition), purpose)
            part.bind(to: statement, times: query.repetitions)
            if let plan = query.plan {
                try readRows(statement, plan, purpose, &reader, into: &found, atMost: file.maximumRows)
            } else {
                try readKeys(statement, query, purpose, into: &found.members, atMost: file.maximumRows)
            }
        }
        found.batch.chunks = reader.cursor.flush()
        found.batch.ownsChunks = true
        return found
    }

    private func readRows(
        _ statement: Statement, _ plan: RowPlan, _ purpose: String, _ reader: inout RowReader,
        into found: inout StoreMembers, atMost most: Int
    ) throws {
        let row = statement.handle
        defer { statement.reset() }
        while try statement.step(purpose) {
            if found.members.count >= most { throw pageCycleError(plan.table) }
            guard let record = try reader.read(row, plan, leading: 1) else { continue }
            found.members.append(
                .init(
                    owner: sqlite3_column_int64(row, 0), primaryKey: record.primaryKey,
                    entity: record.header.pointee.entity))
            found.batch.records.append(record)
        }
    }

    private func readKeys(
        _ statement: Statement, _ query: MembersQuery, _ purpose: String, into members: inout [StoreMembers.Member],
        atMost most: Int
    ) throws {
        let row = statement.handle
        let destination = query.relationship.destination
        var entity = destination.index
        defer { statement.reset() }
        while try statement.step(purpose) {
            if members.count >= most { throw pageCycleError(query.table) }
            let key = sqlite3_column_int64(row, 1)
            guard key > 0 else { continue }
            if query.hasEntityColumn {
                let number = sqlite3_column_int64(row, 2)
                guard let index = schema.entityIndex(number: number, in: destination) else { continue }
                entity = index
            }
            members.append(.init(owner: sqlite3_column_int64(row, 0), primaryKey: key, entity: entity))
        }
    }
}
