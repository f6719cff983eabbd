import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The statements that load rows of one table by primary key. They are prepared at their first use.
final class FaultPlan {
    let rows: RowPlan
    let one: Statement
    /// The statements for lists of keys, by the capacity of the list.
    private var lists: [Int: Statement] = [:]
    private var span: Statement?
    private unowned(unsafe) let connection: Connection

    init(_ plan: RowPlan, connection: Connection) throws {
        rows = plan
        self.connection = connection
        one = try FaultPlan.prepare(.one(0), plan, connection)
    }

    func statement(for part: KeyPart) throws -> Statement {
        switch part {
        case .one: one
        case .list: try cachedStatement(&lists[part.capacity], part)
        case .span: try cachedStatement(&span, part)
        }
    }

    private func cachedStatement(_ cache: inout Statement?, _ part: KeyPart) throws -> Statement {
        if let cache { return cache }
        let fresh = try FaultPlan.prepare(part, rows, connection)
        cache = fresh
        return fresh
    }

    private static func prepare(_ part: KeyPart, _ plan: RowPlan, _ connection: Connection) throws -> Statement {
        try connection.prepare(
            "SELECT \(plan.selection) FROM \(plan.table.name) t0 WHERE t0.Z_PK \(part.condition)",
            "read \(plan.table.root.name)")
    }
}

/// Chunks that are shared by individually loaded rows, so that a fault does not allocate its own chunk.
final class SingleRows {
    var reader = RowReader(cursor: RecordCursor(first: 64 << 10, largest: 64 << 10))

    /// Returns the chunks with the rows read since the last call. The last chunk continues to be filled.
    func takeChunks() -> [RecordChunk] {
        let chunks = reader.cursor.flush()
        reader.cursor.discardFilledChunks()
        return chunks
    }
}

extension SQLiteReading {
    func rows(of root: Entity, primaryKeys: [Int64]) throws -> RowBatch {
        try withFile { file in
            let plan = try file.faultPlan(for: root)
            file.openRead?.openBeforeFault()
            if primaryKeys.count <= 4 { return try fewRows(primaryKeys, plan, file) }
            return try file.bounded(plan.rows.table) { try manyRows(primaryKeys, plan) }
        }
    }

    func row(of root: Entity, primaryKey: Int64) throws -> (record: Record, chunk: RecordChunk)? {
        try withFile { file in
            let plan = try file.faultPlan(for: root)
            file.openRead?.openBeforeFault()
            let shared = singleRows(file)
            defer { shared.reader.cursor.discardFilledChunks() }
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
            for part in KeyPart.parts(of: keys) {
                if case .one(let key) = part {
                    if let record = try row(key, plan, &shared.reader) { batch.records.append(record) }
                    continue
                }
                let statement = try plan.statement(for: part)
                part.bind(to: statement, times: 1)
                try read(statement, plan.rows, &shared.reader, into: &batch.records, atMost: keys.count, byKeys: true)
            }
        } catch {
            _ = shared.takeChunks()
            throw error
        }
        batch.chunks = shared.takeChunks()
        return batch
    }

    /// Reads the row of one key. The statement returns at most one row, so it is stepped only once.
    @inline(__always)
    private func row(_ key: Int64, _ plan: FaultPlan, _ reader: inout RowReader) throws -> Record? {
        let row = plan.one.handle
        sqlite3_bind_int64(row, 1, key)
        let code = sqlite3_step(row)
        defer { sqlite3_reset(row) }
        if code == SQLITE_ROW { return try reader.read(row, plan.rows) }
        if code == SQLITE_DONE { return nil }
        throw failed(plan.one, code, plan.rows.table)
    }

    private func manyRows(_ keys: [Int64], _ plan: FaultPlan) throws -> RowBatch {
        var reader = RowReader(cursor: RecordCursor(first: keys.count * plan.rows.estimatedRowSize))
        var batch = RowBatch()
        batch.records.reserveCapacity(keys.count)
        for part in KeyPart.parts(of: keys) {
            if case .one(let key) = part {
                if let record = try row(key, plan, &reader) { batch.records.append(record) }
                continue
            }
            let statement = try plan.statement(for: part)
            part.bind(to: statement, times: 1)
            try read(statement, plan.rows, &reader, into: &batch.records, atMost: keys.count, byKeys: true)
        }
        batch.chunks = reader.cursor.flush()
        batch.ownsChunks = true
        return batch
    }

    /// Reads all rows of a bound statement and resets it.
    func read(
        _ statement: Statement, _ plan: RowPlan, _ reader: inout RowReader, into records: inout ContiguousArray<Record>,
        leading: Int32 = 0, atMost most: Int = .max, byKeys: Bool = false
    ) throws {
        let row = statement.handle
        defer { statement.reset() }
        while true {
            let code = sqlite3_step(row)
            if code == SQLITE_ROW {
                if let record = try reader.read(row, plan, leading: leading) { records.append(record) }
                if records.count > most { throw pageCycleError(plan.table, byKeys: byKeys) }
            } else if code == SQLITE_DONE {
                return
            } else {
                throw failed(statement, code, plan.table)
            }
        }
    }

    private func failed(_ statement: Statement, _ code: Int32, _ table: TableSchema) -> CoreError {
        let purpose = "read \(table.root.name)"
        if code & 0xff == SQLITE_TOOBIG { return statement.error(code, purpose) }
        return SQLiteError.make(
            sqlite3_db_handle(statement.handle), code: code, path: store.path, purpose: purpose,
            entity: table.root.name)
    }

    /// Creates the error for a statement that returns more rows than possible.
    ///
    /// - Parameter byKeys: Whether rows were read by primary key, so that repeated keys also return too many rows.
    func pageCycleError(_ table: TableSchema, byKeys: Bool = false) -> CoreError {
        let found =
            byKeys
            ? "more rows than were requested, because its primary keys are repeated or its pages form a cycle"
            : "more rows than fit in the file, because its pages form a cycle"
        return CoreError(
            .storeCorrupt, code: .sqlite,
            "the table of \(table.root.name) in \(store.path) returns \(found); restore the store from a backup",
            entity: table.root.name, sqliteCode: SQLITE_CORRUPT, file: store.path)
    }
}
