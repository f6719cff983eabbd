import CorestoneFormats
import CorestonePredicate
import CorestoneValues

/// Encoding of expressions, as by Foundation.
///
/// Fields that are not in any known archive follow the pattern of known ones; `Extrapolation` lists the expressions
/// with such fields.
extension KeyedArchiver {
    /// The numbers of Foundation's expression types.
    enum ExpressionType: Int64 {
        case constant = 0, selfObject, variable, keyPath, function, unionSet, intersectSet, minusSet
        case keyPathSpecifier = 10
        case symbol, variableAssignment, subquery, aggregate, anyKey
        case conditional = 20
        case fetchRequest = 50
    }

    /// Archives an expression.
    ///
    /// - Throws: `.unsupported` for an expression that cannot be archived.
    package func expression(_ expression: Expression) throws -> PropertyListValue {
        try spend(1)
        switch expression {
        case .constant(.null):
            return add("NSConstantValueExpression", .constant, ["NSConstantValueClassName": KeyedArchiver.null])
        case .constant(.array(let values)): return try aggregate(values.map { .constant($0) })
        case .constant(let value):
            try spend(value.elementCount)
            return add("NSConstantValueExpression", .constant, ["NSConstantValue": try plainData(value)])
        case .selfObject: return add("NSSelfExpression", .selfObject, [:])
        case .variable(let name): return add("NSVariableExpression", .variable, ["NSVariable": string(name)])
        case .keyPath(let path):
            let selector = path.single != nil ? "valueForKey:" : "valueForKeyPath:"
            return try keyPath(specifier(path), of: .selfObject, selector, .keyPath)
        case .path(let base, let path): return try keyPath(specifier(path), of: base)
        case .dynamicKey(let base, let name): return try keyPath(self.expression(.variable(name)), of: base)
        case .computedKey(let base, let key): return try keyPath(self.expression(key), of: base)
        case .aggregate(let elements): return try aggregate(elements)
        case .function(let function, let arguments):
            return try builtIn(function, arguments.map { try self.expression($0) })
        case .cast(let value, let type):
            return try builtIn(.castObject, [self.expression(value), self.expression(type)])
        case .indexed(let base, let index):
            return try builtIn(.elementAt, [self.expression(base), self.index(index)])
        case .message(let receiver, let selector, let arguments):
            guard case .constant(.text(let name)) = selector else {
                throw unarchivable(
                    "the selector \"\(selector)\" is not a constant string; write the selector as a string",
                    in: expression,
                    value: selector.constantValue)
            }
            return try call(
                name.string, of: self.expression(receiver), arguments.map { try self.expression($0) },
                className: ["NSFunctionExpression"])
        case .block:
            throw CoreError(
                .unsupported,
                "\"\(expression)\" cannot be archived: it is application code; write it as a format string",
                value: .string("\(expression)"))
        case .subquery, .ternary, .setOperation, .assignment, .anyKey, .fetch: return try composed(expression)
        }
    }

    /// Encodes a subquery, TERNARY, a set operation, an assignment, FETCH or ANYKEY.
    private func composed(_ expression: Expression) throws -> PropertyListValue {
        switch expression {
        case .subquery(let collection, let name, let condition):
            return add(
                "NSSubqueryExpression", .subquery,
                [
                    "NSCollection": try self.expression(collection), "NSVariable": string(name),
                    "NSPredicate": try predicate(condition),
                ])
        case .ternary(let condition, let first, let second):
            return add(
                "NSTernaryExpression", .conditional,
                [
                    "NSPredicate": try predicate(condition), "NSTrueExpression": try self.expression(first),
                    "NSFalseExpression": try self.expression(second),
                ])
        case .setOperation(let operation, let left, let right):
            return add(
                "NSSetExpression", operation.archiveType,
                [
                    "NSLeftExpression": try self.expression(left), "NSRightExpression": try self.expression(right),
                ])
        case .assignment(let name, let value):
            return add(
                "NSVariableAssignmentExpression", .variableAssignment,
                [
                    "NSVariable": string(name), "NSExpression": try self.expression(value),
                ])
        case .fetch(let request, let context, let countOnly):
            guard let flag = countOnly.constantValue?.flag else {
                throw unarchivable(
                    "the last argument of FETCH must be YES or NO, not \"\(countOnly)\"",
                    in: expression,
                    value: countOnly.constantValue)
            }
            return add(
                "NSFetchRequestExpression", .fetchRequest,
                [
                    "NSFRExpression": try self.request(request), "NSMOCExpression": try self.expression(context),
                    "NSCountOnlyFlag": .bool(flag),
                ])
        default: return add("NSAnyKeyExpression", .anyKey, [:])
        }
    }

    /// Encodes the request of a FETCH expression.
    ///
    /// In the call that Xcode's compiler creates for a mapping model, the list of arguments is immutable.
    private func request(_ request: Expression) throws -> PropertyListValue {
        guard case .message(let receiver, .constant(.text(let selector)), let arguments) = request,
            selector.string == KeyedArchiver.requestSelector
        else { return try expression(request) }
        try spend(1)
        return call(
            selector.string, of: try expression(receiver), try arguments.map { try expression($0) },
            className: ["NSFunctionExpression"], isMutable: false)
    }

    /// The method of a migration manager that returns the fetch request of a mapping's source.
    package static let requestSelector = "fetchRequestForSourceEntityNamed:predicateString:"

    private func unarchivable(_ reason: String, in expression: Expression, value: PropertyValue?) -> CoreError {
        CoreError(.unsupported, "\"\(expression)\" cannot be archived: \(reason)", value: value)
    }

    private func specifier(_ path: KeyPath) -> PropertyListValue {
        add("NSKeyPathSpecifierExpression", .keyPathSpecifier, ["NSKeyPath": string(path.text)])
    }

    private func keyPath(
        _ key: PropertyListValue, of base: Expression, _ selector: String = "valueForKeyPath:",
        _ type: ExpressionType = .function
    ) throws -> PropertyListValue {
        call(
            selector, of: try expression(base), [key], className: ["NSKeyPathExpression", "NSFunctionExpression"], type)
    }

    private func index(_ index: ElementIndex) throws -> PropertyListValue {
        switch index {
        case .value(let expression): try self.expression(expression)
        case .first, .last, .size: add("NSSymbolicExpression", .symbol, ["NSSymbol": string(index.symbol)])
        }
    }

    private func builtIn(_ function: Function, _ arguments: [PropertyListValue]) -> PropertyListValue {
        let utilities = add(
            "NSConstantValueExpression", .constant, ["NSConstantValueClassName": string(KeyedArchiver.utilities)])
        return call(function.rawValue, of: utilities, arguments, className: ["NSFunctionExpression"])
    }

    /// The class that implements the built-in functions.
    static let utilities = "_NSPredicateUtilities"

    private func call(
        _ selector: String, of operand: PropertyListValue, _ arguments: [PropertyListValue], className: [String],
        _ type: ExpressionType = .function, isMutable: Bool = true
    ) -> PropertyListValue {
        add(
            ClassName(className + ["NSExpression"]),
            [
                "NSExpressionType": .integer(type.rawValue), "NSOperand": operand, "NSSelectorName": string(selector),
                "NSArguments": array(arguments, isMutable: isMutable),
            ])
    }

    private func aggregate(_ elements: [Expression]) throws -> PropertyListValue {
        add("NSAggregateExpression", .aggregate, ["NSCollection": array(try elements.map { try expression($0) })])
    }

    private func add(
        _ className: String, _ type: ExpressionType, _ fields: [String: PropertyListValue]
    ) -> PropertyListValue {
        add(
            ClassName(className, "NSExpression"),
            fields.merging(["NSExpressionType": .integer(type.rawValue)]) { old, _ in old })
    }
}

extension SetOperator {
    fileprivate var archiveType: KeyedArchiver.ExpressionType {
        switch self {
        case .union: .unionSet
        case .intersect: .intersectSet
        case .minus: .minusSet
        }
    }

    init?(archiveType: Int64?) {
        guard let found = SetOperator.allCases.first(where: { $0.archiveType.rawValue == archiveType }) else {
            return nil
        }
        self = found
    }
}

extension ElementIndex {
    /// The keyword of the index; nil for a value.
    fileprivate var symbol: String? {
        switch self {
        case .first: "FIRST"
        case .last: "LAST"
        case .size: "SIZE"
        case .value: nil
        }
    }

    init?(symbol: String?) {
        guard let symbol, let found = [ElementIndex.first, .last, .size].first(where: { $0.symbol == symbol }) else {
            return nil
        }
        self = found
    }
}

extension PropertyValue {
    /// The number of elements, including those of nested collections.
    fileprivate var elementCount: Int {
        switch self {
        case .array(let values): values.reduce(values.count) { $0 + $1.elementCount }
        case .set(let values): values.reduce(values.count) { $0 + $1.elementCount }
        case .dictionary(let values): values.values.reduce(values.count) { $0 + $1.elementCount }
        default: 0
        }
    }

    /// The value as a Boolean; a number must be 0 or 1.
    fileprivate var flag: Bool? {
        if case .bool(let flag) = self { return flag }
        return number.flatMap { $0 == 0 ? false : $0 == 1 ? true : nil }
    }
}
