import CorestoneValues

/// An object whose values predicates and key paths read by name.
public protocol KeyValueCoding: ValueObject {
    /// Returns the value of one property: `.object` for a to-one relationship, `.set` or `.array` for a to-many one.
    ///
    /// - Throws: `.predicate` for an unknown key.
    func value(forKey key: String) throws -> PropertyValue

    /// Returns the value of one property, for a key that caches its lookup (`KeyName.hint`).
    func value(for key: KeyName) throws -> PropertyValue

    /// Passes the value to `body`, if possible without a copy, for comparisons with constants.
    func withValue(for key: KeyName, _ body: (BorrowedValue) throws -> Bool) throws -> Bool

    /// Whether the value of the key is nil. An object can implement this without reading the value.
    func isNull(for key: KeyName) throws -> Bool

    /// Returns the number of members of a to-many relationship, if it is known without reading them; otherwise nil.
    func memberCount(for key: KeyName) throws -> Int?

    /// Whether the key is the name of a to-many relationship, whose members a path over several objects collects.
    func hasMembers(for key: KeyName) -> Bool

    /// The names of the object's class and its superclasses, nearest first, for `isKindOfClass:`.
    var classNames: [String] { get }

    /// The name of the object's entity, for errors; nil for objects without an entity.
    var nameOfEntity: String? { get }

    /// Compares this object with another one.
    ///
    /// Returns a negative number, zero or a positive number; nil if such objects do not have an order.
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

/// A value that may point into the object that returned it. Valid only during the call that passes it.
public enum BorrowedValue {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case date(Double)
    /// UTF-8 text.
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

    /// The value with a copy of its bytes.
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
