import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension PredicateCompiler {
    mutating func operand(_ expression: Expression, _ environment: Environment) throws -> Operand {
        if let value = try constant(expression, environment) { return try operand(value) }
        switch expression {
        case .function(let function, let arguments): return try call(function, arguments, environment)
        case .ternary(let condition, let first, let second):
            return try choice(condition, first, second, environment)
        case .path(.subquery(let collection, let name, let condition), let path):
            guard let operation = path.keys[0].collectionOperator else { break }
            return try aggregate(
                operation, of: collection, path.keys[1...], environment, filter: (name, condition))
        case .indexed(.subquery(let collection, let name, let condition), .size):
            return try aggregate(.count, of: collection, [], environment, filter: (name, condition))
        case .indexed(let collection, .size):
            return try aggregate(.count, of: collection, [], environment, filter: nil)
        default:
            guard let (scope, keys) = path(expression, environment) else { break }
            if let place = keys.firstIndex(where: { $0.collectionOperator != nil }),
                let operation = keys[place].collectionOperator
            {
                return try aggregate(
                    operation, scope, keys[..<place], keys[(place + 1)...], environment, filter: nil)
            }
            return try operand(try resolve(keys, scope))
        }
        throw NotExpressible("\(expression.format) is computed in memory")
    }

    /// The value of an attribute, which the column must have: large ones lie in files that SQL does not read.
    func column(_ sql: SQLFragment, _ attribute: Attribute) throws -> Operand {
        if attribute.allowsExternalStorage {
            throw NotExpressible("\(attribute.name) may lie in files; it is compared in memory")
        }
        if attribute.type == .transformable {
            throw NotExpressible("\(attribute.name) is transformable; what its bytes stand for is compared in memory")
        }
        return Operand(sql: sql, kind: Operand.Kind(attribute.type))
    }

    func operand(_ path: ResolvedPath) throws -> Operand {
        switch path {
        case .attribute(let sql, let attribute): return try column(sql, attribute)
        case .object(let sql, let entity, let isNullable):
            return Operand(sql: sql, kind: .object(ObjectIdentifier(entity.root)), isNullable: isNullable)
        case .toMany(let members):
            throw NotExpressible(
                "\(members.relationship.name) is a collection; compared as a whole it is computed in memory")
        }
    }

    /// A constant as an operand.
    func operand(_ value: PropertyValue) throws -> Operand {
        if case .object(let object) = value {
            guard let id = (object as? ManagedObject)?.objectID ?? (object as? ObjectIDReference)?.id else {
                throw NotExpressible("\(object.valueDescription) is no managed object")
            }
            let isHere = !id.isTemporary && id.store?.identifier == storeIdentifier
            // Unsaved objects and those of other stores are in no row; no primary key is below 1.
            let key = SQLValue.integer(isHere ? id.reference : -1)
            return Operand(
                sql: "\(bind: key)", kind: .object(ObjectIdentifier(id.entity.root)), isNullable: false, constant: value
            )
        }
        guard let kind = Operand.Kind(value) else { throw NotExpressible("a dictionary has no place in SQL") }
        guard let bound = SQLValue(value) else {
            return Operand(sql: "", kind: kind, isNullable: false, constant: value)
        }
        return Operand(sql: "\(bind: bound)", kind: kind, isNullable: value.isNull, constant: value)
    }

    /// The value of an expression that depends on no row; nil for all others.
    func constant(_ expression: Expression, _ environment: Environment) throws -> PropertyValue? {
        if case .constant(let value) = expression { return value }
        guard isConstant(expression, environment) else { return nil }
        return try expression.value(with: .null, arithmetic: .nilPropagating)
    }

    private func isConstant(_ expression: Expression, _ environment: Environment) -> Bool {
        switch expression {
        case .constant: true
        // An unbound variable has no value anywhere; evaluating it says so.
        case .variable(let name): environment.variables[name] == nil
        case .function(let function, let arguments):
            ![.random, .randomBelow, .randomBelowN].contains(function)
                && arguments.allSatisfy { isConstant($0, environment) }
        case .aggregate(let parts): parts.allSatisfy { isConstant($0, environment) }
        case .path(let base, _): isConstant(base, environment)
        case .cast(let value, let type): isConstant(value, environment) && isConstant(type, environment)
        case .setOperation(_, let left, let right): isConstant(left, environment) && isConstant(right, environment)
        case .indexed(let base, let index):
            if case .value(let place) = index {
                isConstant(base, environment) && isConstant(place, environment)
            } else {
                isConstant(base, environment)
            }
        default: false
        }
    }

    /// `TERNARY(condition, a, b)`
    private mutating func choice(
        _ condition: Predicate, _ first: Expression, _ second: Expression, _ environment: Environment
    ) throws -> Operand {
        let test = try self.condition(condition, environment)
        let (a, b) = (try operand(first, environment), try operand(second, environment))
        if let constant = test.constant { return constant ? a : b }
        let kind = a.kind == .null ? b.kind : a.kind
        guard a.kind == b.kind || a.kind == .null || b.kind == .null, kind != .list else {
            throw NotExpressible("TERNARY gives values of two kinds")
        }
        return Operand(
            sql: "CASE WHEN \(test.sql) THEN \(a.sql) ELSE \(b.sql) END", kind: kind,
            isNullable: a.isNullable || b.isNullable)
    }

    /// Arithmetic that SQL does as memory does it.
    private mutating func call(
        _ function: Function, _ arguments: [Expression], _ environment: Environment
    ) throws -> Operand {
        if function == .noIndex { return try operand(arguments[0], environment) }
        if [.sum, .count, .min, .max, .average].contains(function) {
            throw NotExpressible(
                "\(function.rawValue) is computed in memory; a key path with @\(function) would not be")
        }
        guard let symbol = PredicateCompiler.symbols[function] else {
            throw NotExpressible("\(function.rawValue) is computed in memory")
        }
        let operands = try arguments.map { try operand($0, environment) }
        for operand in operands where !operand.kind.isNumber && operand.kind != .null {
            throw CoreError(
                .predicate, "\(function.rawValue) takes numbers, not \(operand.kind.name)", value: operand.constant)
        }
        if operands.contains(where: { $0.kind == .decimal }) {
            throw NotExpressible("decimals are exact in memory only")
        }
        let isBitwise = [.bitwiseAnd, .bitwiseOr, .onesComplement].contains(function)
        if isBitwise, operands.contains(where: { $0.kind != .integer }) {
            throw NotExpressible("\(symbol) of a fraction is computed in memory")
        }
        let kind: Operand.Kind = operands.contains { $0.kind == .real } ? .real : .integer
        if operands.count == 1 {
            if function == .abs { return Operand(sql: "abs(\(operands[0].sql))", kind: kind) }
            return Operand(sql: "(\(word: symbol)\(operands[0].sql))", kind: kind)
        }
        // A division by zero is NULL, whatever is divided.
        return Operand(sql: "(\(operands[0].sql) \(word: symbol) \(operands[1].sql))", kind: kind)
    }

    private static let symbols: [Function: StaticString] = [
        .add: "+", .subtract: "-", .multiply: "*", .divide: "/", .bitwiseAnd: "&", .bitwiseOr: "|", .negate: "-",
        .onesComplement: "~", .abs: "abs",
    ]
}
