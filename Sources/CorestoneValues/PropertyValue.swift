/// A value of a property, of a constant in a predicate, or of an expression.
///
/// Dates are seconds since 2001-01-01 00:00:00 UTC, as Core Data stores them. A managed object, including one inside a
/// collection, is confined to the queue of its context. All other values are immutable and may cross threads.
public enum PropertyValue: @unchecked Sendable {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    indirect case decimal(DecimalNumber)
    case text(Text)
    case bytes(Bytes)
    case date(Double)
    case uuid(UUIDValue)
    case uri(Text)
    /// A managed object or an object ID.
    case object(any ValueObject)
    case array([PropertyValue])
    case set(Set<PropertyValue>)
    case dictionary([String: PropertyValue])
}

/// A value with an identity, such as a managed object or an object ID.
///
/// Managed objects and object IDs are equal if their IDs are equal, even if the objects are in different contexts.
public protocol ValueObject: AnyObject {
    func isEqual(to other: any ValueObject) -> Bool
    func hashIdentity(into hasher: inout Hasher)
    /// The text for messages and printed predicates.
    var valueDescription: String { get }
    /// The object to pass to code of the application: this object, or the object that this one represents.
    var original: any ValueObject { get }
}

extension ValueObject {
    public var original: any ValueObject { self }
}

/// The type of a value at the C boundary, with the codes of `cst_type`.
public enum ValueType: UInt32, Sendable {
    case null = 0, bool, int, double, decimal, string, bytes, date, uuid, object, objectID, uri, array, set, dictionary
}

extension PropertyValue {
    public var isNull: Bool { if case .null = self { true } else { false } }

    /// Whether the value is an object or contains one.
    package var holdsObjects: Bool {
        switch self {
        case .object: true
        case .array(let values): values.contains(where: \.holdsObjects)
        case .set(let values): values.contains(where: \.holdsObjects)
        case .dictionary(let values): values.values.contains(where: \.holdsObjects)
        default: false
        }
    }

    /// The value with each object replaced by its `original`, for code of the application.
    package var withOriginals: PropertyValue {
        switch self {
        case .object(let object): .object(object.original)
        case .array(let values): .array(values.map(\.withOriginals))
        case .set(let values): .set(Set(values.map(\.withOriginals)))
        case .dictionary(let values): .dictionary(values.mapValues(\.withOriginals))
        default: self
        }
    }

    /// The value of a Boolean, an integer, a double or a decimal as a double; nil for other types.
    public var number: Double? {
        switch self {
        case .bool(let value): value ? 1 : 0
        case .int(let value): Double(value)
        case .double(let value): value
        case .decimal(let value): value.double
        default: nil
        }
    }

    public static func string(_ value: String) -> PropertyValue { .text(Text(value)) }
}

extension PropertyValue: Hashable {
    /// Whether values are equal as in `isEqual:`: numbers by value, and a URI and a string by its text.
    ///
    /// No other types are converted.
    public static func == (a: PropertyValue, b: PropertyValue) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.text(let x), .text(let y)), (.uri(let x), .uri(let y)), (.text(let x), .uri(let y)),
            (.uri(let x), .text(let y)):
            x == y
        case (.bytes(let x), .bytes(let y)): x == y
        case (.date(let x), .date(let y)): x == y
        case (.uuid(let x), .uuid(let y)): x == y
        case (.object(let x), .object(let y)): x === y || x.isEqual(to: y)
        case (.array(let x), .array(let y)): x == y
        case (.set(let x), .set(let y)): x == y
        case (.dictionary(let x), .dictionary(let y)): x == y
        default: compareNumbers(a, b) == 0
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .text(let value), .uri(let value): hasher.combine(value)
        case .bytes(let value): hasher.combine(value)
        case .date(let value): hasher.combine(value)
        case .uuid(let value): hasher.combine(value)
        case .object(let value): value.hashIdentity(into: &hasher)
        case .array(let values): hasher.combine(values)
        case .set(let values): hasher.combine(values)
        case .dictionary(let values): hasher.combine(values)
        case .bool, .int, .double, .decimal: hasher.combine(number ?? 0)
        }
    }
}

/// Compares two numbers of any type.
///
/// Returns a negative number, zero or a positive number; nil if either value is not a number or is NaN.
public func compareNumbers(_ a: PropertyValue, _ b: PropertyValue) -> Int? {
    switch (a, b) {
    case (.int(let x), .int(let y)): return x < y ? -1 : x > y ? 1 : 0
    case (.decimal(let x), .decimal(let y)): return DecimalNumber.compare(x, y)
    case (.decimal(let x), .int(let y)): return DecimalNumber.compare(x, DecimalNumber(y))
    case (.int(let x), .decimal(let y)): return DecimalNumber.compare(DecimalNumber(x), y)
    case (.int(let x), .double(let y)): return compare(x, y)
    case (.double(let x), .int(let y)): return compare(y, x).map { -$0 }
    default:
        guard let x = a.number, let y = b.number, !x.isNaN, !y.isNaN else { return nil }
        return x < y ? -1 : x > y ? 1 : 0
    }
}

/// Compares exactly; nil for NaN. A conversion to double could make adjacent integers beyond 2^53 equal.
private func compare(_ integer: Int64, _ real: Double) -> Int? {
    if real.isNaN { return nil }
    if real >= 9_223_372_036_854_775_808 { return -1 }
    if real < -9_223_372_036_854_775_808 { return 1 }
    let whole = Int64(real.rounded(.towardZero))
    if integer != whole { return integer < whole ? -1 : 1 }
    let rest = real - real.rounded(.towardZero)
    return rest > 0 ? -1 : rest < 0 ? 1 : 0
}

/// A UUID as its 16 bytes, as in the SQLite store.
public struct UUIDValue: Hashable, Sendable {
    public let high: UInt64
    public let low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }
}
