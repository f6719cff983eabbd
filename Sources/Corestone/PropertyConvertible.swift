import CorestoneGraph
import CorestoneValues

/// A Swift type whose values can be stored in a property.
public protocol PropertyConvertible {
    var propertyValue: PropertyValue { get }
    /// Converts the value of a property; returns nil if the value has another type or does not fit.
    static func from(_ value: PropertyValue) -> Self?
}

extension PropertyValue: PropertyConvertible {
    public var propertyValue: PropertyValue { self }
    public static func from(_ value: PropertyValue) -> PropertyValue? { value }
}

extension Bool: PropertyConvertible {
    public var propertyValue: PropertyValue { .bool(self) }
    public static func from(_ value: PropertyValue) -> Bool? {
        if case .bool(let flag) = value { flag } else { nil }
    }
}

extension PropertyConvertible where Self: FixedWidthInteger {
    /// The number; a decimal if it does not fit into 64 bits, so that the error of the attribute names the range.
    public var propertyValue: PropertyValue {
        if let value = Int64(exactly: self) { return .int(value) }
        return .decimal(DecimalNumber(mantissa: UInt128(truncatingIfNeeded: magnitude), isNegative: self < 0))
    }
    public static func from(_ value: PropertyValue) -> Self? {
        if case .int(let number) = value { Self(exactly: number) } else { nil }
    }
}

extension Int: PropertyConvertible {}
extension Int16: PropertyConvertible {}
extension Int32: PropertyConvertible {}
extension Int64: PropertyConvertible {}
extension UInt64: PropertyConvertible {}

extension Double: PropertyConvertible {
    public var propertyValue: PropertyValue { .double(self) }
    public static func from(_ value: PropertyValue) -> Double? { value.number }
}

extension Float: PropertyConvertible {
    public var propertyValue: PropertyValue { .double(Double(self)) }
    public static func from(_ value: PropertyValue) -> Float? { value.number.map { Float($0) } }
}

extension String: PropertyConvertible {
    public var propertyValue: PropertyValue { .text(Text(self)) }
    public static func from(_ value: PropertyValue) -> String? {
        switch value {
        case .text(let text), .uri(let text): text.string
        default: nil
        }
    }
}

extension Array: PropertyConvertible where Element == UInt8 {
    public var propertyValue: PropertyValue { .bytes(Bytes(self)) }
    public static func from(_ value: PropertyValue) -> [UInt8]? {
        if case .bytes(let bytes) = value { bytes.array } else { nil }
    }
}

extension ReferenceDate: PropertyConvertible {
    public var propertyValue: PropertyValue { .date(secondsSinceReference) }
    public static func from(_ value: PropertyValue) -> ReferenceDate? {
        if case .date(let seconds) = value { ReferenceDate(secondsSinceReference: seconds) } else { nil }
    }
}

extension UUIDValue: PropertyConvertible {
    public var propertyValue: PropertyValue { .uuid(self) }
    public static func from(_ value: PropertyValue) -> UUIDValue? {
        if case .uuid(let uuid) = value { uuid } else { nil }
    }
}

extension DecimalNumber: PropertyConvertible {
    public var propertyValue: PropertyValue { .decimal(self) }
    public static func from(_ value: PropertyValue) -> DecimalNumber? {
        if case .decimal(let number) = value { number } else { nil }
    }
}

extension ManagedObject: PropertyConvertible {
    public var propertyValue: PropertyValue { .object(self) }
    public static func from(_ value: PropertyValue) -> ManagedObject? {
        if case .object(let object) = value { object as? ManagedObject } else { nil }
    }
}

extension ObjectID: PropertyConvertible {
    public var propertyValue: PropertyValue { .object(ObjectIDReference(self)) }
    public static func from(_ value: PropertyValue) -> ObjectID? {
        switch value {
        case .object(let reference as ObjectIDReference): reference.id
        case .object(let object as ManagedObject): object.objectID
        default: nil
        }
    }
}

extension Optional: PropertyConvertible where Wrapped: PropertyConvertible {
    public var propertyValue: PropertyValue { self?.propertyValue ?? .null }
    public static func from(_ value: PropertyValue) -> Wrapped?? {
        if case .null = value { return .some(nil) }
        return Wrapped.from(value).map { .some($0) }
    }
}

/// The value of a composite attribute.
extension Dictionary: PropertyConvertible where Key == String, Value == PropertyValue {
    public var propertyValue: PropertyValue { .dictionary(self) }
    public static func from(_ value: PropertyValue) -> [String: PropertyValue]? {
        if case .dictionary(let entries) = value { entries } else { nil }
    }
}
