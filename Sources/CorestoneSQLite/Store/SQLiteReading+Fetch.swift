import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneSQL
import CorestoneValues

extension SQLiteReading {
    func fetch(_ fetch: StoreFetch) throws -> StoreFetchOutcome {
        try withFile { file in
            // A fetch sees the newest state.
            file.endReads()
            var outcome = StoreFetchOutcome()
            let compiled = try compiled(fetch, file)
            let query = compiled.query
            outcome.remainder = compiled.remainder
            let purpose = "fetch \(fetch.entity.name)"
            // Faults that fire soon after the fetch see the same state.
            if fetch.result != .count { file.openRead?.open() }
            do {
                try file.bounded(schema.table(of: fetch.entity)) {
                    switch outcome.remainder == nil ? fetch.result : .rows {
                    case .rows:
                        let keys = outcome.remainder == nil ? fetch.keys : nil
                        outcome.batch = try rows(query, fetch, keys, file, purpose)
                        outcome.isPartial = keys != nil
                    case .identifiers: outcome.identifiers = try identifiers(query, fetch, file, purpose)
                    case .count: outcome.count = try count(query, fetch, file, purpose)
                    }
                }
            } catch let error as CoreError {
                // SQLite passes on only the text of an error that a registered function threw.
                throw file.functions.takeFailure() ?? error
            }
            return outcome
        }
    }

    private func statement(_ head: String, _ query: SQLQuery, _ file: OpenFile, _ purpose: String, tail: String = "")
        throws -> Statement
    {
        let statement = try file.connection.statement(head + query.text + tail, purpose)
        for (place, value) in query.bindings.enumerated() { statement.bind(value, at: Int32(place + 1)) }
        return statement
    }

    private func rows(
        _ query: SQLQuery, _ fetch: StoreFetch, _ keys: Set<UInt32>?, _ file: OpenFile, _ purpose: String
    ) throws -> RowBatch {
        let plan = file.plan(for: fetch.entity, includesSubentities: fetch.includesSubentities, keys: keys)
        let statement = try statement("SELECT \(plan.selection)", query, file, purpose)
        var batch = RowBatch()
        // There may be fewer rows than the limit.
        let expected = fetch.limit > 0 ? min(fetch.limit, 2000) * plan.estimatedRowSize : 64 << 10
        var reader = RowReader(cursor: RecordCursor(first: expected))
        try withExtendedLifetime(query) {
            try read(statement, plan, &reader, into: &batch.records, atMost: file.maximumRows)
        }
        batch.chunks = reader.cursor.flush()
        batch.ownsChunks = true
        return batch
    }

    private func identifiers(
        _ query: SQLQuery, _ fetch: StoreFetch, _ file: OpenFile, _ purpose: String
    ) throws -> [(primaryKey: Int64, entity: UInt32)] {
        let isShared = schema.table(of: fetch.entity).hasSubentities
        let statement = try statement(isShared ? "SELECT t0.Z_PK, t0.Z_ENT" : "SELECT t0.Z_PK", query, file, purpose)
        var found: [(primaryKey: Int64, entity: UInt32)] = []
        defer { statement.reset() }
        while try statement.step(purpose) {
            var index = fetch.entity.index
            if isShared {
                guard let known = schema.entityIndex(number: statement.integer(1), in: fetch.entity) else { continue }
                index = known
            }
            let key = statement.integer(0)
            if key > 0 { found.append((key, index)) }
            if found.count > file.maximumRows { throw pageCycleError(schema.table(of: fetch.entity)) }
        }
        withExtendedLifetime(query) {}
        return found
    }

    /// Returns the number of rows that a fetch would return.
    private func count(_ query: SQLQuery, _ fetch: StoreFetch, _ file: OpenFile, _ purpose: String) throws -> Int {
        if try hasStrayRows(schema.table(of: fetch.entity), file, purpose) {
            return try identifiers(query, fetch, file, purpose).count
        }
        let isWindowed = fetch.limit > 0 || fetch.offset > 0
        let statement: Statement
        if file.maximumRows < .max {
            // SQLite counts the entries of each page. If the pages form a cycle, that never ends; LIMIT prevents this.
            statement = try self.statement(
                "SELECT count(*) FROM (SELECT 1 FROM (SELECT 1", query, file, purpose,
                tail: ") LIMIT \(file.maximumRows + 1))")
        } else if isWindowed {
            statement = try self.statement("SELECT count(*) FROM (SELECT 1", query, file, purpose, tail: ")")
        } else {
            statement = try self.statement("SELECT count(*)", query, file, purpose)
        }
        defer { statement.reset() }
        let count = try statement.step(purpose) ? Int(statement.integer(0)) : 0
        withExtendedLifetime(query) {}
        if count > file.maximumRows { throw pageCycleError(schema.table(of: fetch.entity)) }
        return count
    }

    /// Whether a table has rows that are not objects, as only a damaged file has. Uses indexes, without reading rows.
    func hasStrayRows(_ table: TableSchema, _ file: OpenFile, _ purpose: String) throws -> Bool {
        let conditions = schema.strayConditions(of: table).map { "EXISTS (SELECT 1 FROM \(table.name) WHERE \($0))" }
        let statement = try file.connection.statement("SELECT \(conditions.joined(separator: " OR "))", purpose)
        defer { statement.reset() }
        return try statement.step(purpose) && statement.integer(0) != 0
    }
}

extension Statement {
    /// Binds a value without copying its bytes, which must stay valid until the statement has run.
    func bind(_ value: SQLValue, at index: Int32) {
        switch value {
        case .null: bindNull(at: index)
        case .integer(let number): bind(number, at: index)
        case .real(let number): bind(number, at: index)
        case .text(let text): bindText(text.utf8, at: index)
        case .blob(let bytes): bindBlob(bytes.rawBytes, at: index)
        }
    }
}
