import CorestonePredicate
import CorestoneValues

extension Attribute {
    /// Converts a value from a network or file format, in which a value can be text.
    ///
    /// Text is parsed as the attribute's type: a number, a Boolean (`true`, `false`, `1` or `0`), a date in ISO 8601
    /// (UTC without an offset), a UUID, or base64. For a string attribute, numbers, Booleans, UUIDs and dates become
    /// text. For a date attribute, a number is seconds since 2001-01-01 UTC. A decimal becomes the nearest double for a
    /// floating-point attribute, and an integer for an integer attribute if it is whole. Null becomes the default of
    /// the attribute.
    ///
    /// - Throws: `.typeMismatch` with entity and key if the value cannot be converted.
    ///   `.validation` for an integer out of range.
    public func converted(_ value: PropertyValue) throws -> PropertyValue {
        switch (type, value) {
        case (_, .null): return defaultValue
        case (.string, .int), (.string, .double), (.string, .decimal), (.string, .bool), (.string, .uuid),
            (.string, .date):
            return .string(value.plainText)
        case (.date, .int(let seconds)): return try accept(.date(Double(seconds)))
        case (.date, .double(let seconds)): return try accept(.date(seconds))
        case (.date, .decimal(let seconds)): return try accept(.date(seconds.double))
        case (.double, .decimal(let number)), (.float, .decimal(let number)): return try accept(.double(number.double))
        case (.integer16, .decimal(let number)), (.integer32, .decimal(let number)), (.integer64, .decimal(let number)):
            guard let whole = Int64(number.description) else { throw unreadable(value) }
            return try accept(.int(whole))
        case (.string, _), (.uri, _), (.composite, _), (.undefined, _): return try accept(value)
        case (_, .text(let text)):
            guard let read = read(text.string) else { throw unreadable(value) }
            return try accept(read)
        default: return try accept(value)
        }
    }

    private func read(_ text: String) -> PropertyValue? {
        switch type {
        case .integer16, .integer32, .integer64: Int64(text).map { .int($0) }
        case .double, .float: Double(text).map { .double($0) }
        case .decimal: (try? DecimalNumber(text)).map { .decimal($0) }
        case .boolean: ["true": true, "1": true, "false": false, "0": false][text].map { .bool($0) }
        case .date: ((try? ReferenceDate.parse(text, assumingUTC: true)) ?? notFinite(text)).map { .date($0) }
        case .uuid: UUIDValue(text).map { .uuid($0) }
        case .binary, .transformable: decodeBase64(Array(text.utf8)).map { .bytes(Bytes($0)) }
        default: nil
        }
    }

    /// Parses NaN and infinities, which JSON does not support.
    private func notFinite(_ text: String) -> Double? { Double(text).flatMap { $0.isFinite ? nil : $0 } }

    private func unreadable(_ value: PropertyValue) -> CoreError {
        CoreError(
            .typeMismatch,
            "\(entity.name).\(path) takes \(type.displayName), but \(value.excerpt) cannot be converted to this type"
                + textForm, entity: entity.name, key: path, value: value)
    }

    /// The required form of a text, as the end of a sentence in an error message.
    ///
    /// Empty if the type implies the form.
    private var textForm: String {
        switch type {
        case .boolean: "; write true or false"
        case .date: "; write a date such as 2001-01-31T12:00:00Z"
        case .binary, .transformable: "; write it in base64"
        default: ""
        }
    }
}

extension PropertyValue {
    fileprivate var plainText: String {
        switch self {
        case .int(let number): "\(number)"
        case .double(let number): "\(number)"
        case .decimal(let number): number.description
        case .bool(let flag): flag ? "true" : "false"
        case .uuid(let uuid): uuid.description
        case .date(let seconds): ReferenceDate.description(seconds)
        default: ""
        }
    }
}
