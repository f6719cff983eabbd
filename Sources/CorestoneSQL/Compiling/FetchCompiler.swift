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

    package init(schema: any SchemaMapping, storeIdentifier: String, dialect: any SQLDialect = SQLiteDialect()) {
        self.schema = schema
        self.storeIdentifier = storeIdentifier
        self.dialect = dialect
    }

    /// - Throws: `Status.predicate` for names that the model does not have and comparisons without a meaning: the same that
    ///   an evaluation in memory refuses. What only memory can do is no error: see `CompiledFetch.notExpressible`.
    package func compile(_ fetch: StoreFetch) throws -> CompiledFetch {
        do {
            return .query(try query(fetch).rendered(dialect))
        } catch let obstacle as NotExpressible {
            return .notExpressible(reason: obstacle.reason)
        }
    }

    private func query(_ fetch: StoreFetch) throws -> SQLFragment {
        let mapping = try schema.mapping(of: fetch.entity)
        var compiler = PredicateCompiler(schema: schema, storeIdentifier: storeIdentifier, dialect: dialect)
        let required = fetch.predicate.map { NullRejection(variable: nil).required($0) } ?? []
        let root = Scope(mapping, alias: compiler.newAlias(), required: required)
        let environment = Environment(root: root)
        var conditions: [SQLFragment] = []
        if let filter = entityFilter(mapping, root.alias, includesSubentities: fetch.includesSubentities) {
            conditions.append(filter)
        }
        if let predicate = fetch.predicate {
            let condition = try compiler.condition(predicate, environment)
            if condition.constant != true {
                conditions.append(condition.isConjunct ? condition.sql : condition.operand)
            }
        }
        var order: [SQLFragment] = []
        if fetch.result == .count {
            // A count needs no order and none of its joins, but a wrong key is a mistake all the same.
            let aside = Scope(mapping, alias: root.alias, required: [])
            _ = try compiler.order(fetch.sortDescriptors, aside)
        } else {
            order = try compiler.order(fetch.sortDescriptors, root)
        }
        var query: SQLFragment = " FROM \(identifier: mapping.table) \(root.alias)\(root.joins)"
        if !conditions.isEmpty { query += " WHERE \(conditions.joined(separator: " AND "))" }
        if !order.isEmpty { query += " ORDER BY \(order.joined(separator: ", "))" }
        return query + dialect.window(limit: fetch.limit, offset: fetch.offset)
    }

    /// The condition that keeps rows of other entities of the table away.
    private func entityFilter(_ mapping: EntityMapping, _ alias: Alias, includesSubentities: Bool) -> SQLFragment? {
        let isWhole = includesSubentities || mapping.numbers.count == 1
        if isWhole, !mapping.isTableShared { return nil }
        if !includesSubentities || mapping.numbers.count == 1 { return "\(alias, "Z_ENT") = \(number: mapping.number)" }
        let numbers = mapping.numbers.map { "\(number: $0)" as SQLFragment }
        return "\(alias, "Z_ENT") IN (\(numbers.joined(separator: ", ")))"
    }
}

/// What became of a fetch.
package enum CompiledFetch: Sendable {
    /// The query from FROM to LIMIT. The entity's table is `t0`; what is selected, the store puts before it.
    case query(SQLQuery)
    /// Only memory can tell which objects match: all objects of the entity are candidates.
    case notExpressible(reason: String)
}

extension SQLFragment {
    static func + (a: SQLFragment, b: SQLFragment) -> SQLFragment {
        var sum = a
        sum += b
        return sum
    }
}
