import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The statements that load rows of one table by primary key.
final class FaultPlan {
    let rows: RowPlan
    let one: Statement
    let many: Statement
    /// Keys that `many` takes.
    static let chunk = 100

    init(_ plan: RowPlan, connection: Connection) throws {
        rows = plan
        let head = "SELECT \(plan.selection) FROM \(plan.table.name) t0 WHERE t0.Z_PK "
        let purpose = "read \(plan.table.root.name)"
        one = try connection.prepare(head + "= ?", purpose)
        let marks = Array(repeating: "?", count: FaultPlan.chunk).joined(separator: ", ")
        many = try connection.prepare(head + "IN (\(marks))", purpose)
    }
}

/// Rows loaded one by one share chunks, so that a fault does not cost one of its own.
final class SingleRows {
    var reader = RowReader(cursor: RecordCursor(first: 64 << 10, largest: 64 << 10))

    /// The chunks with the rows read since the last call, one of which goes on being filled.
    func handOver() -> [RecordChunk] {
        let chunks = reader.cursor.flush()
        reader.cursor.settle()
        return chunks
    }
}

extension SQLiteReading {
    func rows(of root: Entity, primaryKeys: [Int64]) throws -> RowBatch {
        try withFile { file in
            let plan = try file.faultPlan(for: root)
            file.held?.fault()
            if primaryKeys.count <= 4 { return try fewRows(primaryKeys, plan, file) }
            return try manyRows(primaryKeys, plan)
        }
    }

    func row(of root: Entity, primaryKey: Int64) throws -> (record: Record, chunk: RecordChunk)? {
        try withFile { file in
            let plan = try file.faultPlan(for: root)
            file.held?.fault()
            let shared = singleRows(file)
            defer { shared.reader.cursor.settle() }
            return try row(primaryKey, plan, &shared.reader).map { ($0, shared.reader.cursor.chunk) }
        }
    }

    private func singleRows(_ file: OpenFile) -> SingleRows {
        if let shared = file.singleRows { return shared }
        let shared = SingleRows()
        file.singleRows = shared
        return shared
    }

    private func fewRows(_ keys: [Int64], _ plan: FaultPlan, _ file: OpenFile) throws -> RowBatch {
        let shared = singleRows(file)
        var batch = RowBatch()
        do {
            for key in keys {
                if let record = try row(key, plan, &shared.reader) { batch.records.append(record) }
            }
        } catch {
            _ = shared.handOver()
            throw error
        }
        batch.chunks = shared.handOver()
        return batch
    }

    /// The row of one key. There is at most one, so SQLite is not asked for a second.
    @inline(__always)
    private func row(_ key: Int64, _ plan: FaultPlan, _ reader: inout RowReader) throws -> Record? {
        let row = plan.one.handle
        sqlite3_bind_int64(row, 1, key)
        let code = sqlite3_step(row)
        defer { sqlite3_reset(row) }
        if code == SQLITE_ROW { return try reader.read(row, plan.rows) }
        if code == SQLITE_DONE { return nil }
        throw SQLiteError.make(
            sqlite3_db_handle(row), code: code, path: store.path, purpose: "read \(plan.rows.table.root.name)")
    }

    private func manyRows(_ keys: [Int64], _ plan: FaultPlan) throws -> RowBatch {
        var reader = RowReader(cursor: RecordCursor(first: keys.count * plan.rows.estimatedRowSize))
        var batch = RowBatch()
        batch.records.reserveCapacity(keys.count)
        var place = 0
        while keys.count - place >= FaultPlan.chunk / 4 {
            let count = min(FaultPlan.chunk, keys.count - place)
            for offset in 0..<FaultPlan.chunk {
                // A last chunk that is not full repeats its first key, which changes nothing.
                plan.many.bind(keys[place + (offset < count ? offset : 0)], at: Int32(offset + 1))
            }
            try read(plan.many, plan.rows, &reader, into: &batch.records)
            place += count
        }
        while place < keys.count {
            if let record = try row(keys[place], plan, &reader) { batch.records.append(record) }
            place += 1
        }
        batch.chunks = reader.cursor.flush()
        batch.ownsChunks = true
        return batch
    }

    /// Reads all rows of a bound statement and resets it.
    func read(
        _ statement: Statement, _ plan: RowPlan, _ reader: inout RowReader, into records: inout ContiguousArray<Record>,
        leading: Int32 = 0, atMost most: Int = .max
    ) throws {
        let row = statement.handle
        defer { statement.reset() }
        while true {
            let code = sqlite3_step(row)
            if code == SQLITE_ROW {
                if let record = try reader.read(row, plan, leading: leading) { records.append(record) }
                if records.count > most { throw endless(plan.table) }
            } else if code == SQLITE_DONE {
                return
            } else {
                throw SQLiteError.make(
                    sqlite3_db_handle(row), code: code, path: store.path, purpose: "read \(plan.table.root.name)")
            }
        }
    }

    func endless(_ table: TableSchema) -> CoreError {
        CoreError(
            .storeCorrupt, code: .sqlite,
            "the table of \(table.root.name) in \(store.path) yields more rows than the file has room for: its pages lead to "
                + "each other; restore it from a backup", entity: table.root.name, sqliteCode: SQLITE_CORRUPT,
            file: store.path)
    }
}
