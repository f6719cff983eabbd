import CorestoneValues

extension PropertyValue {
    /// Returns a property of a plain value; nil if it does not have the key.
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

    /// The keys of a plain value, for errors.
    package var knownKeys: [String] {
        let keys = [
            "length", "description", "uppercaseString", "lowercaseString", "intValue", "integerValue", "longLongValue",
            "doubleValue", "floatValue", "boolValue", "stringValue", "timeIntervalSinceReferenceDate",
            "timeIntervalSince1970", "UUIDString", "absoluteString",
        ]
        return keys.filter { ((try? property($0)) ?? nil) != nil }
    }

    private static func property(_ key: String, of text: String) -> PropertyValue? {
        switch key {
        case "length": .int(Int64(text.utf16.count))
        case "description": .string(text)
        case "uppercaseString": .string(text.uppercased())
        case "lowercaseString": .string(text.lowercased())
        case "intValue", "integerValue", "longLongValue": .int(leadingInteger(text))
        case "doubleValue", "floatValue": .double(leadingNumber(text))
        case "boolValue": .bool("YyTt123456789".contains(text.first ?? "N"))
        default: nil
        }
    }

    /// Parses the integer at the start of a text, after blanks.
    ///
    /// As by `-[NSString longLongValue]`, the result is limited to 64 bits, and is 0 without digits.
    private static func leadingInteger(_ text: String) -> Int64 {
        var rest = withoutBlanks(text)
        let sign = takeSign(&rest)
        let digits = takeDigits(&rest)
        if digits.isEmpty { return 0 }
        return Int64(sign + digits) ?? (sign == "-" ? .min : .max)
    }

    /// Parses the number at the start of a text, after blanks, as `-[NSString doubleValue]` does.
    ///
    /// Returns 0 if the text does not start with a number.
    private static func leadingNumber(_ text: String) -> Double {
        var rest = withoutBlanks(text)
        var known = takeSign(&rest) + takeDigits(&rest)
        if rest.first == "." {
            rest.removeFirst()
            known += "." + takeDigits(&rest)
        }
        // An exponent without digits is ignored.
        if rest.first == "e" || rest.first == "E" {
            rest.removeFirst()
            let sign = takeSign(&rest)
            let digits = takeDigits(&rest)
            if !digits.isEmpty { known += "e" + sign + digits }
        }
        return Double(known) ?? 0
    }

    private static func withoutBlanks(_ text: String) -> Substring {
        text.drop { $0 == " " || $0 == "\t" || $0 == "\n" }
    }

    private static func takeSign(_ rest: inout Substring) -> Substring {
        defer { if rest.first == "-" || rest.first == "+" { rest.removeFirst() } }
        return rest.prefix(rest.first == "-" || rest.first == "+" ? 1 : 0)
    }

    private static func takeDigits(_ rest: inout Substring) -> Substring {
        let digits = rest.prefix { $0.isASCII && $0.isNumber }
        rest = rest[digits.endIndex...]
        return digits
    }

    /// The number without its fraction; 0 if it does not fit into 64 bits, and nil for values other than numbers.
    private var wholePart: Int64? {
        switch self {
        case .int(let number): number
        case .decimal(let number): number.integer ?? Int64(exactly: number.double.rounded(.towardZero)) ?? 0
        default: number.map { Int64(exactly: $0.rounded(.towardZero)) ?? 0 }
        }
    }

    private func numberProperty(_ key: String) -> PropertyValue? {
        switch key {
        case "description", "stringValue": return .string(literal(.message))
        case "doubleValue", "floatValue": return number.map { .double($0) }
        case "intValue", "integerValue", "longLongValue": return wholePart.map { .int($0) }
        case "boolValue": return number.map { .bool($0 != 0) }
        default: return nil
        }
    }
}
