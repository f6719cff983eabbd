import CorestoneGraph
import CorestoneModel
import CorestonePredicate

/// One table of a statement and the tables that are joined to it along to-one relationships.
final class Scope {
    let mapping: TableMapping
    let alias: Alias
    /// The to-one paths that must not be nil for the condition to be true.
    ///
    /// The tables at these paths use inner joins, other tables left joins.
    let required: Set<String>
    /// The joins so far. The compiler restores an earlier state if SQL cannot express a condition.
    var state = State()

    struct State {
        fileprivate(set) var joins = SQLFragment()
        /// The joined tables by path.
        fileprivate var joined: [String: (alias: Alias, mapping: TableMapping)] = [:]
    }

    var joins: SQLFragment { state.joins }

    init(_ mapping: TableMapping, alias: Alias, required: Set<String>) {
        self.mapping = mapping
        self.alias = alias
        self.required = required
    }

    /// Returns the table at the end of a to-one path, and joins it on its first use.
    func join(
        _ path: String, from source: Alias, column: String, to mapping: @autoclosure () throws -> TableMapping,
        alias: @autoclosure () -> Alias
    ) rethrows -> (alias: Alias, mapping: TableMapping) {
        if let known = state.joined[path] { return known }
        let made = (alias: alias(), mapping: try mapping())
        state.joined[path] = made
        state.joins += required.contains(path) ? " JOIN " : " LEFT JOIN "
        state.joins += "\(identifier: made.mapping.table) \(made.alias) ON \(made.alias, "Z_PK") = \(source, column)"
        return made
    }
}

/// The scopes and names to which an expression can refer while it is compiled.
struct Environment {
    /// The scope of the evaluated object.
    let root: Scope
    /// The variables of the enclosing subqueries.
    var variables: [String: Scope] = [:]
    /// Whether expressions are evaluated for groups instead of rows.
    ///
    /// A statistical function then covers the rows of a group.
    var isGroup = false
    /// The grouping keys.
    var keys: [Expression: Operand] = [:]
    /// The columns of groups by name, if names refer to columns.
    var names: [String: FetchedColumn] = [:]

    /// The environment for the rows of the groups.
    var ofRows: Environment { Environment(root: root) }
}
