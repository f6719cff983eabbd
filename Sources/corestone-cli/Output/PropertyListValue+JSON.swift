import Corestone

extension JSON {
    /// Converts a property list value. Data becomes base64, and dates become ISO 8601.
    init(_ value: PropertyListValue) {
        switch value {
        case .null: self = .null
        case .bool(let flag): self = .bool(flag)
        case .integer(let number): self = .number(String(number))
        case .unsigned(let number): self = .number(String(number))
        case .real(let number): self = .double(number)
        case .date(let seconds): self = .string(ReferenceDate.description(seconds))
        case .data(let bytes): self = .string(base64(bytes))
        case .string(let text): self = .string(text)
        case .uid(let number): self = .number(String(number))
        case .array(let values): self = .array(values.map { JSON($0) })
        case .dictionary(let values): self = JSON(values)
        }
    }

    init(_ values: [String: PropertyListValue]) {
        self = .object(values.sorted { $0.key < $1.key }.map { ($0.key, JSON($0.value)) })
    }
}

extension PropertyListValue {
    /// Converts a JSON value; nil for null and for a collection that contains null. A date or data in JSON remains
    /// text.
    init?(_ value: PropertyValue) {
        switch value {
        case .bool(let flag): self = .bool(flag)
        case .int(let number): self = .integer(number)
        case .double(let number): self = .real(number)
        case .text(let text): self = .string(text.string)
        case .array(let values):
            let items = values.compactMap { PropertyListValue($0) }
            guard items.count == values.count else { return nil }
            self = .array(items)
        case .dictionary(let values):
            let items = values.compactMapValues { PropertyListValue($0) }
            guard items.count == values.count else { return nil }
            self = .dictionary(items)
        default: return nil
        }
    }
}
