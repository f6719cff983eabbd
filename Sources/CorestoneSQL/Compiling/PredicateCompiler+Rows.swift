import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension PredicateCompiler {
    /// Replaces each part of an expression that SQL can compute with the part's position in a row.
    ///
    /// - Throws: `NotExpressible` if the expression needs objects.
    mutating func places(
        _ expression: Expression, _ environment: Environment, _ selection: inout RowSelection
    ) throws -> Expression {
        try places(environment, &selection) { expression.mapped($0) }
    }

    /// Replaces the parts that SQL can compute in every expression of a tree, such as a predicate.
    ///
    /// - Parameter mapped: A function that applies a replacement to each expression of the tree.
    mutating func places<Tree>(
        _ environment: Environment, _ selection: inout RowSelection, _ mapped: ((Expression) -> Expression?) -> Tree
    ) throws -> Tree {
        var failure: (any Error)?
        let tree = mapped { part in
            if failure != nil { return part }
            do { return try self.place(part, environment, &selection) } catch {
                failure = error
                return part
            }
        }
        if let failure { throw failure }
        return tree
    }

    /// Returns the replacement of an expression, or nil to replace its parts.
    private mutating func place(
        _ expression: Expression, _ environment: Environment, _ selection: inout RowSelection
    ) throws -> Expression? {
        if case .keyPath(let path) = expression, environment.names[path.text] != nil { return expression }
        if let key = environment.keys[expression].flatMap({ selection.place($0) }) { return .place(key) }
        if let (function, argument) = expression.aggregatedArgument(of: environment.root.mapping.entity) {
            if environment.isGroup { return try place(function, argument, environment, &selection) }
            return .function(function, [try places(argument, environment.ofRows, &selection)])
        }
        if isConstant(expression, environment) { return expression }
        if let place = try attempt(environment, { try $0.operand(expression, environment) })
            .flatMap({ selection.place($0) })
        {
            return .place(place)
        }
        if expression.condition?.holdsBlock == true { throw NotExpressible("application code is evaluated in memory") }
        switch expression {
        case .function, .aggregate, .cast, .ternary, .setOperation: return nil
        case .indexed(let base, _) where base.keyPaths.isEmpty: return nil
        case .keyPath(let path), .path(.selfObject, let path):
            return try plainValue(path, environment, &selection)
        default: throw NotExpressible("\"\(expression.format)\" is computed in memory")
        }
    }

    private mutating func place(
        _ function: Function, _ argument: Expression, _ environment: Environment, _ selection: inout RowSelection
    ) throws -> Expression {
        let rows = environment.ofRows
        let statistic =
            try attempt(environment, { try $0.statistic(function, argument, rows) })
            ?? gathered(function, argument, rows)
        guard let place = selection.place(statistic) else {
            throw NotExpressible("\"\(Expression.function(function, [argument]).format)\" is computed in memory")
        }
        return .place(place)
    }

    /// Compiles a path whose last keys are evaluated in memory, on the value of an attribute.
    private mutating func plainValue(
        _ path: KeyPath, _ environment: Environment, _ selection: inout RowSelection
    ) throws -> Expression {
        for count in stride(from: path.keys.count - 1, to: 0, by: -1) {
            let head = Expression.keyPath(KeyPath(keys: Array(path.keys[..<count])))
            if let operand = try attempt(environment, { try $0.operand(head, environment) }), operand.entity == nil,
                let place = selection.place(operand)
            {
                return .path(.place(place), KeyPath(keys: Array(path.keys[count...])))
            }
        }
        throw NotExpressible("\"\(path.text)\" is computed in memory")
    }

    /// Compiles an operand. If SQL cannot express it, removes the joins that were added for it and returns nil.
    private mutating func attempt(
        _ environment: Environment, _ body: (inout PredicateCompiler) throws -> Operand
    ) throws -> Operand? {
        let joins = environment.root.state
        do { return try body(&self) } catch is NotExpressible {
            environment.root.state = joins
            return nil
        }
    }

    // MARK: Names

    /// Replaces the names of columns in a HAVING predicate with the expressions of the columns.
    ///
    /// - Throws: `NotExpressible` if the values of a column are computed, or converted to another type, in memory.
    mutating func unnamed(_ having: Predicate, _ environment: Environment) throws -> Predicate {
        var failure: (any Error)?
        let found = having.mapExpressions { part in
            if part.aggregatedArgument(of: environment.root.mapping.entity) != nil { return part }
            guard case .keyPath(let path) = part, let column = environment.names[path.text] else { return nil }
            do { _ = try self.operand(of: column, environment) } catch { failure = failure ?? error }
            return column.computed
        }
        if let failure { throw failure }
        return found
    }

    /// Returns the operand by which SQL orders and compares a column.
    mutating func operand(of column: FetchedColumn, _ environment: Environment) throws -> Operand {
        let operand = try operand(column.computed, environment)
        guard let cell = RowCell(operand), cell.form != .gathered else {
            throw NotExpressible("the values of \"\(column.name)\" are computed in memory")
        }
        guard operand.keepsOrder(cell.form, as: column.resultType) else {
            throw NotExpressible(
                "the values of \"\(column.name)\" are converted to \(column.resultType.displayName) in memory")
        }
        return operand
    }
}

extension Predicate {
    /// Whether the predicate is a block, which is application code, or combines one with other predicates.
    var holdsBlock: Bool {
        switch self {
        case .block: true
        case .compound(let compound): compound.parts.contains(where: \.holdsBlock)
        case .constant, .comparison: false
        }
    }
}

extension Operand {
    /// Whether values compare the same before and after their conversion to a type.
    ///
    /// Large integers lose digits as doubles.
    fileprivate func keepsOrder(_ cell: RowCell.Form, as type: AttributeType) -> Bool {
        let isSmall = cell == .integer16 || cell == .integer32
        return switch (type, isSmall ? RowCell.Form.integer : cell) {
        case (_, .gathered): false
        case (.double, .integer): form == .small
        case (.undefined, _), (.integer16, .integer), (.integer32, .integer), (.integer64, .integer), (.boolean, .bool),
            (.double, .real), (.decimal, .decimal), (.string, .text), (.date, .date), (.uri, .uri), (.uuid, .uuid),
            (.binary, .bytes):
            true
        default: false
        }
    }
}
