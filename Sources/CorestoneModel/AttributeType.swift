/// The types of attributes, with Core Data's codes.
public enum AttributeType: Int32, Sendable, CaseIterable {
    case undefined = 0
    case integer16 = 100
    case integer32 = 200
    case integer64 = 300
    case decimal = 400
    case double = 500
    case float = 600
    case string = 700
    case boolean = 800
    case date = 900
    case binary = 1000
    case uuid = 1100
    case uri = 1200
    case transformable = 1800
    /// The ID of an object; transient attributes only.
    case objectID = 2000
    /// A group of attributes, whose value is a dictionary; see `Attribute.elements`.
    case composite = 2100

    /// The name in Xcode, for messages.
    public var displayName: String {
        switch self {
        case .undefined: "Undefined"
        case .integer16: "Integer 16"
        case .integer32: "Integer 32"
        case .integer64: "Integer 64"
        case .decimal: "Decimal"
        case .double: "Double"
        case .float: "Float"
        case .string: "String"
        case .boolean: "Boolean"
        case .date: "Date"
        case .binary: "Binary Data"
        case .uuid: "UUID"
        case .uri: "URI"
        case .transformable: "Transformable"
        case .objectID: "Object ID"
        case .composite: "Composite"
        }
    }

    /// The range of an integer type; nil for other types.
    package var integerRange: ClosedRange<Int64>? {
        switch self {
        case .integer16: Int64(Int16.min)...Int64(Int16.max)
        case .integer32: Int64(Int32.min)...Int64(Int32.max)
        case .integer64: Int64.min...Int64.max
        default: nil
        }
    }

    /// The name in source models.
    public var sourceName: String {
        switch self {
        case .binary: "Binary"
        case .objectID: "ObjectID"
        default: displayName
        }
    }
}

extension AttributeType {
    /// Whether a store reads values of either type as the other.
    ///
    /// Apart from equal types, this applies to integers of any width, to both floating-point types, and to Binary Data
    /// and Transformable. An integer that does not fit the type is rejected when the store is opened.
    package func isRead(as other: AttributeType) -> Bool { kind == other.kind }

    package var isBytes: Bool { kind == .binary }

    private var kind: AttributeType {
        switch self {
        case .integer16, .integer32, .integer64: .integer64
        case .double, .float: .double
        case .binary, .transformable: .binary
        default: self
        }
    }
}
