import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// Turns what a context asks for into a query of one store.
package struct FetchCompiler: Sendable {
    let schema: any SchemaMapping
    /// Objects of other stores are in none of this store's rows.
    let storeIdentifier: String
    let dialect: any SQLDialect
    /// The store's file, for errors.
    let path: String?

    package init(
        schema: any SchemaMapping, storeIdentifier: String, dialect: any SQLDialect = SQLiteDialect(),
        path: String? = nil
    ) {
        self.path = path
        self.schema = schema
        self.storeIdentifier = storeIdentifier
        self.dialect = dialect
    }

    /// - Throws: `Status.predicate` for names that the model does not have and comparisons without a meaning, whether SQL or
    ///   memory would come upon them; `Status.unsupported` for what only memory can do, when the fetch says so.
    ///
    /// - Parameters:
    ///   - reason: why the whole predicate is left to memory; nil compiles it.
    ///   - use: which ranges R-trees serve.
    package func compile(
        _ fetch: StoreFetch, inMemory reason: String? = nil, spatial use: SpatialUse = .all
    ) throws -> CompiledFetch {
        let mapping = try schema.mapping(of: fetch.entity)
        var compiler = PredicateCompiler(schema: schema, storeIdentifier: storeIdentifier, dialect: dialect)
        let required =
            reason == nil ? fetch.predicate.map { NullRejection(variable: nil).required($0) } ?? [] : []
        let root = Scope(mapping, alias: compiler.newAlias(), required: required)
        let spatial =
            try reason == nil
            ? compiler.spatialCondition(fetch.predicate, Environment(root: root), use, isLimited: fetch.endsAtLimit)
            : nil
        var conditions: [SQLFragment] = []
        if let filter = entityFilter(
            mapping, root.alias, includesSubentities: fetch.includesSubentities, isIndexed: spatial == nil)
        {
            conditions.append(filter)
        }
        let split =
            try reason.map { SplitPredicate(remainder: fetch.predicate.map { [$0] } ?? [], reasons: [$0]) }
            ?? compiler.split(fetch.predicate, Environment(root: root))
        if let spatial { conditions.append(spatial.sql) }
        if let condition = split.condition { conditions.append(condition) }
        // A count needs no order and none of its joins, but a wrong key is a mistake all the same.
        let isCount = fetch.result == .count && split.remainder.isEmpty
        let scope = isCount ? Scope(mapping, alias: root.alias, required: []) : root
        let order = try compiler.order(fetch.sortDescriptors, scope)
        let isUnordered = order == nil && !isCount
        var reasons = split.reasons
        if isUnordered, let reason = compiler.orderObstacle { reasons.append(reason) }

        var query: SQLFragment = " FROM \(identifier: mapping.table) \(root.alias)\(root.joins)"
        if !conditions.isEmpty { query += " WHERE \(conditions.joined(separator: " AND "))" }
        if !isCount, !fetch.sortDescriptors.isEmpty {
            // Rows that are equal under all descriptors come by primary key, here as in memory. The sign keeps SQLite from taking
            // the key for a reason to begin with this table, whatever the others narrow: a hundred times as much work.
            let key: SQLFragment = root.joins.isEmpty ? "\(root.alias, "Z_PK")" : "+\(root.alias, "Z_PK")"
            let terms = (order ?? []) + [key]
            query += " ORDER BY \(terms.joined(separator: ", "))"
        }
        guard !split.remainder.isEmpty || isUnordered else {
            query += dialect.window(limit: fetch.limit, offset: fetch.offset)
            return CompiledFetch(
                query: query.rendered(dialect), remainder: nil, probe: spatial?.probe?.rendered(dialect))
        }
        if !fetch.allowsRemainder { throw refusal(fetch, reasons) }
        return CompiledFetch(
            query: query.rendered(dialect),
            remainder: FetchRemainder(
                predicate: try split.remainder.count > 1 ? .and(split.remainder) : split.remainder.first,
                isUnordered: isUnordered, reasons: reasons), probe: spatial?.probe?.rendered(dialect))
    }

    func refusal(_ fetch: StoreFetch, _ reasons: [String]) -> CoreError {
        CoreError(
            .unsupported,
            "\(path ?? "the store") cannot evaluate the whole fetch of \(fetch.entity.name): \(reasons.joined(separator: ", ")); "
                + "change the request, or set CST_FETCH_ALLOWS_SPLIT (split)", entity: fetch.entity.name, file: path)
    }

    /// The condition that keeps rows of other entities of the table away.
    ///
    /// - Parameter isIndexed: whether an index may serve it. SQLite takes that for the better one otherwise, whatever else narrows.
    func entityFilter(
        _ mapping: EntityMapping, _ alias: Alias, includesSubentities: Bool, isIndexed: Bool = true
    ) -> SQLFragment? {
        let isWhole = includesSubentities || mapping.numbers.count == 1
        if isWhole, !mapping.isTableShared { return nil }
        let column: SQLFragment = isIndexed ? "\(alias, "Z_ENT")" : "+\(alias, "Z_ENT")"
        if !includesSubentities || mapping.numbers.count == 1 { return "\(column) = \(number: mapping.number)" }
        let numbers = mapping.numbers.map { "\(number: $0)" as SQLFragment }
        return "\(column) IN (\(numbers.joined(separator: ", ")))"
    }
}

/// What became of a fetch.
package struct CompiledFetch: Sendable {
    /// The query from FROM on. The entity's table is `t0`; what is selected, the store puts before it.
    package let query: SQLQuery
    /// What only memory can do with the rows; then the query has no window. nil when nothing is left to do.
    package let remainder: FetchRemainder?
    /// A statement that gives whether the R-tree that the query asks is worth it; nil without one, and with one that was asked for.
    package let probe: SQLQuery?
}

extension StoreFetch {
    /// Whether the store need not look at all rows that it finds.
    var endsAtLimit: Bool { limit > 0 && sortDescriptors.isEmpty }
}

extension SQLFragment {
    static func + (a: SQLFragment, b: SQLFragment) -> SQLFragment {
        var sum = a
        sum += b
        return sum
    }
}
