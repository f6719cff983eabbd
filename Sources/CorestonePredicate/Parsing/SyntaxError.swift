import CorestoneValues

/// A factory of syntax errors, whose messages show the line with a caret under the position.
struct SyntaxError {
    let source: [UInt8]
    /// The kind of text: "predicate" or "expression".
    let noun: String

    func make(_ complaint: String, at offset: Int, key: String? = nil, value: PropertyValue? = nil) -> CoreError {
        let place = min(offset, source.count)
        return CoreError(
            .predicateSyntax,
            "cannot read the \(noun) at byte \(place): \(complaint)\n  \(excerpt(around: place))", key: key,
            value: value, offset: place)
    }

    /// Returns the text of a token for a message, in quotes. A string has its own quotes.
    func describe(_ token: Token) -> String {
        if token.kind == .end { return "the end of the text" }
        let text = spelling(token)
        if case .string = token.kind { return text }
        return "\"\(text)\""
    }

    /// Returns the text of a token, shortened if it is long.
    func spelling(_ token: Token) -> String {
        let shown = token.range.prefix(40)
        let text = String(decoding: source[shown], as: UTF8.self)
        return shown.count < token.range.count ? "\(text)…" : text
    }

    /// Returns the line that contains a position, and a caret on the next line.
    ///
    /// Long text on either side is shortened.
    private func excerpt(around place: Int) -> String {
        let isBreak = { (byte: UInt8) in byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") }
        var start = source[..<place].lastIndex(where: isBreak).map { $0 + 1 } ?? 0
        var end = source[place...].firstIndex(where: isBreak) ?? source.count
        let (cutsStart, cutsEnd) = (place - start > 60, end - place > 40)
        if cutsStart { start = scalarBoundary(place - 57) }
        if cutsEnd { end = scalarBoundary(place + 37) }
        let before = (cutsStart ? "..." : "") + SyntaxError.printable(source[start..<place])
        let after = SyntaxError.printable(source[place..<max(end, place)]) + (cutsEnd ? "..." : "")
        return before + after + "\n  " + String(repeating: " ", count: before.unicodeScalars.count) + "^"
    }

    private func scalarBoundary(_ index: Int) -> Int {
        var index = index
        while index > 0, index < source.count, source[index] & 0xC0 == 0x80 { index -= 1 }
        return index
    }

    /// Returns the text with tabs replaced by blanks, so that the caret is aligned.
    private static func printable(_ bytes: ArraySlice<UInt8>) -> String {
        String(
            String.UnicodeScalarView(
                String(decoding: bytes, as: UTF8.self).unicodeScalars.map { $0 == "\t" ? " " : $0 }))
    }
}
