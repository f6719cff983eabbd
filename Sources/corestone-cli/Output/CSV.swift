/// Comma-separated values by RFC 4180, lines ending as Unix has them. Null is an empty field, empty text is `""`.
enum CSV {
    static func line(_ fields: [String?]) -> String { fields.map(field).joined(separator: ",") + "\n" }

    private static func field(_ text: String?) -> String {
        guard let text else { return "" }
        let isPlain = text.utf8.allSatisfy { byte in
            byte != UInt8(ascii: "\"") && byte != UInt8(ascii: ",") && byte != 0x0A && byte != 0x0D
        }
        if isPlain, !text.isEmpty, text.first != " ", text.last != " " { return text }
        // By bytes: a mark that an accent follows is one character with it.
        var bytes = [UInt8(ascii: "\"")]
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\"") { bytes.append(byte) }
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self) + "\""
    }
}
