extension Unicode.Scalar {
    /// Whether whatever shows text takes it for a command: control characters of both sets, line and paragraph separators, and
    /// what turns the direction of the text around it.
    package var isCommand: Bool {
        switch value {
        case 0..<0x20, 0x7F..<0xA0: true
        case 0x61C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x206F, 0xFFF9...0xFFFB: true
        default: false
        }
    }
}

extension String {
    /// Which ends of lines, and tabs, stay what they are where text is shown.
    package enum KeptLines {
        /// None: the text is one line, whatever is in it.
        case none
        /// Those before two spaces, as between the lines of a message: no line but the first begins at the margin.
        case indented
        /// All: they are the program's own.
        case all
    }

    /// The text as people may see it: what a terminal would take for a command, or what would begin a line of a log, is shown
    /// instead. `⏎` stands for the end of a line, `␛` and its like for other control characters, `\u{202E}` for the rest.
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

    /// The text in double quotes; of a long one its start.
    var quotedStart: String { dropFirst(60).isEmpty ? "\"\(self)\"" : "\"\(prefix(60))…\"" }

    /// The text without its middle, where it is longer than so many bytes: its beginning says what it is about, its end what to do.
    package func shortened(to limit: Int) -> String {
        let count = utf8.count
        guard count > limit else { return self }
        let bytes = utf8
        func edge(_ offset: Int) -> Index {
            var place = bytes.index(bytes.startIndex, offsetBy: offset)
            // Not within a character.
            while place > bytes.startIndex, bytes[place] & 0xC0 == 0x80 { bytes.formIndex(before: &place) }
            return place
        }
        let (head, tail) = (edge(limit * 3 / 4), edge(count - limit / 4))
        let left = bytes.distance(from: head, to: tail)
        return "\(self[..<head]) … (\(left) bytes left out) … \(self[tail...])"
    }
}
