import CorestonePredicate
import CorestoneValues

/// Reads predicates and expressions from a keyed archive.
///
/// An archive may share and nest its objects at will, so that a few bytes stand for a tree without end: the tree's size is
/// bounded, and so is its depth.
package struct ArchivedPredicates {
    /// Expressions and predicates in one tree.
    static let maximumCount = 10_000
    /// Expressions and predicates within each other.
    static let maximumDepth = 100

    private let archive: KeyedArchiveReader
    private var count = 0

    private init(_ archive: KeyedArchiveReader) { self.archive = archive }

    /// nil for the archive's null, and for what has no counterpart here.
    /// - Throws: `.storeCorrupt` beyond the limits.
    static func predicate(_ reference: PropertyListValue?, in archive: KeyedArchiveReader) throws -> Predicate? {
        var reader = ArchivedPredicates(archive)
        return try reader.predicate(reference, depth: 0)
    }

    package static func expression(_ reference: PropertyListValue?, in archive: KeyedArchiveReader) throws
        -> Expression?
    {
        var reader = ArchivedPredicates(archive)
        return try reader.expression(reference, depth: 0)
    }

    private mutating func fields(
        _ reference: PropertyListValue?, _ depth: Int
    ) throws -> (className: String, fields: KeyedArchiveReader.Fields)? {
        count += 1
        guard depth < ArchivedPredicates.maximumDepth else {
            throw archiveError("a predicate in it is nested more than \(ArchivedPredicates.maximumDepth) deep")
        }
        guard count <= ArchivedPredicates.maximumCount else {
            throw archiveError("a predicate in it has more than \(ArchivedPredicates.maximumCount) parts")
        }
        guard let fields = archive.fields(reference), let name = archive.className(reference) else { return nil }
        return (name, fields)
    }

    // MARK: - Predicates

    private mutating func predicate(_ reference: PropertyListValue?, depth: Int) throws -> Predicate? {
        guard let (name, fields) = try fields(reference, depth) else { return nil }
        switch name {
        case "NSTruePredicate": return .constant(true)
        case "NSFalsePredicate": return .constant(false)
        case "NSCompoundPredicate": return try compound(fields, depth)
        case "NSComparisonPredicate": return try comparison(fields, depth)
        default: return nil
        }
    }

    private mutating func compound(_ fields: KeyedArchiveReader.Fields, _ depth: Int) throws -> Predicate? {
        guard
            let type = fields["NSCompoundPredicateType"]?.integer.flatMap({ UInt32(exactly: $0) })
                .flatMap(CompoundType.init(rawValue:))
        else { return nil }
        var parts: [Predicate] = []
        for element in archive.elements(fields["NSSubpredicates"]) {
            guard let part = try predicate(element, depth: depth + 1) else { return nil }
            parts.append(part)
        }
        return try? .compound(Compound(type, parts))
    }

    private mutating func comparison(_ fields: KeyedArchiveReader.Fields, _ depth: Int) throws -> Predicate? {
        guard let left = try expression(fields["NSLeftExpression"], depth: depth + 1),
            let right = try expression(fields["NSRightExpression"], depth: depth + 1),
            let archived = archive.fields(fields["NSPredicateOperator"]),
            let type = archived["NSOperatorType"]?.integer.flatMap(Comparison.Operator.init(archiveType:)),
            let modifier = Comparison.Modifier(archiveValue: archived["NSModifier"]?.integer ?? 0)
        else { return nil }
        let options = (archived["NSFlags"] ?? archived["NSOptions"])?.integer ?? 0
        return .comparison(
            Comparison(
                left, type, right, modifier: modifier,
                options: Comparison.Options(rawValue: UInt8(truncatingIfNeeded: options) & 0b11111)))
    }

    // MARK: - Expressions

    private mutating func expression(_ reference: PropertyListValue?, depth: Int) throws -> Expression? {
        guard let (name, fields) = try fields(reference, depth) else { return nil }
        switch name {
        case "NSSelfExpression": return .selfObject
        case "NSConstantValueExpression": return archive.value(fields["NSConstantValue"]).map { .constant($0) }
        case "NSVariableExpression": return archive.string(fields["NSVariable"]).map { .variable($0) }
        case "NSKeyPathExpression": return try keyPath(fields, depth)
        case "NSFunctionExpression": return try function(fields, depth)
        case "NSFetchRequestExpression":
            guard let request = try expression(fields["NSFRExpression"], depth: depth + 1),
                let context = try expression(fields["NSMOCExpression"], depth: depth + 1)
            else { return nil }
            let isCount = fields["NSCountOnlyFlag"]?.flag ?? false
            return .fetch(request, context: context, countOnly: .constant(.bool(isCount)))
        case "NSAggregateExpression": return try expressions(fields["NSCollection"], depth).map(Expression.aggregated)
        default: return nil
        }
    }

    /// A built-in function, or a message to an object of the host, as mapping models send them to `$manager`.
    private mutating func function(_ fields: KeyedArchiveReader.Fields, _ depth: Int) throws -> Expression? {
        guard let selector = archive.string(fields["NSSelectorName"]),
            let arguments = try expressions(fields["NSArguments"], depth)
        else { return nil }
        if let function = Function(rawValue: selector) { return .function(function, arguments) }
        return try expression(fields["NSOperand"], depth: depth + 1).map {
            .message(receiver: $0, selector: .string(selector), arguments: arguments)
        }
    }

    private mutating func keyPath(_ fields: KeyedArchiveReader.Fields, _ depth: Int) throws -> Expression? {
        let arguments = archive.elements(fields["NSArguments"])
        guard arguments.count == 1, let base = try expression(fields["NSOperand"], depth: depth + 1),
            let specifier = archive.fields(arguments[0]), let text = archive.string(specifier["NSKeyPath"]),
            !text.isEmpty
        else { return nil }
        return base == .selfObject ? .keyPath(KeyPath(text)) : .path(base, KeyPath(text))
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
    /// As a parser gives it: of constants alone a constant.
    fileprivate static func aggregated(_ elements: [Expression]) -> Expression {
        let constants = elements.compactMap(\.constantValue)
        return constants.count == elements.count ? .constant(.array(constants)) : .aggregate(elements)
    }
}
