import CorestoneModel
import CorestonePredicate
import CorestoneValues

// Calls of functions. SQL's own functions are used if they return the same results as the in-memory evaluator. Other
// functions are registered by the store or computed in memory.
extension PredicateCompiler {
    mutating func call(
        _ function: Function, _ arguments: [Expression], _ environment: Environment
    ) throws -> Operand {
        switch function {
        case .noIndex, .inverseOrderKey: return try operand(arguments[0], environment)
        case .indexedBy:
            try checkIndex(named: arguments[1], over: arguments[0], environment)
            return try operand(arguments[0], environment)
        case .sum, .count, .min, .max, .average: return try statistics(function, arguments, environment)
        case .castObject: return try cast(arguments[0], to: arguments[1], environment)
        case .uppercase, .lowercase, .canonical, .length:
            return try text(function, arguments[0], environment)
        case _ where function.takesDate: return try part(function, arguments[0], environment)
        default:
            guard function.infix != nil || ComputedFunction.call(function, []) != nil || function == .negate else {
                throw NotExpressible("\"\(Expression.function(function, arguments).format)\" is computed in memory")
            }
            let operands = try arguments.map { try operand($0, environment) }
            for (operand, argument) in zip(operands, arguments) where !operand.kind.isNumber && operand.kind != .null {
                let wanted = operands.count == 1 ? "a number" : "numbers"
                let (entity, key) = names(of: operand, argument, environment)
                throw CoreError(
                    .predicate, "\(function.rawValue) takes \(wanted)\(operand.mismatch(argument))", entity: entity,
                    key: key, value: operand.constant)
            }
            return try arithmetic(function, operands)
        }
    }

    private mutating func text(
        _ function: Function, _ argument: Expression, _ environment: Environment
    ) throws -> Operand {
        let operand = try operand(argument, environment)
        if operand.kind == .null { return operand }
        guard operand.kind.isTextual else {
            let (entity, key) = names(of: operand, argument, environment)
            throw CoreError(
                .predicate, "\(function.rawValue) takes a string\(operand.mismatch(argument))", entity: entity,
                key: key,
                value: operand.constant)
        }
        return computed(function, [operand], function == .length ? .integer : .text)
    }

    /// Compiles a part of a date, or the start of the period that contains it.
    private mutating func part(
        _ function: Function, _ argument: Expression, _ environment: Environment
    ) throws -> Operand {
        let operand = try operand(argument, environment)
        if operand.kind == .null { return operand }
        guard operand.kind == .date else {
            let (entity, key) = names(of: operand, argument, environment)
            throw CoreError(
                .predicate, "\(function.rawValue) takes a date\(operand.mismatch(argument))", entity: entity, key: key,
                value: operand.constant)
        }
        return computed(function, [operand], function.startsPeriod ? .date : .integer)
    }

    private func computed(_ function: Function, _ operands: [Operand], _ kind: Operand.Kind) -> Operand {
        // The in-memory evaluator computes with doubles, but a decimal column may hold an integer.
        let arguments = operands.map { $0.kind == .decimal ? "CAST(\($0.sql) AS REAL)" : $0.sql }
        return Operand(sql: ComputedFunction.call(function, arguments) ?? "NULL", kind: kind)
    }

    private func arithmetic(_ function: Function, _ operands: [Operand]) throws -> Operand {
        let kinds = operands.map(\.kind)
        let isWhole = kinds.allSatisfy { $0 == .integer }
        switch function {
        case .negate:
            return Operand(sql: "(-\(operands[0].sql))", kind: kinds[0] == .integer ? .number : kinds[0])
        case .abs where kinds[0] == .real || kinds[0] == .decimal:
            return Operand(sql: "abs(\(operands[0].sql))", kind: kinds[0])
        case .add, .subtract, .multiply, .divide: return try sum(function, operands)
        case .bitwiseAnd, .bitwiseOr, .leftShift, .rightShift, .modulus:
            guard isWhole, let symbol = PredicateCompiler.symbols[function] else { break }
            return Operand(sql: "(\(operands[0].sql) \(word: symbol) \(operands[1].sql))", kind: .integer)
        case .onesComplement where isWhole: return Operand(sql: "(~\(operands[0].sql))", kind: .integer)
        case .sqrt, .exp, .log10, .naturalLog, .power: return computed(function, operands, .real)
        default: break
        }
        return computed(function, operands, function.infix == nil || kinds.contains(.decimal) ? .number : .integer)
    }

    /// Compiles the four basic operations.
    ///
    /// As in the in-memory evaluator, the result of two integers is an integer unless it overflows, and the result of a
    /// division by zero is nil.
    private func sum(_ function: Function, _ operands: [Operand]) throws -> Operand {
        let kinds = operands.map(\.kind)
        guard let symbol = PredicateCompiler.symbols[function] else {
            throw NotExpressible("\(function.rawValue) is computed in memory")
        }
        var (a, b) = (operands[0].sql, operands[1].sql)
        if kinds.contains(.decimal) {
            // Decimals are converted to doubles only if another operand is a double.
            guard kinds.contains(.real) else {
                let name = operands.first { $0.kind == .decimal && $0.attribute != nil }?.attributeName
                throw NotExpressible("decimal arithmetic\(name.map { " with \($0)" } ?? "") is computed in memory")
            }
            (a, b) = ("CAST(\(a) AS REAL)", "CAST(\(b) AS REAL)")
        }
        return Operand(sql: "(\(a) \(word: symbol) \(b))", kind: kinds.contains(.real) ? .real : .number)
    }

    private static let symbols: [Function: StaticString] = [
        .add: "+", .subtract: "-", .multiply: "*", .divide: "/", .bitwiseAnd: "&", .bitwiseOr: "|", .leftShift: "<<",
        .rightShift: ">>", .modulus: "%",
    ]

    /// Compiles `sum(rel.key)` and similar functions as collection operators.
    ///
    /// Only `count` differs: the count of nil is 0.
    private mutating func statistics(
        _ function: Function, _ arguments: [Expression], _ environment: Environment
    ) throws -> Operand {
        let operations: [Function: CollectionOperator] = [
            .count: .count, .sum: .sum, .min: .minimum, .max: .maximum,
        ]
        guard arguments.count == 1, let operation = operations[function],
            let members = try members(arguments[0], environment)
        else { throw NotExpressible("\"\(Expression.function(function, arguments).format)\" is computed in memory") }
        var operand = try aggregate(operation, members, [], environment)
        if function == .count {
            operand = Operand(sql: "COALESCE(\(operand.sql), 0)", kind: .integer, isNullable: false)
        }
        return operand
    }

    // MARK: Casts and keys of plain values

    mutating func cast(_ value: Expression, to type: Expression, _ environment: Environment) throws -> Operand {
        guard case .text(let name)? = try constant(type, environment) else {
            throw NotExpressible(
                "CAST of \"\(value.format)\" to \"\(type.format)\", a computed type, is evaluated in memory")
        }
        let operand = try operand(value, environment)
        switch (name.string, operand.kind) {
        case (_, .null): return operand
        case ("NSDate", .date), ("NSString", .text), ("NSDecimalNumber", .decimal): return operand
        case ("NSNumber", let kind) where kind.isNumber: return operand
        case ("NSDate", let kind) where kind.isNumber:
            return Operand(sql: "CAST(\(operand.sql) AS REAL)", kind: .date, isNullable: operand.isNullable)
        case ("NSNumber", .date): return Operand(sql: operand.sql, kind: .real, isNullable: operand.isNullable)
        default: throw NotExpressible("CAST of \"\(value.format)\" to \"\(name.string)\" is computed in memory")
        }
    }

    /// Compiles a key that is evaluated on a value, such as `length` on the value of a string attribute.
    func key(_ key: KeyName, of operand: Operand) throws -> Operand {
        switch (key.text, operand.kind) {
        case ("self", _): return operand
        case ("length", .text), ("length", .uri): return computed(.length, [operand], .integer)
        case ("length", .bytes): return Operand(sql: "length(\(operand.sql))", kind: .integer)
        case ("uppercaseString", .text): return computed(.uppercase, [operand], .text)
        case ("lowercaseString", .text): return computed(.lowercase, [operand], .text)
        case ("absoluteString", .uri): return Operand(sql: operand.sql, kind: .text)
        case ("timeIntervalSinceReferenceDate", .date): return Operand(sql: operand.sql, kind: .real)
        case ("timeIntervalSince1970", .date): return Operand(sql: "(\(operand.sql) + 978307200.0)", kind: .real)
        case ("doubleValue", let kind) where kind.isNumber:
            return Operand(sql: "CAST(\(operand.sql) AS REAL)", kind: .real)
        default:
            throw NotExpressible(
                "\"\(key.text)\" of \(operand.attributeName ?? operand.kind.name) is computed in memory")
        }
    }
}
