extension String {
    /// The message without its remedy: the text up to the first semicolon, or end of a sentence, outside quotes.
    package var withoutRemedy: String {
        let bytes = Array(utf8)
        var isQuoted = false
        for (place, byte) in bytes.enumerated() {
            switch byte {
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: ";") where !isQuoted: return String(decoding: bytes[..<place], as: UTF8.self)
            case UInt8(ascii: ".") where !isQuoted:
                // A full stop without a space and a capital letter after it is part of a name, a number or a key path.
                let next = bytes[(place + 1)...].prefix(2)
                guard next.count == 2, next.first == UInt8(ascii: " "), let letter = next.last,
                    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(letter)
                else { continue }
                return String(decoding: bytes[..<place], as: UTF8.self)
            default: continue
            }
        }
        return self
    }

    package var hasRemedy: Bool { withoutRemedy.utf8.count < utf8.count }
}
