import CorestoneFormats
import CorestonePredicate
import CorestoneValues

/// A decoder of predicates and expressions from a keyed archive.
///
/// An archive can share and nest objects, so that a few bytes represent an endless tree. The size and the depth of the
/// tree are therefore limited.
package struct ArchivedPredicates {
    /// The maximum number of expressions, predicates and constants in one tree.
    static let maximumCount = KeyedArchiver.maximumParts
    /// The maximum depth of nested expressions and predicates. It is larger than `PredicateLimits.maximumDepth`.
    static let maximumDepth = 700

    let archive: KeyedArchiveReader
    private var count = 0
    /// The first unsupported class; nil if all classes are supported.
    var misfit: String?

    private init(_ archive: KeyedArchiveReader) { self.archive = archive }

    /// Decodes a predicate.
    ///
    /// Returns nil for null and for an unsupported archive, with the unsupported class, if any.
    ///
    /// - Throws: `.storeCorrupt` if a limit is exceeded.
    static func predicate(
        _ reference: PropertyListValue?, in archive: KeyedArchiveReader
    ) throws -> (Predicate?, misfit: String?) {
        var reader = ArchivedPredicates(archive)
        return (try reader.predicate(reference, depth: 0), reader.misfit)
    }

    static func expression(
        _ reference: PropertyListValue?, in archive: KeyedArchiveReader
    ) throws -> (Expression?, misfit: String?) {
        var reader = ArchivedPredicates(archive)
        return (try reader.expression(reference, depth: 0), reader.misfit)
    }

    /// Decodes an expression; returns nil if it is not supported.
    package static func readableExpression(
        _ reference: PropertyListValue?, in archive: KeyedArchiveReader
    ) throws -> Expression? {
        try expression(reference, in: archive).0
    }

    mutating func fields(
        _ reference: PropertyListValue?, _ depth: Int
    ) throws -> (className: String, fields: KeyedArchiveReader.Fields)? {
        try spend(depth)
        guard let fields = archive.fields(reference), let name = archive.className(reference) else { return nil }
        return (name, fields)
    }

    mutating func spend(_ depth: Int) throws {
        count += 1
        guard depth < ArchivedPredicates.maximumDepth else {
            throw archiveError(
                "an archived predicate or expression is cyclic, or nested more than "
                    + "\(ArchivedPredicates.maximumDepth) levels deep; simplify it"
            )
        }
        guard count <= ArchivedPredicates.maximumCount else {
            throw archiveError(
                "an archived predicate or expression exceeds the limit of \(ArchivedPredicates.maximumCount) parts; "
                    + "simplify it"
            )
        }
    }

    // MARK: - Predicates

    mutating func predicate(_ reference: PropertyListValue?, depth: Int) throws -> Predicate? {
        guard let (name, fields) = try fields(reference, depth) else { return nil }
        switch name {
        case "NSTruePredicate": return .constant(true)
        case "NSFalsePredicate": return .constant(false)
        case "NSCompoundPredicate": return try compound(fields, depth)
        case "NSComparisonPredicate": return try comparison(fields, depth)
        default:
            misfit = misfit ?? name
            return nil
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
            let type = archived["NSOperatorType"]?.integer.flatMap({
                Comparison.Operator(archiveType: $0, selector: archive.string(archived["NSSelectorName"]))
            }),
            let modifier = Comparison.Modifier(archiveValue: archived["NSModifier"]?.integer ?? 0)
        else { return nil }
        let options = (archived["NSFlags"] ?? archived["NSOptions"])?.integer ?? 0
        return .comparison(
            Comparison(
                left, type, right, modifier: modifier,
                options: Comparison.Options(rawValue: UInt8(truncatingIfNeeded: options) & 0b11111)))
    }
}
