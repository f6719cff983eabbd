import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension FetchCompiler {
    /// The statement that changes all rows that a fetch would find. It gives for each row its key, the number of its entity, and
    /// what was computed for it. nil for what has to go through memory.
    ///
    /// - Parameter isUnique: whether values of a slot must differ. Computed ones might collide on their way, so memory does these.
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

/// A change of many rows by one statement.
package struct CompiledUpdate: Sendable {
    package let query: SQLQuery
    /// The slots whose new values the statement gives behind key and entity.
    package let computed: [Int]
}

extension Operand.Kind {
    /// Whether a column of such an attribute takes what SQL computes as it is; all else is converted in memory.
    fileprivate func fits(_ type: AttributeType) -> Bool {
        switch type {
        case .integer16, .integer32, .integer64: self == .integer || self == .number
        case .double: self == .integer || self == .number || self == .real
        case .string: self == .text
        default: false
        }
    }
}
