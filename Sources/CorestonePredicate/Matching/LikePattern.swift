import CorestoneValues

/// A pattern of LIKE: `*` matches any run of characters, `?` one character, and `\` escapes the next character.
///
/// The pattern must match the whole text.
///
/// Matching backtracks at most to the last `*`, so its time is at most proportional to the product of both lengths, and
/// it does not allocate memory.
package struct LikePattern: Hashable, Sendable {
    private enum Element: Hashable {
        case anyRun
        case anyCharacter
        case byte(UInt8)
    }

    private let elements: [Element]

    /// Creates a matcher.
    ///
    /// - Parameter pattern: the pattern; folded if the texts to be matched are folded.
    package init(_ pattern: Text) {
        var elements: [Element] = []
        var quoted = false
        for byte in pattern.utf8 {
            if quoted {
                elements.append(.byte(byte))
                quoted = false
            } else if byte == UInt8(ascii: "\\") {
                quoted = true
            } else if byte == UInt8(ascii: "*") {
                if elements.last != .anyRun { elements.append(.anyRun) }
            } else {
                elements.append(byte == UInt8(ascii: "?") ? .anyCharacter : .byte(byte))
            }
        }
        if quoted { elements.append(.byte(UInt8(ascii: "\\"))) }
        self.elements = elements
    }

    package func matches(_ text: UnsafeRawBufferPointer) -> Bool {
        var (place, at) = (0, 0)
        var retry: (place: Int, at: Int)?
        while at < text.count {
            if place < elements.count {
                switch elements[place] {
                case .anyRun:
                    retry = (place, at)
                    place += 1
                    continue
                case .anyCharacter:
                    place += 1
                    at = LikePattern.afterCharacter(text, at)
                    continue
                case .byte(let byte) where byte == text[at]:
                    place += 1
                    at += 1
                    continue
                case .byte: break
                }
            }
            guard let last = retry else { return false }
            let next = LikePattern.afterCharacter(text, last.at)
            retry = (last.place, next)
            (place, at) = (last.place + 1, next)
        }
        return elements[place...].allSatisfy { $0 == .anyRun }
    }

    /// Returns the index after the character at `index` and its combining marks.
    ///
    /// A letter thus counts as one character, regardless of the encoding of its accent.
    private static func afterCharacter(_ text: UnsafeRawBufferPointer, _ index: Int) -> Int {
        var next = index + 1
        while next < text.count, text[next] & 0xC0 == 0x80 || startsWithMark(text, at: next) { next += 1 }
        return next
    }
}
