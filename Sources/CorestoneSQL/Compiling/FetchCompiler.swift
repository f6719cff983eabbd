import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// A compiler of fetch requests to SQL queries of one store.
package struct FetchCompiler: Sendable {
    let schema: any SchemaMapping
    /// The identifier of the store. Objects of other stores do not match its rows.
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

    /// Compiles a fetch of objects, of object IDs or of a count.
    ///
    /// - Parameters:
    ///   - reason: The reason for evaluating the whole predicate in memory; nil if SQL evaluates what it can express.
    ///   - use: The ranges for which R-trees are used.
    /// - Throws: `Status.predicate` for unknown names and for meaningless comparisons, which are not always detected in
    ///   parts that are evaluated in memory.
    ///   `Status.unsupported` if a part must be evaluated in memory and the fetch does not allow that.
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
        // A count needs neither the order nor its joins, but a wrong sort key is still an error.
        let isCount = fetch.result == .count && split.remainder.isEmpty
        let scope = isCount ? Scope(mapping, alias: root.alias, required: []) : root
        let order = try compiler.order(fetch.sortDescriptors, scope)
        let isUnordered = order == nil && !isCount
        var reasons = split.reasons
        if isUnordered, let reason = compiler.orderObstacle { reasons.append(reason) }

        var query: SQLFragment = " FROM \(identifier: mapping.table) \(root.alias)\(root.joins)"
        if !conditions.isEmpty { query += " WHERE \(conditions.joined(separator: " AND "))" }
        if !isCount, !fetch.sortDescriptors.isEmpty {
            // The primary key is the tie-breaker, as in the in-memory evaluator. Without the unary plus, SQLite could
            // start with this table, to read the rows in the order of the key. That is slower if a condition on another
            // table selects few rows.
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
                + "change the request, or set CST_FETCH_ALLOWS_SPLIT (split, allowsSplit)",
            entity: fetch.entity.name, file: path)
    }

    /// Returns the condition that excludes rows of other entities in the table, or nil if no condition is needed.
    ///
    /// - Parameter isIndexed: Whether SQLite may use an index for the condition. SQLite can prefer such an index even
    ///   where another condition selects fewer rows.
    func entityFilter(
        _ mapping: TableMapping, _ alias: Alias, includesSubentities: Bool, isIndexed: Bool = true
    ) -> SQLFragment? {
        let isWhole = includesSubentities || mapping.numbers.count == 1
        if isWhole, !mapping.isTableShared { return nil }
        let column: SQLFragment = isIndexed ? "\(alias, "Z_ENT")" : "+\(alias, "Z_ENT")"
        if !includesSubentities || mapping.numbers.count == 1 { return "\(column) = \(number: mapping.number)" }
        let numbers = mapping.numbers.map { "\(number: $0)" as SQLFragment }
        return "\(column) IN (\(numbers.joined(separator: ", ")))"
    }
}

/// A fetch of objects, of object IDs or of a count as SQL.
package struct CompiledFetch: Sendable {
    /// The query from FROM on. The store prepends SELECT and the columns; the entity's table is `t0`.
    package let query: SQLQuery
    /// The part of the fetch that is done in memory on the rows; nil if SQL executes the whole fetch. With a
    /// remainder, the query does not have a LIMIT.
    package let remainder: FetchRemainder?
    /// A statement that returns whether the query's R-tree is likely to be faster than a scan.
    ///
    /// nil without an R-tree, or if `indexed:by:` requests the R-tree.
    package let probe: SQLQuery?
}

extension StoreFetch {
    /// Whether the store can stop at the limit before it has read all matching rows.
    var endsAtLimit: Bool { limit > 0 && sortDescriptors.isEmpty }
}

extension SQLFragment {
    static func + (a: SQLFragment, b: SQLFragment) -> SQLFragment {
        var sum = a
        sum += b
        return sum
    }
}
