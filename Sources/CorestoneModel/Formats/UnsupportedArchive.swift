import CorestoneFormats
import CorestoneValues

/// An unsupported archived predicate or expression, from another tool.
///
/// Its part of the archive is kept unchanged, to be written back.
final class UnsupportedArchive: Hashable, Sendable {
    /// The archived objects. They refer to each other by position, from 1; 0 is the archive's null.
    let objects: [PropertyListValue]
    let root: PropertyListValue
    /// The reason why the object is not supported, as a clause.
    let reason: String
    /// A placeholder for the text. It differs from every valid format string.
    let text: String

    /// The maximum number of objects in one predicate or expression, against malicious archives.
    private static let maximumCount = 100_000

    /// Copies an object and all objects to which it refers from an archive.
    ///
    /// - Throws: `.storeCorrupt` if the limit is exceeded.
    init(_ reference: PropertyListValue, in archive: KeyedArchiveReader, reason: String) throws {
        var objects: [PropertyListValue] = []
        var places: [UInt32: UInt32] = [:]
        var waiting: [PropertyListValue] = []
        func place(of number: UInt32) -> PropertyListValue {
            if let place = places[number] { return .uid(place) }
            guard let object = archive.object(.uid(number)) else { return KeyedArchiver.null }
            waiting.append(object)
            places[number] = UInt32(waiting.count)
            return .uid(UInt32(waiting.count))
        }
        let root = reference.mapReferences(place)
        while objects.count < waiting.count {
            guard waiting.count <= UnsupportedArchive.maximumCount else {
                throw archiveError(
                    "an archived predicate or expression exceeds the limit of \(UnsupportedArchive.maximumCount) "
                        + "objects; simplify it"
                )
            }
            objects.append(waiting[objects.count].mapReferences(place))
        }
        (self.objects, self.root, self.reason) = (objects, root, reason)
        let digest = sha256(encodePropertyList(.array([root] + objects))).prefix(4)
        let name = archive.className(reference) ?? "value"
        text = "<archived \(name) \(digest.map { String($0, radix: 16) }.joined(separator: "-"))>"
    }

    func required() -> CoreError {
        CoreError(.predicateSyntax, "\(text) is not supported: \(reason); write it as a format string")
    }

    static func == (a: UnsupportedArchive, b: UnsupportedArchive) -> Bool { a.root == b.root && a.objects == b.objects }
    func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

extension PropertyListValue {
    /// Returns the value with changed references.
    ///
    /// The recursion is not deep, because the reader limits nested containers.
    fileprivate func mapReferences(_ change: (UInt32) -> PropertyListValue) -> PropertyListValue {
        switch self {
        case .uid(let number): number == 0 ? self : change(number)
        case .array(let values): .array(values.map { $0.mapReferences(change) })
        case .dictionary(let entries): .dictionary(entries.mapValues { $0.mapReferences(change) })
        default: self
        }
    }
}

extension KeyedArchiver {
    /// Adds the objects of another archive, unchanged except for their numbers.
    func add(_ foreign: UnsupportedArchive) -> PropertyListValue {
        let numbers = foreign.objects.map { _ in reserve() }
        func reference(_ place: UInt32) -> PropertyListValue { .uid(numbers[Int(place) - 1]) }
        for (number, object) in zip(numbers, foreign.objects) { fill(number, object.mapReferences(reference)) }
        return foreign.root.mapReferences(reference)
    }
}

extension KeyedArchiveReader {
    /// Decodes the predicate of a reference; returns nil for the archive's null.
    ///
    /// An unsupported predicate is kept in its archived form.
    func predicateText(_ reference: PropertyListValue?) throws -> PredicateText? {
        try format(reference, ArchivedPredicates.predicate)
    }

    /// Decodes the expression of a reference, as `predicateText` does.
    func expressionText(_ reference: PropertyListValue?) throws -> ExpressionText? {
        try format(reference, ArchivedPredicates.expression)
    }

    private func format<Meaning>(
        _ reference: PropertyListValue?,
        _ read: (PropertyListValue?, KeyedArchiveReader) throws -> (Meaning?, misfit: String?)
    ) throws -> FormatText<Meaning>? {
        guard let reference, object(reference) != nil else { return nil }
        let (meaning, misfit) = try read(reference, self)
        if let meaning { return FormatText(meaning) }
        let reason =
            misfit.map { "it contains the unknown class \"\($0)\"" }
            ?? "it contains an expression or operator in an unknown form"
        return FormatText(try UnsupportedArchive(reference, in: self, reason: reason))
    }
}
