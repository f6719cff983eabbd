import Corestone

/// The conversion of values to text without loss.
enum DumpValue {
    /// Returns the value as JSON.
    ///
    /// Decimals, NaN and infinities are strings, because many JSON readers round decimals, and JSON does not have NaN
    /// and infinities.
    static func json(_ value: PropertyValue) -> JSON {
        switch value {
        case .bool(let flag): .bool(flag)
        case .int(let number): .number(String(number))
        case .double(let number): .double(number)
        case .date(let seconds): dateText(seconds).map { .string($0) } ?? .double(seconds)
        default: .optional(text(value))
        }
    }

    /// Returns the value as text, or nil for null.
    static func text(_ value: PropertyValue) -> String? {
        if case .date(let seconds) = value { return dateText(seconds) ?? seconds.description }
        return value.plainText
    }

    /// Returns the date as ISO 8601 if that is exact; nil if it must be written as seconds since 2001.
    private static func dateText(_ seconds: Double) -> String? {
        guard let text = ReferenceDate.text(seconds), let read = try? ReferenceDate.parse(text),
            read.bitPattern == seconds.bitPattern
        else { return nil }
        return text
    }
}
