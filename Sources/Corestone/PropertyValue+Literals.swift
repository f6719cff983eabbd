import CorestoneValues

// Literals for records: ["name": "kite", "price": 12.5, "tags": ["toy"]].

extension PropertyValue: ExpressibleByStringLiteral {
    public init(stringLiteral text: String) { self = .string(text) }
}

extension PropertyValue: ExpressibleByIntegerLiteral {
    public init(integerLiteral number: Int64) { self = .int(number) }
}

extension PropertyValue: ExpressibleByFloatLiteral {
    public init(floatLiteral number: Double) { self = .double(number) }
}

extension PropertyValue: ExpressibleByBooleanLiteral {
    public init(booleanLiteral flag: Bool) { self = .bool(flag) }
}

extension PropertyValue: ExpressibleByArrayLiteral {
    public init(arrayLiteral values: PropertyValue...) { self = .array(values) }
}

extension PropertyValue: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral entries: (String, PropertyValue)...) {
        self = .dictionary(Dictionary(entries, uniquingKeysWith: { $1 }))
    }
}
