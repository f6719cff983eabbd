import CorestoneValues

/// An object whose values can be asked for by name: what predicates and key paths walk over.
public protocol KeyValueCoding: ValueObject {
    /// The value of one property: `.object` for a to-one relationship, `.set` or `.array` for a to-many one.
    ///
    /// - Throws: `Status.predicate` for a key that the object does not have.
    func value(forKey key: String) throws -> PropertyValue

    /// The same for a key that remembers how it was found the last time.
    func value(for key: KeyName) throws -> PropertyValue

    /// Hands the value to `body` in place, so that comparing a property with a constant copies nothing.
    func withValue(for key: KeyName, _ body: (BorrowedValue) throws -> Bool) throws -> Bool

    /// Whether there is no value, which may be known without reading it.
    func isNull(for key: KeyName) throws -> Bool

    /// The number of members of a to-many relationship, where it is known without reading them; else nil.
    func memberCount(for key: KeyName) throws -> Int?

    /// Whether the key is a to-many relationship's, whose members a path from several objects gathers.
    func hasMembers(for key: KeyName) -> Bool

    /// The names of its class and of those above it, the nearest first: what `isKindOfClass:` asks for.
    var classNames: [String] { get }

    /// The name of its entity, for errors; nil for objects that have none.
    var nameOfEntity: String? { get }

    /// The order of this object against another one: negative, zero or positive; nil when objects like these have none.
    func order(against other: any ValueObject) throws -> Int?
}

extension KeyValueCoding {
    public func value(for key: KeyName) throws -> PropertyValue { try value(forKey: key.text) }

    public func withValue(for key: KeyName, _ body: (BorrowedValue) throws -> Bool) throws -> Bool {
        try body(BorrowedValue(try value(for: key)))
    }

    public func isNull(for key: KeyName) throws -> Bool { try withValue(for: key) { $0.isNull } }

    public func memberCount(for key: KeyName) throws -> Int? { nil }

    public func hasMembers(for key: KeyName) -> Bool { false }

    public var classNames: [String] { [] }

    public var nameOfEntity: String? { nil }

    public func order(against other: any ValueObject) throws -> Int? { nil }
}

/// A value that may point into the object that gave it: valid only while that call lasts.
public enum BorrowedValue {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case date(Double)
    /// UTF-8
    case text(UnsafeRawBufferPointer)
    case bytes(UnsafeRawBufferPointer)
    case value(PropertyValue)

    public init(_ value: PropertyValue) {
        switch value {
        case .null: self = .null
        case .bool(let flag): self = .bool(flag)
        case .int(let number): self = .int(number)
        case .double(let number): self = .double(number)
        case .date(let seconds): self = .date(seconds)
        default: self = .value(value)
        }
    }

    /// The value with bytes of its own.
    public var owned: PropertyValue {
        switch self {
        case .null: .null
        case .bool(let flag): .bool(flag)
        case .int(let number): .int(number)
        case .double(let number): .double(number)
        case .date(let seconds): .date(seconds)
        case .text(let bytes): .text(Text(utf8: bytes))
        case .bytes(let bytes): .bytes(Bytes(copying: bytes))
        case .value(let value): value
        }
    }
}
