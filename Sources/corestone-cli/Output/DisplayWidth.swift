import CUTF8Proc

/// The number of terminal columns of a text: two for a wide character, zero for a combining one.
enum DisplayWidth {
    static func of(_ text: String) -> Int {
        var width = 0
        for scalar in text.unicodeScalars { width += of(scalar) }
        return width
    }

    private static func of(_ scalar: Unicode.Scalar) -> Int {
        scalar.isASCII ? 1 : max(0, Int(utf8proc_charwidth(utf8proc_int32_t(scalar.value))))
    }

    /// Truncates a text to `width` columns, with "…" at the end.
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
}
