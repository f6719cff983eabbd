import CorestoneValues

/// What the classes of Foundation's that a model names for transformable attributes can be.
package enum ValueClass {
    /// The kinds of values, with spaces between; nil for a class that is not known here.
    package static func kinds(of className: String) -> String? {
        var name = Substring(className)
        if name.hasPrefix("NSMutable") { name = "NS" + name.dropFirst("NSMutable".count) }
        switch name {
        case "NSString": return "string uri"
        case "NSNumber": return "bool int double decimal"
        case "NSDecimalNumber": return "bool int decimal"
        case "NSDate": return "date"
        case "NSData": return "bytes"
        case "NSUUID": return "uuid"
        case "NSURL": return "uri string"
        case "NSArray": return "array"
        case "NSSet": return "set"
        case "NSDictionary": return "dictionary"
        default: return nil
        }
    }

    /// Whether the class lets a value pass. A class that nobody knows does, and so does a value of a type that is the
    /// host's own unless its class is registered.
    package static func allows(_ className: String, _ value: Any) -> Bool {
        if let known = ArchivableClasses.named(className) {
            return ArchivableClasses.of(value)?.className == known.className
        }
        guard let kinds = kinds(of: className) else { return true }
        guard let kind = kind(of: value) else { return ArchivableClasses.of(value) == nil }
        return kinds.split(separator: " ").contains { $0 == kind }
    }

    /// The kind of a plain value; nil for what a host's transformer alone knows.
    private static func kind(of value: Any) -> String? {
        switch value {
        case let value as PropertyValue:
            switch value {
            case .null: nil
            case .bool: "bool"
            case .int: "int"
            case .double: "double"
            case .decimal: "decimal"
            case .text: "string"
            case .bytes: "bytes"
            case .date: "date"
            case .uuid: "uuid"
            case .uri: "uri"
            case .array: "array"
            case .set: "set"
            case .dictionary: "dictionary"
            case .object: "object"
            }
        case is Bool: "bool"
        case is any BinaryInteger: "int"
        case is any BinaryFloatingPoint: "double"
        case is DecimalNumber: "decimal"
        case is String, is Text: "string"
        case is Bytes, is [UInt8]: "bytes"
        case is ReferenceDate: "date"
        case is UUIDValue: "uuid"
        case is [Any]: "array"
        case is Set<AnyHashable>: "set"
        case is [AnyHashable: Any]: "dictionary"
        default: nil
        }
    }
}
