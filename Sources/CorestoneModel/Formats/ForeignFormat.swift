import CorestoneValues

/// A predicate or an expression of somebody else's archive that has no counterpart here: its part of the archive, as it
/// stands, to be written back.
final class ForeignFormat: Hashable, Sendable {
    /// They refer to each other by their places, from 1 on; 0 is the archive's null.
    let objects: [PropertyListValue]
    let root: PropertyListValue
    /// Why it cannot be read, as a sentence.
    let reason: String
    /// What stands for it where text is asked for: nothing that anybody could have written.
    let text: String

    /// Objects of one predicate; a larger part of an archive is an attack.
    private static let maximumCount = 100_000

    /// - Throws: `.storeCorrupt` beyond the limit.
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
            guard waiting.count <= ForeignFormat.maximumCount else {
                throw archiveError(
                    "an archived predicate or expression has more than \(ForeignFormat.maximumCount) objects, "
                        + "which is the limit; simplify it"
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

    static func == (a: ForeignFormat, b: ForeignFormat) -> Bool { a.root == b.root && a.objects == b.objects }
    func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

extension PropertyListValue {
    /// The same with other references. Not deep: containers within one object are bounded by the reader.
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
    /// Adds what another archive held, object for object.
    func add(_ foreign: ForeignFormat) -> PropertyListValue {
        let numbers = foreign.objects.map { _ in reserve() }
        func reference(_ place: UInt32) -> PropertyListValue { .uid(numbers[Int(place) - 1]) }
        for (number, object) in zip(numbers, foreign.objects) { fill(number, object.mapReferences(reference)) }
        return foreign.root.mapReferences(reference)
    }
}

extension KeyedArchiveReader {
    /// The predicate that a reference leads to; one that cannot be read is kept as it stands. nil for the archive's null.
    func predicateText(_ reference: PropertyListValue?) throws -> PredicateText? {
        try format(reference, ArchivedPredicates.predicate)
    }

    /// The same for an expression.
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
        let what =
            misfit.map { "it contains the unknown class \"\($0)\"" }
            ?? "it contains an expression or operator in an unknown form"
        return FormatText(try ForeignFormat(reference, in: self, reason: what))
    }
}
