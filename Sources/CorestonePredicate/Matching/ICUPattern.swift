import CorestoneValues

/// The translation of regular expressions from ICU's syntax to PCRE2's.
enum ICUPattern {
    /// Returns the pattern in PCRE2's syntax.
    ///
    /// - Throws: `.predicate` for nested sets and set operations, which PCRE2 would silently interpret differently.
    static func translated(_ pattern: Text) throws -> Text {
        let special: Set<UInt8> = [UInt8(ascii: "\\"), UInt8(ascii: "[")]
        if !pattern.utf8.contains(where: special.contains) { return pattern }
        var translation = Translation(source: Array(pattern.utf8))
        return try translation.run(pattern).withUnsafeBytes { Text(utf8: $0) }
    }

    private struct Translation {
        let source: [UInt8]
        var result: [UInt8] = []
        var position = 0
        var isInSet = false

        init(source: [UInt8]) { self.source = source }

        mutating func run(_ pattern: Text) throws -> [UInt8] {
            while position < source.count {
                let byte = source[position]
                if byte == UInt8(ascii: "\\") {
                    escape()
                } else if !isInSet {
                    isInSet = byte == UInt8(ascii: "[")
                    copy(isInSet && follows("[^]") || follows("[]") ? (follows("[^]") ? 3 : 2) : 1)
                } else if follows("[:"), let length = lengthOfNamedSet() {
                    copy(length)
                } else if byte == UInt8(ascii: "[") || follows("&&") || follows("--") {
                    throw CoreError(
                        .predicate,
                        "the nested set or set operation at byte \(position) of \(PropertyValue.text(pattern).excerpt) "
                            + "is not supported; use a single set or a lookahead such as (?![aeiou])[a-z], or put \\ before "
                            + "a literal [, & or -",
                        value: .text(pattern))
                } else {
                    isInSet = byte != UInt8(ascii: "]")
                    copy(1)
                }
            }
            return result
        }

        /// Translates the escapes `\uFFFF` and `\UFFFFFFFF` to `\x{…}`, and copies others, with the text of `\Q…\E`.
        private mutating func escape() {
            if follows("\\u"), var scalar = hexadecimal(4, from: position + 2) {
                var length = 6
                if scalar & 0xFC00 == 0xD800, follows("\\u", at: position + 6),
                    let low = hexadecimal(4, from: position + 8), low & 0xFC00 == 0xDC00
                {
                    scalar = 0x10000 + (scalar & 0x3FF) << 10 + low & 0x3FF
                    length = 12
                }
                return replace(length, by: scalar)
            }
            if follows("\\U"), let scalar = hexadecimal(8, from: position + 2) { return replace(10, by: scalar) }
            guard follows("\\Q") else { return copy(2) }
            while position < source.count, !follows("\\E") { copy(1) }
        }

        private mutating func replace(_ length: Int, by scalar: UInt32) {
            result += Array("\\x{\(String(scalar, radix: 16))}".utf8)
            position += length
        }

        private mutating func copy(_ count: Int) {
            let end = min(position + count, source.count)
            result += source[position..<end]
            position = end
        }

        private func follows(_ text: StaticString, at place: Int? = nil) -> Bool {
            let place = place ?? position
            return text.withUTF8Buffer { source.count - place >= $0.count && source[place...].starts(with: $0) }
        }

        private func hexadecimal(_ count: Int, from start: Int) -> UInt32? {
            guard source.count - start >= count else { return nil }
            var value: UInt32 = 0
            for byte in source[start..<(start + count)] {
                guard let digit = Lexer.digit(byte, base: 16) else { return nil }
                value = value << 4 | digit
            }
            return value
        }

        /// Returns the length of a named set such as `[:alpha:]` within a set; nil if the text is not a named set.
        private func lengthOfNamedSet() -> Int? {
            let tail = source[(position + 2)...].prefix(40)
            guard let colon = tail.firstIndex(of: UInt8(ascii: ":")), follows(":]", at: colon) else { return nil }
            return colon + 2 - position
        }
    }
}
