extension Unicode.Scalar {
    /// Whether a terminal or viewer may interpret the character as a command.
    ///
    /// Such characters are control characters (C0 and C1), line and paragraph separators, characters that change the
    /// direction of text, and other format characters (interlinear annotations, U+206A to U+206F).
    package var isCommand: Bool {
        switch value {
        case 0..<0x20, 0x7F..<0xA0: true
        case 0x61C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x206F, 0xFFF9...0xFFFB: true
        default: false
        }
    }
}

extension String {
    /// The line ends and tabs that stay unchanged in visible text.
    package enum KeptLines {
        /// No line ends or tabs, so that the result is always one line.
        case none
        /// Tabs, and line ends before two spaces, as in messages, so that only the first line begins at the margin.
        case indented
        /// All line ends and tabs, for text from the library itself.
        case all
    }

    /// Returns the text with visible substitutes for control characters and line ends.
    ///
    /// Newlines become `⏎` and tabs spaces, unless `kept` includes them. Other characters that a terminal may interpret
    /// as commands are replaced: ASCII control characters with `␛` and similar symbols, and the rest with escapes such
    /// as `\u{202E}`.
    package func visible(_ kept: KeptLines = .none) -> String {
        if utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return self }
        var result = UnicodeScalarView()
        let scalars = unicodeScalars
        var place = scalars.startIndex
        while place < scalars.endIndex {
            let scalar = scalars[place]
            place = scalars.index(after: place)
            switch scalar {
            case "\n" where kept == .all || kept == .indented && scalars[place...].starts(with: "  ".unicodeScalars):
                result.append(scalar)
            case "\n": result.append("⏎")
            case "\t": result.append(kept == .none ? " " : scalar)
            case "\u{0}"..<" ": result.append(Unicode.Scalar(0x2400 + scalar.value) ?? "?")
            case "\u{7F}": result.append("␡")
            case _ where scalar.isCommand:
                result.append(contentsOf: "\\u{\(String(scalar.value, radix: 16, uppercase: true))}".unicodeScalars)
            default: result.append(scalar)
            }
        }
        return String(result)
    }

    /// The text in double quotes; only the first 60 characters of a longer text.
    var quotedStart: String { dropFirst(60).isEmpty ? "\"\(self)\"" : "\"\(prefix(60))…\"" }

    /// Returns the text, without its middle if it has more than `limit` bytes.
    ///
    /// The middle is left out, because a message begins with its subject and ends with the remedy.
    package func shortened(to limit: Int) -> String {
        let count = utf8.count
        guard count > limit else { return self }
        let bytes = utf8
        func edge(_ offset: Int) -> Index {
            var place = bytes.index(bytes.startIndex, offsetBy: offset)
            // Do not split a character.
            while place > bytes.startIndex, bytes[place] & 0xC0 == 0x80 { bytes.formIndex(before: &place) }
            return place
        }
        let (head, tail) = (edge(limit * 3 / 4), edge(count - limit / 4))
        let left = bytes.distance(from: head, to: tail)
        return "\(self[..<head]) … (\(left) bytes left out) … \(self[tail...])"
    }
}
