import CorestoneValues

extension PropertyValue {
    /// Returns the value as a literal in a predicate.
    func literal(_ style: LiteralStyle = .plain) -> String {
        if style == .blank, !isNull { return "%@" }
        return switch self {
        case .null: "nil"
        case .bool(let flag): flag ? "1" : "0"
        case .int(let number): String(number)
        case .double(let number): PropertyValue.literal(number, style)
        case .decimal(let number): PropertyValue.literal(number, style)
        case .text(let text): PropertyValue.quoted(text.string, style)
        case .uri(let text):
            style == .message
                ? PropertyValue.quoted(text.string, style)
                : PropertyValue.cast(PropertyValue.quoted(text.string, style), "NSURL")
        case .bytes(let bytes):
            style == .message
                ? "<\(PropertyValue.hexadecimal(bytes.rawBytes))>"
                : PropertyValue.cast("\"\(PropertyValue.hexadecimal(bytes.rawBytes))\"", "NSData")
        case .date(let seconds): PropertyValue.date(seconds, style)
        case .uuid(let uuid): style == .message ? uuid.description : PropertyValue.cast("\"\(uuid)\"", "NSUUID")
        case .object(let object): object.valueDescription
        case .array(let values): PropertyValue.list(values.map { $0.literal(style) })
        case .set(let values):
            style.isExact
                ? PropertyValue.cast(PropertyValue.list(values, style), "NSSet") : PropertyValue.list(values, style)
        case .dictionary(let values): PropertyValue.dictionary(values, style)
        }
    }

    /// Returns the elements of a set as a list, in a deterministic order.
    static func list(_ values: Set<PropertyValue>, _ style: LiteralStyle) -> String {
        list(values.map { $0.literal(style) }.sorted())
    }

    /// The literal for a message, truncated if it is long.
    package var excerpt: String {
        let text = literal(.message)
        return text.utf8.count <= 60 ? text : text.prefix(57) + "…"
    }

    private static func cast(_ value: String, _ type: String) -> String { "CAST(\(value), \"\(type)\")" }

    private static func list(_ elements: [String]) -> String { "{\(elements.joined(separator: ", "))}" }

    /// Returns the shortest text that is parsed to the same number.
    ///
    /// Whole numbers do not have a fraction, unless their type matters.
    private static func literal(_ number: Double, _ style: LiteralStyle) -> String {
        guard number.isFinite else {
            return style == .message ? number.description : cast("\"\(number)\"", "NSNumber")
        }
        if style != .operand, let whole = Int64(exactly: number), whole.magnitude < 1 << 53 { return String(whole) }
        return number.description
    }

    private static func literal(_ number: DecimalNumber, _ style: LiteralStyle) -> String {
        let text = number.description
        let isKept = style == .exact ? number.isReadBack : style != .operand
        return isKept ? text : cast("\"\(text)\"", "NSDecimalNumber")
    }

    private static func date(_ seconds: Double, _ style: LiteralStyle) -> String {
        if style == .message { return ReferenceDate.description(seconds) }
        guard seconds.isFinite else { return cast(literal(seconds, style), "NSDate") }
        let rounded = sixDecimals(seconds)
        return cast(style.isExact && Double(rounded) != seconds ? seconds.description : rounded, "NSDate")
    }

    private static func dictionary(_ values: [String: PropertyValue], _ style: LiteralStyle) -> String {
        let entries = values.sorted { $0.key < $1.key }
        guard style.isExact else { return list(entries.map { "\($0.key)=\($0.value.literal(style))" }) }
        return cast(list(entries.map { list([quoted($0.key, style), $0.value.literal(style)]) }), "NSDictionary")
    }

    /// Returns a string in quotes.
    ///
    /// In exact styles, whose text is stored in model files, control characters, U+FFFE and U+FFFF are escaped, because
    /// XML cannot represent most of them.
    private static func quoted(_ text: String, _ style: LiteralStyle) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            if style.isExact, scalar.value < 0x20 || scalar.value & 0xFFFE == 0xFFFE && scalar.value < 0x1_0000 {
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u\(String(repeating: "0", count: 4 - digits.utf8.count))\(digits)"
                continue
            }
            if scalar == "\\" || scalar == "\"" { quoted.append("\\") }
            quoted.unicodeScalars.append(scalar)
        }
        return quoted + "\""
    }

    package static func hexadecimal(_ bytes: UnsafeRawBufferPointer) -> String {
        let digits = Array("0123456789abcdef".unicodeScalars)
        var text = String.UnicodeScalarView()
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(text)
    }

    /// Returns the number as `%f` prints it: rounded to six decimals, ties to even.
    ///
    /// Numbers with a magnitude of 2^63 or more are printed as Swift describes them, for example as `1e+19`.
    private static func sixDecimals(_ number: Double) -> String {
        guard number.magnitude < 0x1p63 else { return number.description }
        var whole = Int64(number.magnitude)
        let fraction = number.magnitude - Double(whole)
        let scaled = fraction * 1e6
        // The rounding error of the product decides a tie.
        let lost = (-scaled).addingProduct(fraction, 1e6)
        var micros = Int64(scaled)
        let rest = scaled - Double(micros)
        if rest > 0.5 || rest == 0.5 && (lost > 0 || lost == 0 && micros % 2 == 1) { micros += 1 }
        if micros == 1_000_000 { (whole, micros) = (whole + 1, 0) }
        let sign = number.sign == .minus && (whole != 0 || micros != 0) ? "-" : ""
        let digits = String(micros)
        return "\(sign)\(whole).\(String(repeating: "0", count: 6 - digits.utf8.count))\(digits)"
    }
}

extension DecimalNumber {
    /// Whether the digits alone are parsed to the same number.
    ///
    /// Digits with a point are parsed as a double, whose shortest form must be the same number.
    fileprivate var isReadBack: Bool {
        let text = description
        let isWhole = text.utf8.allSatisfy { $0 == UInt8(ascii: "-") || 0x30...0x39 ~= $0 }
        if isWhole { return text.utf8.count <= 38 }
        return Double(text).flatMap { DecimalNumber($0) }.map { DecimalNumber.compare($0, self) == 0 } ?? false
    }
}

extension PropertyValue {
    /// Returns the constant that is printed as `CAST(value, "type")`; nil for other casts, which are evaluated later.
    func constant(castTo type: String) -> PropertyValue? {
        switch (type, self) {
        case ("NSDate", _): return number.map { .date($0) }
        case ("NSNumber", .text(let text)):
            return Double(text.string).flatMap { $0.isFinite ? nil : .double($0) }
        case ("NSDecimalNumber", .text(let text)):
            return (try? DecimalNumber(text.string)).flatMap { $0.isReadBack ? nil : .decimal($0) }
        case ("NSUUID", .text(let text)): return UUIDValue(text.string).map { .uuid($0) }
        case ("NSURL", .text(let text)): return .uri(text)
        case ("NSData", .text(let text)): return PropertyValue.bytes(hexadecimal: text.string).map { .bytes($0) }
        case ("NSSet", .array(let values)): return .set(Set(values))
        case ("NSDictionary", .array(let pairs)): return PropertyValue.dictionary(of: pairs)
        default: return nil
        }
    }

    private static func bytes(hexadecimal text: String) -> Bytes? {
        let digits = text.unicodeScalars.compactMap { $0.isASCII ? Character($0).hexDigitValue : nil }
        guard digits.count == text.unicodeScalars.count, digits.count.isMultiple(of: 2) else { return nil }
        return Bytes(stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
    }

    private static func dictionary(of pairs: [PropertyValue]) -> PropertyValue? {
        var entries: [String: PropertyValue] = [:]
        for pair in pairs {
            guard case .array(let pair) = pair, pair.count == 2, case .text(let key) = pair[0] else { return nil }
            entries[key.string] = pair[1]
        }
        return .dictionary(entries)
    }
}
