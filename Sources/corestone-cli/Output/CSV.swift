import Corestone

/// Comma-separated values as in RFC 4180, but with Unix line ends. Null is an empty field, empty text is `""`.
enum CSV {
    static func line(_ fields: [String?]) -> String { fields.map(field).joined(separator: ",") + "\n" }

    private static func field(_ text: String?) -> String {
        guard let text else { return "" }
        let isPlain = text.utf8.allSatisfy { byte in
            byte != UInt8(ascii: "\"") && byte != UInt8(ascii: ",") && byte != 0x0A && byte != 0x0D
        }
        if isPlain, !text.isEmpty, text.first != " ", text.last != " " { return text }
        // The loop works on bytes, because a quote with a combining accent is a single `Character`.
        var bytes = [UInt8(ascii: "\"")]
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\"") { bytes.append(byte) }
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self) + "\""
    }
}

/// The protection against text that a spreadsheet would run as a formula.
///
/// An apostrophe is added before the text, and `load` removes it.
enum Formula {
    /// The option of commands that write csv.
    static let option = Manual.Option(
        "spreadsheet-safe",
        "whether csv text that a spreadsheet would run as a formula gets an apostrophe; by default yes for a terminal "
            + "or a file, no for a pipe",
        value: "yes|no")

    /// Whether cells are guarded: the value of the option, or else `fallback`.
    static func isGuarded(_ options: Options, _ fallback: Bool) throws -> Bool {
        switch options[option.name] {
        case nil: return fallback
        case "yes": return true
        case "no": return false
        case let other?: throw UsageError("--spreadsheet-safe must be yes or no, not \"\(other)\"")
        }
    }

    private static let apostrophe = UInt8(ascii: "'")

    /// Whether a spreadsheet would run a cell with this text.
    ///
    /// Such text begins with `=`, `+`, `-` or `@`, including their full-width forms, or with a tab or a line end.
    private static func begins(_ text: Substring.UTF8View) -> Bool {
        guard let first = text.first else { return false }
        switch first {
        case UInt8(ascii: "="), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "@"), 0x09, 0x0A, 0x0D: return true
        case 0xEF:
            return ["\u{FF1D}", "\u{FF0B}", "\u{FF0D}", "\u{FF20}"].contains { text.starts(with: $0.utf8) }
        default: return false
        }
    }

    private static func isGuarded(_ text: String) -> Bool {
        text.utf8.first == apostrophe && begins(text[...].utf8.drop { $0 == apostrophe })
    }

    /// Returns the text, protected if necessary.
    static func guarded(_ text: String) -> String {
        begins(text[...].utf8) || isGuarded(text) ? "'" + text : text
    }

    /// Returns the text for a file that `load` will read.
    ///
    /// Text that looks protected is protected again, so that `load` restores it.
    static func textForLoad(_ text: String, isGuarded: Bool) -> String {
        isGuarded || Formula.isGuarded(text) ? guarded(text) : text
    }

    /// Returns the text without protection.
    static func bare(_ text: String) -> String { isGuarded(text) ? String(Substring(text.utf8.dropFirst())) : text }
}
