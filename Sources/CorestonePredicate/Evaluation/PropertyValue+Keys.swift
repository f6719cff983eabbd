import CorestoneValues

extension PropertyValue {
    /// What a plain value answers to a key; nil when it does not know the key.
    func property(_ key: String) throws -> PropertyValue? {
        if key == "self" { return self }
        switch self {
        case .text(let text): return PropertyValue.property(key, of: text.string)
        case .uri(let text):
            return key == "absoluteString" ? .text(text) : PropertyValue.property(key, of: text.string)
        case .bool, .int, .double, .decimal: return numberProperty(key)
        case .date(let seconds):
            switch key {
            case "timeIntervalSinceReferenceDate": return .double(seconds)
            case "timeIntervalSince1970": return .double(seconds + 978_307_200)
            case "description": return .string(ReferenceDate.description(seconds))
            default: return nil
            }
        case .uuid(let uuid): return key == "UUIDString" || key == "description" ? .string(uuid.description) : nil
        case .bytes(let bytes): return key == "length" ? .int(Int64(bytes.count)) : nil
        case .object(let object): return key == "description" ? .string(object.valueDescription) : nil
        case .null, .array, .set, .dictionary: return nil
        }
    }

    private static func property(_ key: String, of text: String) -> PropertyValue? {
        switch key {
        case "length": .int(Int64(text.utf16.count))
        case "description": .string(text)
        case "uppercaseString": .string(text.uppercased())
        case "lowercaseString": .string(text.lowercased())
        case "intValue", "integerValue", "longLongValue": .int(Int64(leadingNumber(text)) ?? 0)
        case "doubleValue", "floatValue": .double(Double(leadingNumber(text)) ?? 0)
        case "boolValue": .bool("YyTt123456789".contains(text.first ?? "N"))
        default: nil
        }
    }

    /// The digits that a text begins with, as `-[NSString intValue]` reads them.
    private static func leadingNumber(_ text: String) -> String {
        let trimmed = text.drop { $0 == " " || $0 == "\t" || $0 == "\n" }
        return String(trimmed.prefix { $0.isASCII && ($0.isNumber || "+-.eE".contains($0)) })
    }

    private func numberProperty(_ key: String) -> PropertyValue? {
        switch key {
        case "description", "stringValue": return .string(literal(.message))
        case "doubleValue", "floatValue": return number.map { .double($0) }
        case "intValue", "integerValue", "longLongValue":
            return number.map { .int(Int64(exactly: $0.rounded(.towardZero)) ?? 0) }
        case "boolValue": return number.map { .bool($0 != 0) }
        default: return nil
        }
    }
}
