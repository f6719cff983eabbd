import CorestoneFormats
import CorestonePredicate
import CorestoneValues

extension ArchivedPredicates {
    mutating func expression(_ reference: PropertyListValue?, depth: Int) throws -> Expression? {
        guard let (name, fields) = try fields(reference, depth) else { return nil }
        switch name {
        case "NSSelfExpression": return .selfObject
        case "NSConstantValueExpression":
            return try constant(fields["NSConstantValue"] ?? KeyedArchiver.null, depth).map { .constant($0) }
        case "NSVariableExpression": return archive.string(fields["NSVariable"]).map { .variable($0) }
        case "NSKeyPathExpression": return try keyPath(fields, depth)
        case "NSFunctionExpression": return try call(fields, depth)
        case "NSAggregateExpression": return try expressions(fields["NSCollection"], depth).map(Expression.aggregated)
        case "NSSubqueryExpression":
            guard let collection = try expression(fields["NSCollection"], depth: depth + 1),
                let variable = archive.string(fields["NSVariable"]),
                let condition = try predicate(fields["NSPredicate"], depth: depth + 1)
            else { return nil }
            return .subquery(collection, variable: variable, condition)
        case "NSTernaryExpression":
            guard let condition = try predicate(fields["NSPredicate"], depth: depth + 1),
                let (first, second) = try pair(fields["NSTrueExpression"], fields["NSFalseExpression"], depth)
            else { return nil }
            return .ternary(condition, first, second)
        case "NSSetExpression":
            guard let operation = SetOperator(archiveType: fields["NSExpressionType"]?.integer),
                let (left, right) = try pair(fields["NSLeftExpression"], fields["NSRightExpression"], depth)
            else { return nil }
            return .setOperation(operation, left, right)
        case "NSVariableAssignmentExpression":
            guard let variable = archive.string(fields["NSVariable"]),
                let value = try expression(fields["NSExpression"], depth: depth + 1)
            else { return nil }
            return .assignment(variable: variable, value)
        case "NSFetchRequestExpression":
            guard let (request, context) = try pair(fields["NSFRExpression"], fields["NSMOCExpression"], depth) else {
                return nil
            }
            let countOnly = fields["NSCountOnlyFlag"]?.flag ?? false
            return .fetch(request, context: context, countOnly: .constant(.bool(countOnly)))
        case "NSAnyKeyExpression": return .anyKey
        default:
            misfit = misfit ?? name
            return nil
        }
    }

    private mutating func pair(
        _ first: PropertyListValue?, _ second: PropertyListValue?, _ depth: Int
    ) throws -> (Expression, Expression)? {
        guard let first = try expression(first, depth: depth + 1),
            let second = try expression(second, depth: depth + 1)
        else { return nil }
        return (first, second)
    }

    /// Decodes the call of a built-in function, or of a method of any other operand.
    private mutating func call(_ fields: KeyedArchiveReader.Fields, _ depth: Int) throws -> Expression? {
        guard let selector = archive.string(fields["NSSelectorName"]) else { return nil }
        let operandClass = archive.fields(fields["NSOperand"])?["NSConstantValueClassName"]
        guard archive.string(operandClass) == KeyedArchiver.utilities else {
            guard let receiver = try expression(fields["NSOperand"], depth: depth + 1),
                let arguments = try expressions(fields["NSArguments"], depth)
            else { return nil }
            return .message(receiver: receiver, selector: .string(selector), arguments: arguments)
        }
        guard let function = Function(rawValue: selector) else { return nil }
        if function == .elementAt { return try indexed(archive.elements(fields["NSArguments"]), depth) }
        guard let arguments = try expressions(fields["NSArguments"], depth),
            function.argumentCounts.contains(arguments.count)
        else { return nil }
        return function == .castObject ? .cast(arguments[0], type: arguments[1]) : .function(function, arguments)
    }

    private mutating func indexed(_ arguments: [PropertyListValue], _ depth: Int) throws -> Expression? {
        guard arguments.count == 2, let base = try expression(arguments[0], depth: depth + 1) else { return nil }
        if archive.className(arguments[1]) == "NSSymbolicExpression" {
            let symbol = archive.string(archive.fields(arguments[1])?["NSSymbol"])
            return ElementIndex(symbol: symbol).map { .indexed(base, $0) }
        }
        return try expression(arguments[1], depth: depth + 1).map { .indexed(base, .value($0)) }
    }

    /// Decodes a key path. The expression type distinguishes `name` from `SELF.name`.
    private mutating func keyPath(_ fields: KeyedArchiveReader.Fields, _ depth: Int) throws -> Expression? {
        let arguments = archive.elements(fields["NSArguments"])
        guard arguments.count == 1, let base = try expression(fields["NSOperand"], depth: depth + 1),
            let specifier = archive.fields(arguments[0])
        else { return nil }
        if archive.className(arguments[0]) == "NSVariableExpression" {
            return archive.string(specifier["NSVariable"]).map { .dynamicKey(base, variable: $0) }
        }
        if archive.className(arguments[0]) == "NSFunctionExpression" {
            return try expression(arguments[0], depth: depth + 1).map { .computedKey(base, key: $0) }
        }
        guard let text = archive.string(specifier["NSKeyPath"]), !text.isEmpty else { return nil }
        let isPlain =
            base == .selfObject
            && fields["NSExpressionType"]?.integer != KeyedArchiver.ExpressionType.function.rawValue
        return isPlain ? .keyPath(KeyPath(text)) : .path(base, KeyPath(text))
    }

    /// Decodes the value of a constant, which may be a collection.
    private mutating func constant(_ reference: PropertyListValue, _ depth: Int) throws -> PropertyValue? {
        switch archive.className(reference) {
        case "NSNull": return .null
        case "NSArray", "NSMutableArray": return try constants(archive.elements(reference), depth).map { .array($0) }
        case "NSSet", "NSMutableSet":
            return try constants(archive.elements(reference), depth).map { .set(Set($0)) }
        case "NSDictionary", "NSMutableDictionary":
            let entries = archive.entries(reference)
            guard let values = try constants(entries.map(\.value), depth) else { return nil }
            return .dictionary(
                Dictionary(zip(entries.map(\.key), values), uniquingKeysWith: { first, _ in first }))
        default: return archive.value(reference)
        }
    }

    private mutating func constants(_ references: [PropertyListValue], _ depth: Int) throws -> [PropertyValue]? {
        var values: [PropertyValue] = []
        for reference in references {
            try spend(depth + 1)
            guard let value = try constant(reference, depth + 1) else { return nil }
            values.append(value)
        }
        return values
    }

    private mutating func expressions(_ list: PropertyListValue?, _ depth: Int) throws -> [Expression]? {
        var found: [Expression] = []
        for element in archive.elements(list) {
            guard let expression = try expression(element, depth: depth + 1) else { return nil }
            found.append(expression)
        }
        return found
    }
}

extension Expression {
    /// Creates an aggregate, which is a constant if all elements are constants, as by the parser.
    fileprivate static func aggregated(_ elements: [Expression]) -> Expression {
        let constants = elements.compactMap(\.constantValue)
        return constants.count == elements.count ? .constant(.array(constants)) : .aggregate(elements)
    }
}
