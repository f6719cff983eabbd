import CorestoneValues

/// The values of the Foundation classes that a model can name for transformable attributes.
package enum ValueClass {
    /// Returns the types of values of a class, separated by spaces; nil for an unknown class.
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

    /// Whether a value is an instance of the class.
    ///
    /// An unknown class allows all values, and a known class allows values of the application's types that are not
    /// registered.
    package static func allows(_ className: String, _ value: Any) -> Bool {
        if let known = ArchivableClasses.named(className) {
            return ArchivableClasses.of(value)?.className == known.className
        }
        guard let kinds = kinds(of: className) else { return true }
        guard let kind = kind(of: value) else { return ArchivableClasses.of(value) == nil }
        return kinds.split(separator: " ").contains { $0 == kind }
    }

    /// Returns the type of a plain value; nil for values that only a transformer of the application supports.
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
