import CorestoneGraph
import CorestoneModel
import CorestonePredicate

/// One table of a statement and the tables that are joined to it along to-one relationships.
final class Scope {
    let mapping: EntityMapping
    let alias: Alias
    /// To-one paths without which no row can satisfy the condition: these join inside, all others from the left.
    let required: Set<String>
    /// What was joined so far; put back where a condition turns out to have no SQL.
    var state = State()

    struct State {
        fileprivate(set) var joins = SQLFragment()
        /// The joined tables by path.
        fileprivate var joined: [String: (alias: Alias, mapping: EntityMapping)] = [:]
    }

    var joins: SQLFragment { state.joins }

    init(_ mapping: EntityMapping, alias: Alias, required: Set<String>) {
        self.mapping = mapping
        self.alias = alias
        self.required = required
    }

    /// The table that a to-one path leads to; joined once, however often it is used.
    func join(
        _ path: String, from source: Alias, column: String, to mapping: @autoclosure () throws -> EntityMapping,
        alias: @autoclosure () -> Alias
    ) rethrows -> (alias: Alias, mapping: EntityMapping) {
        if let known = state.joined[path] { return known }
        let made = (alias: alias(), mapping: try mapping())
        state.joined[path] = made
        state.joins += required.contains(path) ? " JOIN " : " LEFT JOIN "
        state.joins += "\(identifier: made.mapping.table) \(made.alias) ON \(made.alias, "Z_PK") = \(source, column)"
        return made
    }
}

/// What names stand for where a predicate is compiled.
struct Environment {
    /// The object that is evaluated.
    let root: Scope
    /// The variables of the subqueries around.
    var variables: [String: Scope] = [:]
    /// Whether values of groups are meant, not of rows: statistical functions are over the rows of one.
    var isGroup = false
    /// What groups are grouped by.
    var keys: [Expression: Operand] = [:]
    /// The columns of groups by name, where names stand for them.
    var names: [String: FetchedColumn] = [:]

    /// The rows of the groups.
    var ofRows: Environment { Environment(root: root) }
}
