import CorestoneValues

extension PropertyValue {
    /// The value as a literal of a predicate's text.
    var literal: String {
        switch self {
        case .null: "nil"
        case .bool(let flag): flag ? "1" : "0"
        case .int(let number): String(number)
        case .double(let number): PropertyValue.literal(number)
        case .decimal(let number): number.description
        case .text(let text), .uri(let text): PropertyValue.quoted(text.string)
        case .bytes(let bytes): "<\(PropertyValue.hexadecimal(bytes.rawBytes))>"
        case .date(let seconds): "CAST(\(PropertyValue.sixDecimals(seconds)), \"NSDate\")"
        case .uuid(let uuid): uuid.description
        case .object(let object): object.valueDescription
        case .array(let values): "{\(values.map(\.literal).joined(separator: ", "))}"
        case .set(let values): "{\(values.map(\.literal).sorted().joined(separator: ", "))}"
        case .dictionary(let values):
            "{\(values.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.literal)" }.joined(separator: ", "))}"
        }
    }

    /// The literal for a message: the beginning of one that is long.
    package var excerpt: String {
        let text = literal
        return text.utf8.count <= 60 ? text : text.prefix(57) + "…"
    }

    /// The shortest text that reads back as the number; whole numbers without a fraction.
    private static func literal(_ number: Double) -> String {
        if let whole = Int64(exactly: number), whole.magnitude < 1 << 53 { return String(whole) }
        return number.description
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\\" || scalar == "\"" { quoted.append("\\") }
            quoted.unicodeScalars.append(scalar)
        }
        return quoted + "\""
    }

    private static func hexadecimal(_ bytes: UnsafeRawBufferPointer) -> String {
        let digits = Array("0123456789abcdef".unicodeScalars)
        var text = String.UnicodeScalarView()
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(text)
    }

    /// As `%f` prints it.
    private static func sixDecimals(_ number: Double) -> String {
        guard number.isFinite, number.magnitude < 9e12 else { return number.description }
        let micros = Int64((number.magnitude * 1e6).rounded(.toNearestOrEven))
        let fraction = String(micros % 1_000_000)
        let sign = number.sign == .minus && micros != 0 ? "-" : ""
        return "\(sign)\(micros / 1_000_000).\(String(repeating: "0", count: 6 - fraction.count))\(fraction)"
    }
}
