import CorestoneGraph
import CorestonePredicate
import CorestoneSQL
import CorestoneValues

extension SQLiteReading {
    func explain(_ fetch: StoreFetch) throws -> FetchExplanation.Share? {
        try withFile { file in
            let plan = file.plan(for: fetch.entity, includesSubentities: fetch.includesSubentities)
            let compiled = try compiled(fetch, file)
            let sql = "SELECT \(plan.selection)\(compiled.query.text)"
            let steps = try QueryPlan.steps(of: sql, in: file.connection, entity: fetch.entity.name)
            return FetchExplanation.Share(
                path: store.path, sql: sql, bindings: compiled.query.bindings.map(\.value), steps: steps,
                indexes: QueryPlan.indexes(in: steps), remainder: compiled.remainder)
        }
    }
}

extension SQLiteReading {
    func explain(_ request: StoreRowsRequest) throws -> FetchExplanation.Share? {
        try withFile { file in
            guard let compiled = try compiled(request, file) else { return nil }
            let steps = try QueryPlan.steps(
                of: compiled.query.text, in: file.connection, entity: request.fetch.entity.name)
            return FetchExplanation.Share(
                path: store.path, sql: compiled.query.text, bindings: compiled.query.bindings.map(\.value),
                steps: steps,
                indexes: QueryPlan.indexes(in: steps),
                remainder: FetchRemainder(
                    predicate: compiled.remainder, isUnordered: !compiled.shape.isOrdered, reasons: compiled.reasons))
        }
    }
}

extension SQLValue {
    /// The value in its stored form.
    fileprivate var value: PropertyValue {
        switch self {
        case .null: .null
        case .integer(let number): .int(number)
        case .real(let number): .double(number)
        case .text(let text): .text(text)
        case .blob(let bytes): .bytes(bytes)
        }
    }
}
