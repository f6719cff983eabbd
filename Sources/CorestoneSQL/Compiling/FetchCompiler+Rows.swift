import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// A compiled fetch of dictionaries: a statement that returns values of columns.
package struct CompiledRows: Sendable {
    /// The whole statement.
    package let query: SQLQuery
    package let cells: [RowCell]
    /// The part of the fetch that is done in memory.
    package let shape: RowShape
    /// The part of the predicate that is evaluated in memory, in its original form.
    package let remainder: Predicate?
    package let reasons: [String]
    /// The probe for the R-tree, as in `CompiledFetch.probe`.
    package let probe: SQLQuery?
}

extension FetchCompiler {
    /// Compiles a fetch of dictionaries.
    ///
    /// SQL groups the rows if no other store contributes rows, and if SQL can evaluate the predicate, the grouping
    /// keys and the statistics of the columns. Otherwise the rows are grouped in memory.
    ///
    /// - Returns: nil if the fetch needs managed objects.
    /// - Throws: As `compile(_:inMemory:spatial:)`.
    package func compile(_ request: StoreRowsRequest, spatial use: SpatialUse = .all) throws -> CompiledRows? {
        if request.isGrouped, !request.isShare {
            do {
                var draft = try RowsDraft(request, self, use)
                if draft.isWhole { return try draft.groups() }
            } catch is NotExpressible {}
        }
        do {
            var draft = try RowsDraft(request, self, use)
            let found = try draft.rows()
            let isExact = found.shape.predicate == nil && (found.shape.isOrdered || request.isShare)
            if !isExact, !request.fetch.allowsRemainder { throw refusal(request.fetch, found.reasons) }
            return found
        } catch is NotExpressible { return nil }
    }
}

/// A statement under construction.
private struct RowsDraft {
    private let request: StoreRowsRequest
    private var compiler: PredicateCompiler
    private let root: Scope
    private var environment: Environment
    private var conditions: [SQLFragment] = []
    private let split: SplitPredicate
    private var selection = RowSelection()
    private var shape = RowShape()
    /// The conjuncts of the predicate that are evaluated in memory.
    private var remainder: Predicate?
    private var reasons: [String]
    private let probe: SQLQuery?

    init(_ request: StoreRowsRequest, _ fetches: FetchCompiler, _ use: SpatialUse) throws {
        self.request = request
        let fetch = request.fetch
        let mapping = try fetches.schema.mapping(of: fetch.entity)
        compiler = PredicateCompiler(
            schema: fetches.schema, storeIdentifier: fetches.storeIdentifier, dialect: fetches.dialect)
        let required = fetch.predicate.map { NullRejection(variable: nil).required($0) } ?? []
        root = Scope(mapping, alias: compiler.newAlias(), required: required)
        environment = Environment(root: root)
        let spatial = try compiler.spatialCondition(
            fetch.predicate, environment, use, isLimited: fetch.endsAtLimit && !request.isGrouped)
        if let filter = fetches.entityFilter(
            mapping, root.alias, includesSubentities: fetch.includesSubentities, isIndexed: spatial == nil)
        {
            conditions.append(filter)
        }
        split = try compiler.split(fetch.predicate, environment)
        if let spatial { conditions.append(spatial.sql) }
        probe = spatial?.probe?.rendered(fetches.dialect)
        if let condition = split.condition { conditions.append(condition) }
        reasons = split.reasons
    }

    /// Whether SQL evaluates the whole predicate.
    var isWhole: Bool { split.remainder.isEmpty }

    private var key: SQLFragment { "\(root.alias, "Z_PK")" }

    private func statement(_ columns: [SQLFragment], isDistinct: Bool = false, tail: SQLFragment) -> CompiledRows {
        var sql: SQLFragment = isDistinct ? "SELECT DISTINCT " : "SELECT "
        sql += columns.isEmpty ? "1" : columns.joined(separator: ", ")
        sql += " FROM \(identifier: root.mapping.table) \(root.alias)\(root.joins)"
        if !conditions.isEmpty { sql += " WHERE \(conditions.joined(separator: " AND "))" }
        sql += tail
        return CompiledRows(
            query: sql.rendered(compiler.dialect), cells: selection.cells, shape: shape, remainder: remainder,
            reasons: reasons, probe: probe)
    }

    private var window: SQLFragment {
        compiler.dialect.window(limit: request.fetch.limit, offset: request.fetch.offset)
    }

    // MARK: Rows

    mutating func rows() throws -> CompiledRows {
        environment.names = request.isGrouped ? request.names : [:]
        shape.columns = try request.columns.map { try places($0.computed, environment.ofRows) }
        shape.keys = try request.keys.map { try places($0.computed, environment.ofRows) }
        shape.having = try request.having.map { having in
            try compiler.places(environment, &selection) { having.mapExpressions($0) }
        }
        if !split.remainder.isEmpty {
            let remainder = try split.remainder.count > 1 ? Predicate.and(split.remainder) : split.remainder[0]
            self.remainder = remainder
            if remainder.holdsBlock { throw NotExpressible("application code is evaluated in memory") }
            shape.predicate = try compiler.places(environment.ofRows, &selection) { remainder.mapExpressions($0) }
        }
        let isPlain =
            shape.columns == selection.cells.indices.map { .place($0) } && !request.isGrouped && shape.predicate == nil
            && request.columns.allSatisfy { $0.resultType == .undefined }
        let terms = request.isGrouped ? [] : try order()
        shape.isDistinct = !request.isDistinct
        var tail = SQLFragment()
        var isDistinct = false
        if request.isDistinct, isPlain, shape.isOrdered, let grouped = try distinct(terms) {
            (isDistinct, tail) = (terms.isEmpty, grouped)
            shape.isDistinct = !request.isShare
        } else if !terms.isEmpty {
            tail = " ORDER BY \((terms + [root.joins.isEmpty ? key : "+\(key)"]).joined(separator: ", "))"
        }
        shape.isWindowed =
            !request.isGrouped && shape.predicate == nil && shape.isOrdered && shape.isDistinct && !request.isShare
        if shape.isWindowed { tail += window }
        return statement(selection.columns, isDistinct: isDistinct, tail: tail)
    }

    private mutating func places(_ expression: Expression, _ environment: Environment) throws -> Expression {
        try compiler.places(expression, environment, &selection)
    }

    /// Returns the terms of ORDER BY.
    ///
    /// The list is empty without sort descriptors. It is also empty if SQL cannot sort, or if other stores contribute
    /// rows; in these two cases, the method selects the values by which the rows are sorted in memory.
    private mutating func order() throws -> [SQLFragment] {
        // A copy, because the compiler changes while it calls the function.
        let request = request
        let descriptors = request.fetch.sortDescriptors
        if descriptors.isEmpty { return [] }
        if let terms = try compiler.order(descriptors, root, by: { request.column(of: $0)?.column }), !request.isShare {
            return terms
        }
        if let obstacle = compiler.orderObstacle, !reasons.contains(obstacle) { reasons.append(obstacle) }
        shape.isOrdered = false
        shape.order = try descriptors.map { descriptor in
            let place =
                try request.column(of: descriptor).map { shape.columns[$0.place] }
                ?? places(.keyPath(descriptor.path), environment)
            if let index = place.rowPlace, selection.cells[index].form == .object {
                throw NotExpressible("\"\(descriptor.keyPath)\" is an object, and objects are ordered in memory")
            }
            return place
        }
        shape.order.append(try places(.key("self.objectID"), environment))
        return []
    }

    /// Returns the clause that makes ordered rows distinct, or nil if a sort key is not a selected column.
    ///
    /// The clause is empty without terms, because DISTINCT suffices. With terms, the clause groups equal rows, and
    /// orders the groups by the terms and by their lowest primary keys.
    private mutating func distinct(_ terms: [SQLFragment]) throws -> SQLFragment? {
        if terms.isEmpty { return "" }
        for descriptor in request.fetch.sortDescriptors {
            let column = try compiler.operand(
                request.column(of: descriptor)?.column.computed ?? .keyPath(descriptor.path), environment)
            guard selection.columns.contains(column.sql) else { return nil }
        }
        return
            " GROUP BY \(selection.columns.joined(separator: ", ")) ORDER BY \(terms.joined(separator: ", ")), MIN(\(key))"
    }
}

// MARK: - Groups

extension RowsDraft {
    mutating func groups() throws -> CompiledRows {
        environment.names = request.names
        let keys = try request.keys.map { try compiler.operand(of: $0, environment) }
        environment.isGroup = true
        environment.keys = Dictionary(zip(request.keys.map(\.computed), keys)) { first, _ in first }
        var unnamed = environment
        unnamed.names = [:]
        shape.columns = try request.columns.map { try places($0.computed, unnamed) }
        shape.keys = try request.keys.map { try places($0.computed, unnamed) }
        shape.isGrouped = true
        var tail = SQLFragment()
        if !keys.isEmpty { tail += " GROUP BY \(keys.map(\.sql).joined(separator: ", "))" }
        if let having = request.having { tail += try condition(having, unnamed) }
        // If every grouping key is a column, the rows are distinct.
        let areColumns = request.keys.allSatisfy { key in request.columns.contains { $0.name == key.name } }
        shape.isDistinct = !request.isDistinct || areColumns
        if let terms = try groupOrder(unnamed) {
            let all = terms + keys.map(\.sql)
            if !all.isEmpty { tail += " ORDER BY \(all.joined(separator: ", "))" }
        } else {
            shape.isOrdered = false
        }
        shape.isWindowed = shape.isOrdered && shape.isDistinct && shape.having == nil
        if shape.isWindowed { tail += window }
        // For a COUNT(*) that is the only column, SQLite adds up the entries of each page. In a damaged file whose
        // pages form a cycle, this loop would never end. A second column prevents it.
        let isAlone = keys.isEmpty && selection.columns.count == 1
        return statement(selection.columns + (isAlone ? ["1"] : []), tail: tail)
    }

    /// Returns the HAVING clause, which is empty if the condition is always true or must be evaluated in memory.
    private mutating func condition(_ having: Predicate, _ unnamed: Environment) throws -> SQLFragment {
        let joins = root.state
        do {
            let plain = try compiler.unnamed(having, environment)
            let condition = try compiler.condition(plain, unnamed)
            return condition.constant == true ? "" : " HAVING \(condition.sql)"
        } catch let obstacle as NotExpressible {
            root.state = joins
            reasons.append(obstacle.reason)
            shape.having = try compiler.places(environment, &selection) { having.mapExpressions($0) }
            return ""
        }
    }

    private mutating func groupOrder(_ unnamed: Environment) throws -> [SQLFragment]? {
        do {
            return try request.fetch.sortDescriptors.map { descriptor in
                guard let column = request.names[descriptor.keyPath] else {
                    throw NotExpressible(
                        "groups are ordered in memory by \"\(descriptor.keyPath)\", which is not a fetched column")
                }
                if descriptor.comparator != nil {
                    throw NotExpressible("the application's comparator of \"\(descriptor.keyPath)\" sorts in memory")
                }
                let operand = try compiler.operand(of: column, unnamed)
                if operand.entity != nil {
                    throw NotExpressible("\"\(descriptor.keyPath)\" is an object, and objects are ordered in memory")
                }
                let collation =
                    operand.kind.isTextual ? compiler.dialect.collation(for: descriptor.selector) : ""
                return "\(operand.sql)\(collation)\(descriptor.ascending ? "" : " DESC")"
            }
        } catch let obstacle as NotExpressible {
            reasons.append(obstacle.reason)
            return nil
        }
    }
}
