import Corestone

/// Values as text from which the same value can be read again.
enum DumpValue {
    /// As JSON: what a number of other readers could not hold is a string.
    static func json(_ value: PropertyValue) -> JSON {
        switch value {
        case .bool(let flag): .bool(flag)
        case .int(let number): .number(String(number))
        case .double(let number): .double(number)
        case .date(let seconds): dateText(seconds).map { .string($0) } ?? .double(seconds)
        default: .optional(text(value))
        }
    }

    /// nil for null.
    static func text(_ value: PropertyValue) -> String? {
        if case .date(let seconds) = value { return dateText(seconds) ?? seconds.description }
        return value.plainText
    }

    /// ISO 8601 where that says all of it; else the number of seconds since 2001 does.
    private static func dateText(_ seconds: Double) -> String? {
        guard let text = ReferenceDate.text(seconds), let read = try? ReferenceDate.parse(text),
            read.bitPattern == seconds.bitPattern
        else { return nil }
        return text
    }
}
