import CUTF8Proc

/// How many columns of a terminal text takes: two for a wide character, none for one that goes over another.
enum DisplayWidth {
    static func of(_ text: String) -> Int {
        var width = 0
        for scalar in text.unicodeScalars { width += of(scalar) }
        return width
    }

    private static func of(_ scalar: Unicode.Scalar) -> Int {
        scalar.isASCII ? 1 : max(0, Int(utf8proc_charwidth(utf8proc_int32_t(scalar.value))))
    }

    /// At most `width` columns of a text; one that is longer ends in "…".
    static func cut(_ text: String, to width: Int) -> String {
        if of(text) <= width { return text }
        var (result, used) = ("", 0)
        for character in text {
            let more = of(String(character))
            if used + more > width - 1 { break }
            result.append(character)
            used += more
        }
        return result + "…"
    }

    /// Text in one line that no terminal takes for a command: control characters and line ends become visible marks.
    static func plain(_ text: String) -> String {
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F && $0 < 0x80 }) { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x0A: result.append("⏎")
            case 0x09: result.append(" ")
            case 0..<0x20: result.append(Unicode.Scalar(0x2400 + scalar.value) ?? "?")
            case 0x7F: result.append("␡")
            case 0x80..<0xA0, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: result.append("\u{FFFD}")
            default: result.append(scalar)
            }
        }
        return String(result)
    }
}
