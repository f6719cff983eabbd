import CorestoneValues

/// Conversion of values for changes of an attribute's type that a migration allows.
extension AttributeType {
    /// Whether values of this type can be converted to the other type.
    ///
    /// Numbers and Booleans convert to each other and to text and back, UUIDs and URIs to text and back. Dates convert
    /// to Double (seconds since 2001-01-01 UTC) and back, and binary data to transformable values and back.
    package func converts(to other: AttributeType) -> Bool {
        if self == other { return true }
        switch (self, other) {
        case (.date, .double), (.double, .date): return true
        case (.binary, .transformable), (.transformable, .binary): return true
        case (.string, .uuid), (.uuid, .string), (.string, .uri), (.uri, .string): return true
        case (.string, _): return other.isNumeric
        case (_, .string): return isNumeric
        default: return isNumeric && other.isNumeric
        }
    }

    private var isNumeric: Bool {
        switch self {
        case .integer16, .integer32, .integer64, .decimal, .double, .float, .boolean: true
        default: false
        }
    }

    /// Converts a value of this type to the other type; returns nil if the conversion would change it.
    ///
    /// A text is converted only if it is equal to the printed form of the number, Boolean, UUID or URI.
    package func exactConversion(of value: PropertyValue, to other: AttributeType) -> PropertyValue? {
        switch (value, other) {
        case (.null, _): return .null
        case (.text(let text), .uuid):
            return UUIDValue(text.string).flatMap { $0.description == text.string ? .uuid($0) : nil }
        case (.uuid(let uuid), .string): return .string(uuid.description)
        case (.text(let text), .uri): return .uri(text)
        case (.uri(let text), .string): return .text(text)
        case (.date(let seconds), .double): return .double(seconds)
        case (.double(let seconds), .date): return .date(seconds)
        case (.bytes, .binary), (.bytes, .transformable): return value
        case (.bool(let flag), .string): return .string(flag ? "true" : "false")
        case (.text(let text), .boolean): return ["true": true, "false": false][text.string].map { .bool($0) }
        case (_, .string): return DecimalNumber(number: value).map { .string($0.description) }
        case (.text(let text), _):
            guard let number = try? DecimalNumber(text.string), number.description == text.string else { return nil }
            return number.exact(as: other)
        default: return AttributeType.exactNumber(value, as: other)
        }
    }

    private static func exactNumber(_ value: PropertyValue, as other: AttributeType) -> PropertyValue? {
        switch value {
        case .bool(let flag): return exactNumber(.int(flag ? 1 : 0), as: other)
        case .int(let number): return DecimalNumber(number).exact(as: other)
        case .decimal(let number): return number.exact(as: other)
        case .double(let number):
            switch other {
            case .double: return value
            case .float: return Double(Float(number)) == number ? value : nil
            default: return DecimalNumber(number)?.exact(as: other)
            }
        default: return nil
        }
    }
}

extension DecimalNumber {
    /// Creates a decimal from a number; returns nil for other values.
    fileprivate init?(number value: PropertyValue) {
        switch value {
        case .int(let number): self.init(number)
        case .double(let number): self.init(number)
        case .decimal(let number): self = number
        default: return nil
        }
    }

    fileprivate func exact(as type: AttributeType) -> PropertyValue? {
        func integer(_ range: ClosedRange<Int64>) -> PropertyValue? {
            self.integer.flatMap { range.contains($0) ? .int($0) : nil }
        }
        switch type {
        case .integer16: return integer(Int64(Int16.min)...Int64(Int16.max))
        case .integer32: return integer(Int64(Int32.min)...Int64(Int32.max))
        case .integer64: return integer(Int64.min...Int64.max)
        case .boolean: return self.integer.flatMap { $0 == 0 || $0 == 1 ? .bool($0 == 1) : nil }
        case .decimal: return .decimal(self)
        case .double: return DecimalNumber(double)?.description == description ? .double(double) : nil
        case .float:
            let narrow = Double(Float(double))
            return DecimalNumber(double)?.description == description && narrow == double ? .double(narrow) : nil
        default: return nil
        }
    }
}
