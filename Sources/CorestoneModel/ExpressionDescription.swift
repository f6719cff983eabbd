import CorestonePredicate
import CorestoneValues

/// A computed column of a dictionary fetch: `total` as `sum:(salary)`.
///
/// Unlike the properties of an entity, an expression description is a part of a fetch request.
public struct ExpressionDescription: Hashable, Sendable {
    /// The key of the values in the result dictionaries; any text.
    public let name: String
    /// The expression, which is evaluated for the fetched object or for the rows of a group.
    public let expression: Expression
    /// The type to which the values are converted; `undefined` leaves them unchanged.
    public let resultType: AttributeType

    public init(name: String, expression: Expression, resultType: AttributeType = .undefined) {
        self.name = name
        self.expression = expression
        self.resultType = resultType
    }
}

extension ExpressionDescription {
    /// Converts a value to `resultType`.
    ///
    /// For example, numbers are converted to other types of numbers, any value to text, and text to a UUID, a URI or,
    /// as hexadecimal digits, binary data. For an integer type, numbers are truncated.
    ///
    /// - Throws: `.typeMismatch` with the column's name as the key if the value cannot be converted.
    package func typed(_ value: PropertyValue) throws -> PropertyValue {
        if value.isNull { return value }
        switch (resultType, value) {
        case (.undefined, _), (.integer64, .int), (.boolean, .bool), (.binary, .bytes), (.uuid, .uuid), (.uri, .uri),
            (.objectID, .object), (.transformable, _), (.composite, _):
            return value
        case (.integer16, _): if let whole = whole(value), Int16(exactly: whole) != nil { return .int(whole) }
        case (.integer32, _): if let whole = whole(value), Int32(exactly: whole) != nil { return .int(whole) }
        case (.integer64, _): if let whole = whole(value) { return .int(whole) }
        case (.double, _): if let number = value.number { return .double(number) }
        case (.float, _): if let number = value.number { return .double(Double(Float(number))) }
        case (.boolean, _): if let number = value.number { return .bool(number != 0) }
        case (.decimal, _): if let decimal = cast(value, "NSDecimalNumber") { return decimal }
        case (.string, _): if let text = cast(value, "NSString") { return text }
        case (.date, _): if let date = cast(value, "NSDate") { return date }
        case (.binary, _): if let bytes = cast(value, "NSData") { return bytes }
        case (.uuid, _): if let uuid = cast(value, "NSUUID") { return uuid }
        case (.uri, _): if let uri = cast(value, "NSURL") { return uri }
        case (.objectID, _): break
        }
        let found = malformedText(value) ?? value.kindPhrase + outOfRange(value)
        throw CoreError(
            .typeMismatch,
            "the column \"\(name)\" has the type \(resultType.displayName), but its expression returns \(found)",
            key: name,
            value: value)
    }

    /// Returns the range that a number exceeds, as the end of a sentence; empty for other values and types.
    private func outOfRange(_ value: PropertyValue) -> String {
        guard let range = resultType.integerRange, let number = value.number, number.isFinite else { return "" }
        return ", which is not in the range \(range.lowerBound) to \(range.upperBound)"
    }

    /// Returns a text and the form that it lacks, as the end of a sentence.
    ///
    /// Returns nil for other values, and for types to which text is not converted.
    private func malformedText(_ value: PropertyValue) -> String? {
        guard case .text = value else { return nil }
        switch resultType {
        case .uuid: return "\(value.excerpt), which is not the text of a UUID"
        case .decimal: return "\(value.excerpt), which is not the text of a decimal"
        case .binary: return "\(value.excerpt), which is not an even number of hexadecimal digits"
        default: return nil
        }
    }

    private func whole(_ value: PropertyValue) -> Int64? {
        if case .int(let number) = value { return number }
        return value.number.flatMap { Int64(exactly: $0.rounded(.towardZero)) }
    }

    private func cast(_ value: PropertyValue, _ type: String) -> PropertyValue? {
        try? Expression.cast(.constant(value), type: .string(type)).value(with: .null)
    }
}
