import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneSQL
import CorestoneValues

extension SQLiteStore {
    func fetch(_ fetch: StoreFetch) throws -> StoreFetchOutcome {
        try withFile { file in
            // A fetch sees the newest state.
            file.held?.end()
            var outcome = StoreFetchOutcome()
            outcome.isExact = fetch.predicate == nil && fetch.sortDescriptors.isEmpty
            let result = outcome.isExact ? fetch.result : .rows
            let plan = file.plan(for: fetch.entity, includesSubentities: fetch.includesSubentities)
            var tail = " FROM \(plan.table.name) t0"
            tail += entityFilter(fetch)
            if outcome.isExact { tail += window(fetch) }
            let purpose = "fetch \(fetch.entity.name)"
            switch result {
            case .rows:
                let statement = try file.connection.statement("SELECT \(plan.selectList(alias: "t0"))" + tail, purpose)
                outcome.batch = try rows(statement, plan, limit: fetch.limit)
            case .identifiers:
                let columns = plan.hasEntityColumn ? "t0.Z_PK, t0.Z_ENT" : "t0.Z_PK"
                let statement = try file.connection.statement("SELECT \(columns)" + tail, purpose)
                outcome.identifiers = try identifiers(statement, plan, fetch.entity, purpose)
            case .count:
                let isWindowed = fetch.limit > 0 || fetch.offset > 0
                let text = isWindowed ? "SELECT count(*) FROM (SELECT 1\(tail))" : "SELECT count(*)" + tail
                let statement = try file.connection.statement(text, purpose)
                defer { statement.reset() }
                if try statement.step(purpose) { outcome.count = Int(statement.integer(0)) }
            }
            return outcome
        }
    }

    /// The condition that keeps rows of other entities of the table away.
    private func entityFilter(_ fetch: StoreFetch) -> String {
        let table = schema.table(of: fetch.entity)
        let family = fetch.includesSubentities ? fetch.entity.withDescendants : [fetch.entity]
        if family.count == table.entities.count { return "" }
        let numbers = family.map { String(schema.number(of: $0)) }
        return numbers.count == 1
            ? " WHERE t0.Z_ENT = \(numbers[0])" : " WHERE t0.Z_ENT IN (\(numbers.joined(separator: ", ")))"
    }

    /// Printed, never bound: SQLite plans a bound LIMIT as if it were none.
    private func window(_ fetch: StoreFetch) -> String {
        if fetch.limit == 0 && fetch.offset == 0 { return "" }
        let limit = " LIMIT \(fetch.limit == 0 ? -1 : fetch.limit)"
        return fetch.offset == 0 ? limit : limit + " OFFSET \(fetch.offset)"
    }

    private func rows(_ statement: Statement, _ plan: RowPlan, limit: Int) throws -> RowBatch {
        var batch = RowBatch()
        let expected = limit > 0 ? min(limit, 10_000) * plan.estimatedRowSize : 64 << 10
        var reader = RowReader(cursor: RecordCursor(first: expected), externalFolder: externalFolder)
        try read(statement, plan, &reader, into: &batch.records)
        batch.chunks = reader.cursor.flush()
        return batch
    }

    private func identifiers(
        _ statement: Statement, _ plan: RowPlan, _ entity: Entity, _ purpose: String
    ) throws -> [(primaryKey: Int64, entity: UInt32)] {
        var found: [(primaryKey: Int64, entity: UInt32)] = []
        defer { statement.reset() }
        while try statement.step(purpose) {
            var index = entity.index
            if plan.hasEntityColumn {
                guard let known = schema.entityIndex(number: statement.integer(1)) else { continue }
                index = known
            }
            found.append((statement.integer(0), index))
        }
        return found
    }
}
