import CorestoneGraph
import CorestoneValues

/// A Swift type that a property can hold.
public protocol PropertyConvertible {
    var propertyValue: PropertyValue { get }
    /// nil when the value is of another kind.
    init?(propertyValue: PropertyValue)
}

extension PropertyValue: PropertyConvertible {
    public var propertyValue: PropertyValue { self }
    public init?(propertyValue: PropertyValue) { self = propertyValue }
}

extension Bool: PropertyConvertible {
    public var propertyValue: PropertyValue { .bool(self) }
    public init?(propertyValue: PropertyValue) {
        guard case .bool(let value) = propertyValue else { return nil }
        self = value
    }
}

extension PropertyConvertible where Self: FixedWidthInteger {
    /// Beyond 64 bits signed, a decimal: the attribute then says what does not fit.
    public var propertyValue: PropertyValue {
        if let value = Int64(exactly: self) { return .int(value) }
        return .decimal(DecimalNumber(mantissa: UInt128(truncatingIfNeeded: magnitude), isNegative: self < 0))
    }
    public init?(propertyValue: PropertyValue) {
        guard case .int(let value) = propertyValue, let exact = Self(exactly: value) else { return nil }
        self = exact
    }
}

extension Int: PropertyConvertible {}
extension Int16: PropertyConvertible {}
extension Int32: PropertyConvertible {}
extension Int64: PropertyConvertible {}
extension UInt64: PropertyConvertible {}

extension Double: PropertyConvertible {
    public var propertyValue: PropertyValue { .double(self) }
    public init?(propertyValue: PropertyValue) {
        guard let number = propertyValue.number else { return nil }
        self = number
    }
}

extension Float: PropertyConvertible {
    public var propertyValue: PropertyValue { .double(Double(self)) }
    public init?(propertyValue: PropertyValue) {
        guard let number = propertyValue.number else { return nil }
        self = Float(number)
    }
}

extension String: PropertyConvertible {
    public var propertyValue: PropertyValue { .text(Text(self)) }
    public init?(propertyValue: PropertyValue) {
        switch propertyValue {
        case .text(let text), .uri(let text): self = text.string
        default: return nil
        }
    }
}

extension Array: PropertyConvertible where Element == UInt8 {
    public var propertyValue: PropertyValue { .bytes(Bytes(self)) }
    public init?(propertyValue: PropertyValue) {
        guard case .bytes(let bytes) = propertyValue else { return nil }
        self = bytes.array
    }
}

extension UUIDValue: PropertyConvertible {
    public var propertyValue: PropertyValue { .uuid(self) }
    public init?(propertyValue: PropertyValue) {
        guard case .uuid(let value) = propertyValue else { return nil }
        self = value
    }
}

extension DecimalNumber: PropertyConvertible {
    public var propertyValue: PropertyValue { .decimal(self) }
    public init?(propertyValue: PropertyValue) {
        guard case .decimal(let value) = propertyValue else { return nil }
        self = value
    }
}

extension ManagedObject: PropertyConvertible {
    public var propertyValue: PropertyValue { .object(self) }
    public convenience init?(propertyValue: PropertyValue) { nil }
}

extension ObjectID: PropertyConvertible {
    public var propertyValue: PropertyValue { .object(ObjectIDReference(self)) }
    public init?(propertyValue: PropertyValue) {
        switch propertyValue {
        case .object(let reference as ObjectIDReference): self = reference.id
        case .object(let object as ManagedObject): self = object.objectID
        default: return nil
        }
    }
}
