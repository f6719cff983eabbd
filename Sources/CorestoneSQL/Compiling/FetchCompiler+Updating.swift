import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension FetchCompiler {
    /// Compiles a batch update to one statement that changes every row of a fetch.
    ///
    /// - Parameter isUnique: Returns whether a unique constraint covers a slot. Computed values of such a slot could
    ///   collide while the statement runs, so they are computed in memory.
    /// - Returns: A statement that returns each row's primary key, entity number and computed values; nil if the update
    ///   must be computed in memory.
    package func compile(
        _ fetch: StoreFetch, setting settings: [BatchSetting], isUnique: (Int) -> Bool
    ) throws -> CompiledUpdate? {
        let found = try compile(fetch, spatial: .named)
        if found.remainder != nil { return nil }
        let mapping = try schema.mapping(of: fetch.entity)
        var compiler = PredicateCompiler(schema: schema, storeIdentifier: storeIdentifier, dialect: dialect)
        let scope = Scope(mapping, alias: compiler.newAlias(), required: [])
        var head: SQLFragment =
            "UPDATE \(identifier: mapping.table) AS \(scope.alias) SET \(identifier: "Z_OPT") = max(ifnull(\(identifier: "Z_OPT"), 0), 0) % 2147483647 + 1"
        var tail: SQLFragment = " RETURNING \(identifier: "Z_PK"), \(identifier: "Z_ENT")"
        var computed: [Int] = []
        for setting in settings {
            guard case .attribute(let column) = mapping.properties[setting.slot] else { return nil }
            head += ", \(identifier: column) = "
            if let constant = setting.value.constantValue {
                guard let value = SQLValue(constant) else { return nil }
                head += "\(bind: value)"
                continue
            }
            let operand: Operand
            do { operand = try compiler.operand(setting.value, Environment(root: scope)) } catch is NotExpressible {
                return nil
            }
            guard operand.kind.fits(fetch.entity.attribute(setting.slot).type), scope.joins.isEmpty,
                !isUnique(setting.slot)
            else { return nil }
            head += operand.sql
            tail += ", \(identifier: column)"
            computed.append(setting.slot)
        }
        let (set, returned) = (head.rendered(dialect), tail.rendered(dialect))
        let text = "\(set.text) WHERE Z_PK IN (SELECT t0.Z_PK\(found.query.text))\(returned.text)"
        return CompiledUpdate(
            query: SQLQuery(text: text, bindings: set.bindings + found.query.bindings), computed: computed)
    }
}

/// A batch update that was compiled to one statement.
package struct CompiledUpdate: Sendable {
    package let query: SQLQuery
    /// The slots whose new values the statement returns after the primary key and the entity number.
    package let computed: [Int]
}

extension Operand.Kind {
    /// Whether SQL's result can be stored in an attribute of the type without a conversion in memory.
    fileprivate func fits(_ type: AttributeType) -> Bool {
        switch type {
        case .integer16, .integer32, .integer64: self == .integer || self == .number
        case .double: self == .integer || self == .number || self == .real
        case .string: self == .text
        default: false
        }
    }
}
