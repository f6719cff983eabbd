extension Lexer {
    /// Reads a name and its escapes at the position; nil if no name begins there.
    mutating func identifier() throws -> String? {
        var name = String.UnicodeScalarView()
        while position < source.count {
            let first = byte()
            if first < 0x80 {
                if Lexer.isNameByte(first), !(name.isEmpty && Lexer.digit(first, base: 10) != nil) {
                    name.append(UnicodeScalar(first))
                    position += 1
                } else if first == UInt8(ascii: "\\"), let escaped = nameEscape() {
                    name.append(escaped.value)
                    position += escaped.length
                } else {
                    break
                }
            } else if let scalar = scalar(at: position), Lexer.isNameScalar(scalar.value, first: name.isEmpty) {
                name.append(scalar.value)
                position += scalar.length
            } else {
                break
            }
        }
        return name.isEmpty ? nil : String(name)
    }

    /// Decodes the escape of a character in a name: `\101`, `\xE9` or `\u00E9`.
    private func nameEscape() -> (value: UnicodeScalar, length: Int)? {
        let (base, first, count): (UInt32, Int, Int) =
            switch byte(1) {
            case UInt8(ascii: "x"), UInt8(ascii: "X"): (16, 2, 2)
            case UInt8(ascii: "u"), UInt8(ascii: "U"): (16, 2, 4)
            default: (8, 1, 3)
            }
        var value: UInt32 = 0
        for index in first..<(first + count) {
            guard let digit = Lexer.digit(byte(index), base: base) else { return nil }
            value = value * base + digit
        }
        return UnicodeScalar(value).map { ($0, first + count) }
    }

    static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private static func isNameScalar(_ scalar: UnicodeScalar, first: Bool) -> Bool {
        first ? scalar.properties.isIDStart : scalar.properties.isIDContinue
    }

    static func digit(_ byte: UInt8, base: UInt32) -> UInt32? {
        let value: UInt32
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): value = UInt32(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): value = UInt32(byte - UInt8(ascii: "a")) + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): value = UInt32(byte - UInt8(ascii: "A")) + 10
        default: return nil
        }
        return value < base ? value : nil
    }

    /// Returns the scalar at `index` and its length in bytes; nil if the bytes are not UTF-8.
    func scalar(at index: Int) -> (value: UnicodeScalar, length: Int)? {
        guard index < source.count else { return nil }
        let lead = source[index]
        let length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4
        let end = min(index + length, source.count)
        var decoder = UTF8()
        var bytes = source[index..<end].makeIterator()
        guard case .scalarValue(let scalar) = decoder.decode(&bytes) else { return nil }
        return (scalar, length)
    }
}
