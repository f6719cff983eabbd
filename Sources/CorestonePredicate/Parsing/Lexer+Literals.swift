import CorestoneValues

extension Lexer {
    /// Reads a quoted string and its escapes. The position is at the opening quote.
    mutating func string() throws -> Text {
        let start = position
        let quote = byte()
        position += 1
        var bytes: [UInt8] = []
        while true {
            guard position < source.count else {
                throw errors.make("this string is missing its closing \(String(UnicodeScalar(quote)))", at: start)
            }
            let next = byte()
            position += 1
            if next == quote { break }
            if next == UInt8(ascii: "\\") {
                guard position < source.count else { continue }
                bytes.append(contentsOf: escape())
            } else {
                bytes.append(next)
            }
        }
        return bytes.withUnsafeBytes { Text(utf8: $0) }
    }

    /// Reads the characters after a backslash in a string.
    private mutating func escape() -> [UInt8] {
        let letter = byte()
        position += 1
        switch letter {
        case UInt8(ascii: "n"): return [10]
        case UInt8(ascii: "r"): return [13]
        case UInt8(ascii: "t"): return [9]
        case UInt8(ascii: "b"): return [8]
        case UInt8(ascii: "f"): return [12]
        case UInt8(ascii: "v"): return [11]
        case UInt8(ascii: "a"): return [7]
        case UInt8(ascii: "0")...UInt8(ascii: "7"):
            position -= 1
            return Lexer.utf8(digits(atMost: 3, base: 8) ?? 0)
        case UInt8(ascii: "x"):
            return hexadecimal(2).map(Lexer.utf8) ?? [letter]
        case UInt8(ascii: "u"):
            guard let unit = hexadecimal(4) else { return [letter] }
            return Lexer.utf8(unit & 0xFC00 == 0xD800 ? completed(surrogate: unit) : unit)
        default: return [letter]
        }
    }

    /// Reads exactly `count` hexadecimal digits. If there are fewer, returns nil and does not advance.
    private mutating func hexadecimal(_ count: Int) -> UInt32? {
        for index in 0..<count where Lexer.digit(byte(index), base: 16) == nil { return nil }
        return digits(atMost: count, base: 16)
    }

    private mutating func digits(atMost count: Int, base: UInt32) -> UInt32? {
        var value: UInt32?
        for _ in 0..<count {
            guard let digit = Lexer.digit(byte(), base: base) else { break }
            value = (value ?? 0) * base + digit
            position += 1
        }
        return value
    }

    /// Combines a high surrogate with the low surrogate that the next escape represents, if it does.
    private mutating func completed(surrogate high: UInt32) -> UInt32 {
        let start = position
        if byte() == UInt8(ascii: "\\"), byte(1) == UInt8(ascii: "u") {
            position += 2
            if let low = hexadecimal(4), low & 0xFC00 == 0xDC00 {
                return 0x10000 + (high & 0x3FF) << 10 + low & 0x3FF
            }
        }
        position = start
        return high
    }

    /// Encodes a scalar as UTF-8, or the replacement character for an invalid value.
    private static func utf8(_ value: UInt32) -> [UInt8] {
        Array(String(UnicodeScalar(value) ?? "\u{FFFD}").utf8)
    }
}

extension Lexer {
    /// Reads a number: an integer, or a double if it has a point or an exponent.
    ///
    /// An integer beyond 64 bits becomes a decimal if that is exact, otherwise a double.
    mutating func number() -> PropertyValue {
        let start = position
        if byte() == UInt8(ascii: "0"), let prefixed = prefixedNumber() { return prefixed }
        skipDigits()
        var isReal = false
        if byte() == UInt8(ascii: "."), !startsKey(at: 1) {
            isReal = true
            position += 1
            skipDigits()
        }
        if let length = exponentLength(at: 0) {
            isReal = true
            position += length
            skipDigits()
        }
        let text = String(decoding: source[start..<position], as: UTF8.self)
        if !isReal {
            if let integer = Int64(text) { return .int(integer) }
            if position - start <= 38, let mantissa = UInt128(text) {
                return .decimal(DecimalNumber(mantissa: mantissa))
            }
        }
        return .double(Double(text.last == "." ? text + "0" : text) ?? .infinity)
    }

    /// Whether a key follows a dot, as in `1.description`, and not the rest of a number, as in `1.` and `1.e5`.
    private func startsKey(at distance: Int) -> Bool {
        let next = byte(distance)
        if exponentLength(at: distance) != nil { return false }
        return next >= 0x80 || Lexer.isNameByte(next) && Lexer.digit(next, base: 10) == nil
            || [UInt8(ascii: "@"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "\\")].contains(next)
    }

    /// Returns the length of the letter and sign of an exponent; nil if digits do not follow.
    private func exponentLength(at distance: Int) -> Int? {
        guard byte(distance) | 0x20 == UInt8(ascii: "e") else { return nil }
        let hasSign = byte(distance + 1) == UInt8(ascii: "+") || byte(distance + 1) == UInt8(ascii: "-")
        let length = hasSign ? 2 : 1
        return Lexer.digit(byte(distance + length), base: 10) == nil ? nil : length
    }

    /// Reads `0x1F`, `0o17` or `0b101`; nil if the zero is not a prefix.
    private mutating func prefixedNumber() -> PropertyValue? {
        let base: UInt32
        switch byte(1) | 0x20 {
        case UInt8(ascii: "x"): base = 16
        case UInt8(ascii: "o"): base = 8
        case UInt8(ascii: "b"): base = 2
        default: return nil
        }
        guard Lexer.digit(byte(2), base: base) != nil else { return nil }
        position += 2
        var value: UInt128 = 0
        var real = 0.0
        var overflows = false
        while let digit = Lexer.digit(byte(), base: base) {
            let (product, high) = value.multipliedReportingOverflow(by: UInt128(base))
            let (sum, carry) = product.addingReportingOverflow(UInt128(digit))
            overflows = overflows || high || carry
            value = sum
            real = real * Double(base) + Double(digit)
            position += 1
        }
        if overflows { return .double(real) }
        return Int64(exactly: value).map { .int($0) } ?? .decimal(DecimalNumber(mantissa: value))
    }

    private mutating func skipDigits() {
        while Lexer.digit(byte(), base: 10) != nil { position += 1 }
    }
}
