import CorestoneValues

/// Decoding of Foundation's value classes: objects of a fixed list of classes become plain values.
///
/// Objects of other classes are not decoded here.
extension KeyedArchiveReader {
    /// The supported value classes.
    package static let valueClasses: Set<String> = [
        "NSDate", "NSString", "NSMutableString", "NSData", "NSMutableData", "NSUUID", "NSURL", "NSDecimalNumber",
        "NSDecimalNumberPlaceholder",
    ]

    /// Decodes a value.
    ///
    /// Returns `.null` for the archive's null and for an invalid reference. Returns nil for an array, for an object of
    /// a class that is not in `valueClasses`, and for an object whose fields are missing, invalid or not supported.
    package func value(_ reference: PropertyListValue?) -> PropertyValue? {
        guard let object = object(reference) else { return .null }
        switch object {
        case .null: return .null
        case .bool(let flag): return .bool(flag)
        case .integer(let number): return .int(number)
        case .unsigned(let number): return .decimal(DecimalNumber(mantissa: UInt128(number)))
        case .real(let number): return .double(number)
        case .date(let seconds): return .date(seconds)
        case .data(let bytes): return .bytes(Bytes(bytes))
        case .string(let text): return .string(text)
        case .uid, .array: return nil
        case .dictionary(let fields): return value(of: className(object), fields)
        }
    }

    private func value(of className: String?, _ fields: Fields) -> PropertyValue? {
        switch className {
        case "NSDate": return fields["NS.time"]?.number.map { .date($0) }
        case "NSString", "NSMutableString": return fields["NS.string"]?.string.map { .string($0) }
        case "NSData", "NSMutableData": return (fields["NS.data"] ?? fields["NS.bytes"])?.data.map { .bytes(Bytes($0)) }
        case "NSUUID":
            return fields["NS.uuidbytes"]?.data.flatMap { $0.withUnsafeBytes { UUIDValue(bytes: $0) } }.map {
                .uuid($0)
            }
        case "NSURL":
            guard let relative = string(fields["NS.relative"]), object(fields["NS.base"]) == nil else { return nil }
            return .uri(Text(relative))
        case "NSDecimalNumber", "NSDecimalNumberPlaceholder": return decimal(fields).map { .decimal($0) }
        default: return nil
        }
    }

    /// Decodes a decimal.
    ///
    /// The mantissa consists of 16-bit words, of which `NS.length` are used, in the byte order of `NS.mantissa.bo`: 1
    /// is little-endian. Returns nil for invalid fields and for NaN, which is encoded as a negative number of length 0.
    private func decimal(_ fields: Fields) -> DecimalNumber? {
        guard let bytes = fields["NS.mantissa"]?.data, let length = fields["NS.length"]?.integer, 0...8 ~= length,
            bytes.count >= 2 * length, length > 0 || fields["NS.negative"]?.flag != true,
            let exponent = fields["NS.exponent"]?.integer.flatMap(Int8.init(exactly:))
        else { return nil }
        let isLittle = (fields["NS.mantissa.bo"]?.integer ?? 1) == 1
        var mantissa: UInt128 = 0
        for place in (0..<Int(length)).reversed() {
            let (first, second) = (UInt128(bytes[2 * place]), UInt128(bytes[2 * place + 1]))
            mantissa = mantissa << 16 | (isLittle ? second << 8 | first : first << 8 | second)
        }
        return DecimalNumber(mantissa: mantissa, exponent: exponent, isNegative: fields["NS.negative"]?.flag ?? false)
    }
}

extension PropertyListValue {
    /// The value of an integer or a real as a double; nil for other values.
    package var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .real(let value): value
        default: nil
        }
    }
}
