import Glibc

extension DecimalNumber: CustomStringConvertible {
    /// The number in plain notation without an exponent, as `NSDecimalNumber` prints it: `-0.0015`, `1200`.
    public var description: String {
        let number = normalized
        var digits = String(number.mantissa)
        if number.exponent >= 0 {
            if number.mantissa != 0 { digits += String(repeating: "0", count: Int(number.exponent)) }
        } else {
            let places = -Int(number.exponent)
            let missing = places + 1 - digits.utf8.count
            if missing > 0 { digits = String(repeating: "0", count: missing) + digits }
            digits.insert(".", at: digits.index(digits.endIndex, offsetBy: -places))
        }
        return number.isNegative ? "-" + digits : digits
    }
}

extension DecimalNumber {
    /// Parses `[+-] digits [. digits] [e [+-] digits]`, with a digit on at least one side of the point.
    ///
    /// Digits beyond the 38th and digits below 10^-128 are rounded, halves away from zero, which is NSDecimalNumber's
    /// plain rounding.
    ///
    /// - Throws: `.invalidArgument` if the text is not a number, or if the number is too large or too small.
    public init(_ text: String) throws {
        var copy = text
        guard let scanned = copy.withUTF8({ DecimalNumber.scan($0) }) else {
            throw CoreError(
                .invalidArgument,
                "\(text.quotedStart) is not a decimal number; write digits with an optional point and exponent, such "
                    + "as -12.5 or 3e8", value: .string(text))
        }
        guard let number = DecimalNumber(scanned.digits, exponent: scanned.exponent, isNegative: scanned.isNegative)
        else {
            throw CoreError(
                .invalidArgument,
                "\(text.quotedStart) does not fit a decimal, which has up to 38 digits and exponents -128 to 127",
                value: .string(text))
        }
        self = number
    }

    private struct Scanned {
        var digits = WideInteger(0)
        var exponent = 0
        var isNegative = false
    }

    private static func scan(_ text: UnsafeBufferPointer<UInt8>) -> Scanned? {
        var scanned = Scanned()
        var position = 0
        func sign() -> Bool? {
            guard position < text.count, text[position] == 0x2B || text[position] == 0x2D else { return nil }
            position += 1
            return text[position - 1] == 0x2D
        }
        scanned.isNegative = sign() ?? false
        // Rounding never needs more than 60 digits; further digits only change the exponent.
        var (kept, seen, afterPoint) = (0, 0, false)
        while position < text.count {
            let byte = text[position]
            if byte == 0x2E, !afterPoint {
                afterPoint = true
            } else if byte >= 0x30, byte <= 0x39 {
                seen += 1
                if kept < 60 {
                    scanned.digits.multiply(by: 10, adding: UInt64(byte - 0x30))
                    if kept > 0 || byte != 0x30 { kept += 1 }
                    if afterPoint { scanned.exponent -= 1 }
                } else if !afterPoint {
                    scanned.exponent += 1
                }
            } else {
                break
            }
            position += 1
        }
        guard seen > 0 else { return nil }
        if position < text.count, text[position] | 0x20 == 0x65 {
            position += 1
            let isNegative = sign() ?? false
            var power = 0
            let first = position
            while position < text.count, text[position] >= 0x30, text[position] <= 0x39 {
                // At this limit, the exponent exceeds the length of any text, so the digits before the exponent cannot
                // bring the number back into range.
                if power < 1 << 50 { power = power * 10 + Int(text[position] - 0x30) }
                position += 1
            }
            guard position > first else { return nil }
            scanned.exponent += isNegative ? -power : power
        }
        return position == text.count ? scanned : nil
    }
}

// MARK: - Doubles

extension DecimalNumber {
    /// The nearest double. Magnitudes are below 10^166, so it is always finite.
    public var double: Double {
        // Both operands are exact, so one rounding returns the nearest double.
        if mantissa < 1 << 53, exponent >= -22, exponent <= 22 {
            var power = 1.0
            for _ in 0..<abs(Int(exponent)) { power *= 10 }
            let magnitude = exponent < 0 ? Double(mantissa) / power : Double(mantissa) * power
            return isNegative && mantissa != 0 ? -magnitude : magnitude
        }
        // Without a decimal point the text does not depend on the locale.
        let number = strtod("\(mantissa)e\(exponent)", nil)
        return isNegative && mantissa != 0 ? -number : number
    }

    /// Creates the shortest decimal that converts back to the double.
    ///
    /// Digits below 10^-128 are rounded. Returns nil for NaN, infinities and numbers outside the range of decimals.
    public init?(_ value: Double) {
        guard value.isFinite else { return nil }
        if let whole = Int64(exactly: value), whole.magnitude < 1 << 53 {
            self = DecimalNumber(whole).normalized
            return
        }
        guard let number = try? DecimalNumber(value.description) else { return nil }
        self = number
    }
}
