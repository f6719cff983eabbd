import CorestoneModel
import CorestonePredicate
import CorestoneValues

// Statistical functions over the rows of a group. As in the in-memory evaluator, nulls are ignored. Without values, sum
// and count are the integer 0, and other results are null.
extension PredicateCompiler {
    /// Compiles an expression of a group, or returns nil for other expressions.
    ///
    /// An expression of a group is a grouping key, or a statistical function over the group's rows.
    mutating func groupOperand(_ expression: Expression, _ environment: Environment) throws -> Operand? {
        if let key = environment.keys[expression] { return key }
        guard let (function, argument) = expression.aggregatedArgument(of: environment.root.mapping.entity) else {
            return nil
        }
        return try statistic(function, argument, environment.ofRows)
    }

    mutating func statistic(
        _ function: Function, _ argument: Expression, _ environment: Environment
    ) throws -> Operand {
        let operand = try operand(argument, environment)
        let kind = operand.kind
        if kind == .null || kind == .list {
            throw NotExpressible("\(function.rawValue) of \"\(argument.format)\", \(kind.name), is computed in memory")
        }
        switch function {
        case .count:
            return Operand(
                sql: operand.isNullable ? "COUNT(\(operand.sql))" : "COUNT(*)", kind: .integer, isNullable: false,
                form: .small)
        case .min, .max:
            guard kind.isOrdered || kind == .uuid else { break }
            let sql: SQLFragment = function == .min ? "MIN(\(operand.sql))" : "MAX(\(operand.sql))"
            return Operand(sql: sql, kind: kind, form: operand.form)
        case .sum, .average:
            try requireNumbers(operand, function, argument, environment)
            if kind == .decimal {
                throw NotExpressible("\(function.rawValue) of \"\(argument.format)\", a decimal, is computed in memory")
            }
            if function == .sum { return Operand(sql: operand.sum, kind: .number, isNullable: false) }
            return Operand(
                sql: kind == .real
                    ? "AVG(\(operand.sql))" : "(CAST(\(operand.sum) AS REAL) / COUNT(\(operand.sql)))", kind: .real)
        default: break
        }
        throw NotExpressible("\(function.rawValue) of \"\(argument.format)\", \(kind.name), is computed in memory")
    }

    /// Compiles a statistical function as a registered aggregate function.
    ///
    /// The registered function collects the values, and computes its result as the in-memory evaluator does. SQL can
    /// select the result, but cannot compare or sort by it.
    mutating func gathered(
        _ function: Function, _ argument: Expression, _ environment: Environment
    ) throws -> Operand {
        let operand = try operand(argument, environment)
        guard let gathering = GatheringFunction(function), let cell = RowCell(operand) else {
            throw NotExpressible(
                "\(function.rawValue) of \"\(argument.format)\", \(operand.kind.name), is computed in memory")
        }
        try requireNumbers(operand, function, argument, environment)
        return Operand(
            sql: "\(gathering.sql)(\(operand.sql), \(number: Int64(cell.form.rawValue)))", kind: .list)
    }

    private func requireNumbers(
        _ operand: Operand, _ function: Function, _ argument: Expression, _ environment: Environment
    ) throws {
        guard !operand.kind.isNumber else { return }
        let (entity, key) = names(of: operand, argument, environment)
        throw CoreError(
            .predicate, "\(function.rawValue) takes numbers\(operand.mismatch(argument))", entity: entity, key: key,
            value: operand.constant)
    }
}

extension Operand {
    /// The sum over rows; 0 without rows.
    ///
    /// SQL's own function fails if a sum of integers exceeds 64 bits, so it is used only where that cannot happen.
    var sum: SQLFragment {
        kind == .real || form == .small || form == .boolean ? "COALESCE(SUM(\(sql)), 0)" : "cst_sum(\(sql))"
    }
}

/// A statistical function that a registered aggregate function computes.
///
/// The arguments of the SQL function are a value and the raw value of the value's `RowCell.Form`. The SQL function
/// returns the index of its result in the connection's list of results. It is used where no function of SQLite returns
/// the same results as the in-memory evaluator.
package enum GatheringFunction: String, CaseIterable, Sendable {
    case sum = "cst_exact_sum"
    case average = "cst_exact_average"
    case median = "cst_median"
    case deviation = "cst_deviation"

    init?(_ function: Function) {
        switch function {
        case .sum: self = .sum
        case .average: self = .average
        case .median: self = .median
        case .standardDeviation: self = .deviation
        default: return nil
        }
    }

    /// Evaluates the function as the in-memory evaluator does.
    ///
    /// - Parameter values: The values of all rows, without nulls.
    package func value(of values: [PropertyValue]) throws -> PropertyValue {
        if values.isEmpty { return self == .sum ? .int(0) : .null }
        let function: Function =
            switch self {
            case .sum: .sum
            case .average: .average
            case .median: .median
            case .deviation: .standardDeviation
            }
        return try Expression.function(function, [.constant(.array(values))]).value(
            with: .null, arithmetic: .nilPropagating)
    }

    var sql: SQLFragment {
        switch self {
        case .sum: "cst_exact_sum"
        case .average: "cst_exact_average"
        case .median: "cst_median"
        case .deviation: "cst_deviation"
        }
    }
}
