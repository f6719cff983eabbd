/// Core Data's escapes for text in an XML store.
///
/// A backslash is `\\`, and a UTF-16 code unit is `\u` with four hexadecimal digits. The characters `<`, `>` and `&`,
/// control characters except tab and line feed, surrogates, and code units from U+FEFF on are escaped. The low byte
/// comes first: `\u3c00` is `<`.
///
/// Every text is therefore preserved, including characters that XML cannot represent or would change, such as a
/// carriage return.
extension XMLBytes {
    package func append(escaping text: UnsafeRawBufferPointer) {
        var (done, place) = (0, 0)
        while place < text.count {
            guard XMLBytes.mayBeEscaped(text[place]), text[place] != 0xEF || XMLBytes.isEscaped(text, at: place) else {
                place += 1
                continue
            }
            append(UnsafeRawBufferPointer(rebasing: text[done..<place]))
            place += appendEscape(text, at: place)
            done = place
        }
        append(UnsafeRawBufferPointer(rebasing: text[done...]))
    }

    /// Whether a character that begins with this byte may be escaped. With 0xEF, only some characters are.
    @inline(__always)
    private static func mayBeEscaped(_ byte: UInt8) -> Bool {
        if byte < 0x20 { return byte != 0x09 && byte != 0x0A }
        if byte >= 0x7F { return byte >= 0xEF || byte == 0x7F }
        return byte == UInt8(ascii: "<") || byte == UInt8(ascii: ">") || byte == UInt8(ascii: "&")
            || byte == UInt8(ascii: "\\")
    }

    /// Whether a character from U+F000 to U+FFFF is escaped.
    ///
    /// In Apple's files, U+FE0F is not escaped, but U+FEFF and U+FF08 are.
    private static func isEscaped(_ text: UnsafeRawBufferPointer, at place: Int) -> Bool {
        guard place + 2 < text.count else { return true }
        return text[place + 1] > 0xBB || (text[place + 1] == 0xBB && text[place + 2] == 0xBF)
    }

    /// Appends the escape of a character, and returns the number of its bytes in the text.
    private func appendEscape(_ text: UnsafeRawBufferPointer, at place: Int) -> Int {
        let first = text[place]
        if first == UInt8(ascii: "\\") {
            append("\\\\")
            return 1
        }
        let length = first < 0x80 ? 1 : first < 0xF0 ? 3 : 4
        var scalar = UInt32(length == 1 ? first : length == 3 ? first & 0x0F : first & 0x07)
        for next in 1..<max(length, 1) where place + next < text.count {
            scalar = scalar << 6 | UInt32(text[place + next] & 0x3F)
        }
        if scalar < 0x10000 {
            appendUnit(scalar)
        } else {
            appendUnit(0xD800 + (scalar - 0x10000) >> 10)
            appendUnit(0xDC00 + (scalar - 0x10000) & 0x3FF)
        }
        return min(length, text.count - place)
    }

    private func appendUnit(_ unit: UInt32) {
        func digit(_ value: UInt32) -> UInt8 { UInt8(value < 10 ? 0x30 + value : 0x57 + value) }
        append("\\u")
        for shift: UInt32 in [4, 0, 12, 8] { append(digit(unit >> shift & 15)) }
    }

    /// Decodes the escapes in place. A backslash that does not begin an escape is kept.
    ///
    /// Returns false for an unpaired surrogate, which is not valid text.
    package func unescape() -> Bool {
        guard var source = (0..<count).first(where: { start[$0] == UInt8(ascii: "\\") }) else { return true }
        var target = source
        var high: UInt32?
        while source < count {
            if let unit = unit(at: source) {
                source += 6
                if unit & 0xFC00 == 0xD800 {
                    if high != nil { return false }
                    high = unit
                    continue
                }
                var scalar = unit
                if unit & 0xFC00 == 0xDC00 {
                    guard let first = high else { return false }
                    scalar = 0x10000 + (first & 0x3FF) << 10 + unit & 0x3FF
                    high = nil
                }
                if high != nil { return false }
                target += put(scalar, at: target)
                continue
            }
            if high != nil { return false }
            if start[source] == UInt8(ascii: "\\"), source + 1 < count, start[source + 1] == UInt8(ascii: "\\") {
                source += 1
            }
            start[target] = start[source]
            target += 1
            source += 1
        }
        shorten(to: target)
        return high == nil
    }

    /// Returns the UTF-16 code unit of an escape at this position; nil if there is no escape.
    private func unit(at place: Int) -> UInt32? {
        guard place + 6 <= count, start[place] == UInt8(ascii: "\\"), start[place + 1] == UInt8(ascii: "u") else {
            return nil
        }
        var unit: UInt32 = 0
        for (offset, shift) in zip(2..<6, [UInt32(4), 0, 12, 8]) {
            let byte = start[place + offset]
            switch byte {
            case 0x30...0x39: unit |= UInt32(byte - 0x30) << shift
            case 0x41...0x46, 0x61...0x66: unit |= UInt32((byte | 0x20) - 0x57) << shift
            default: return nil
            }
        }
        return unit
    }

    /// Overwrites an escape with the character's UTF-8, which is shorter. Returns the number of bytes.
    private func put(_ scalar: UInt32, at place: Int) -> Int {
        func byte(_ shift: UInt32) -> UInt8 { 0x80 | UInt8(scalar >> shift & 0x3F) }
        switch scalar {
        case ..<0x80:
            start[place] = UInt8(scalar)
            return 1
        case ..<0x800:
            start[place] = 0xC0 | UInt8(scalar >> 6)
            start[place + 1] = byte(0)
            return 2
        case ..<0x10000:
            start[place] = 0xE0 | UInt8(scalar >> 12)
            start[place + 1] = byte(6)
            start[place + 2] = byte(0)
            return 3
        default:
            start[place] = 0xF0 | UInt8(scalar >> 18)
            start[place + 1] = byte(12)
            start[place + 2] = byte(6)
            start[place + 3] = byte(0)
            return 4
        }
    }

    /// Appends text with XML's own escapes, for element content or, with `isAttribute`, for an attribute value.
    ///
    /// - Throws: `XMLLacksCharacter` for a character that XML cannot represent.
    func append(xml text: String, isAttribute: Bool = false) throws(XMLLacksCharacter) {
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": append("&amp;")
            case "<": append("&lt;")
            case ">": append("&gt;")
            case "\"" where isAttribute: append("&quot;")
            case "\r": append("&#13;")
            case "\n" where isAttribute: append("&#10;")
            case "\t" where isAttribute: append("&#9;")
            case "\n", "\t": append(UInt8(scalar.value))
            case "\u{0}"..."\u{1F}", "\u{FFFE}", "\u{FFFF}": throw XMLLacksCharacter(scalar: scalar)
            default: append(String(scalar))
            }
        }
    }
}

/// A character that XML cannot represent.
struct XMLLacksCharacter: Error {
    let scalar: Unicode.Scalar
    var name: String {
        let digits = String(scalar.value, radix: 16, uppercase: true)
        return "U+" + String(repeating: "0", count: max(4 - digits.count, 0)) + digits
    }
}
