/// A decimal of up to 38 digits: (negative ? -1 : 1) × mantissa × 10^exponent.
///
/// Two decimals are equal if they have the same numeric value: 1.50 equals 1.5. Parsed and computed decimals are in the
/// normal form. A number with a mantissa of 10^38 or more is compared and printed exactly, but arithmetic first rounds
/// it to 38 digits.
public struct DecimalNumber: Sendable {
    public let mantissa: UInt128
    public let exponent: Int8
    public let isNegative: Bool

    public init(mantissa: UInt128, exponent: Int8 = 0, isNegative: Bool = false) {
        self.mantissa = mantissa
        self.exponent = exponent
        self.isNegative = isNegative
    }

    public init(_ value: Int64) { self.init(mantissa: UInt128(value.magnitude), isNegative: value < 0) }

    public static let zero = DecimalNumber(mantissa: 0)

    /// The maximum number of digits of a parsed or computed decimal.
    public static let maximumDigits = 38
}

// MARK: - Normal form

extension DecimalNumber {
    /// The same number without trailing zeros, as far as the exponent permits; zero is 0 × 10^0.
    ///
    /// Equal numbers have the same normal form.
    public var normalized: DecimalNumber {
        guard mantissa != 0 else { return .zero }
        var (digits, power) = (mantissa, Int(exponent))
        while power < Int(Int8.max) {
            let (quotient, rest) = digits.quotientAndRemainder(dividingBy: 10)
            guard rest == 0 else { break }
            digits = quotient
            power += 1
        }
        return DecimalNumber(mantissa: digits, exponent: Int8(power), isNegative: isNegative)
    }

    public var negated: DecimalNumber {
        DecimalNumber(mantissa: mantissa, exponent: exponent, isNegative: mantissa != 0 && !isNegative)
    }

    /// The number as an integer; nil if it has a fraction or does not fit.
    public var integer: Int64? {
        let number = normalized
        guard number.exponent >= 0, number.exponent < 20 else { return nil }
        let (magnitude, overflow) = number.mantissa.multipliedReportingOverflow(by: powerOfTen(Int(number.exponent)))
        guard !overflow, magnitude <= UInt128(Int64.min.magnitude) else { return nil }
        let bits = UInt64(magnitude)
        return number.isNegative ? Int64(exactly: -Int128(bits)) : Int64(exactly: bits)
    }
}

// MARK: - Order

extension DecimalNumber: Hashable, Comparable {
    /// Compares by exact value. Returns a negative number, zero or a positive number.
    public static func compare(_ a: DecimalNumber, _ b: DecimalNumber) -> Int {
        switch (a.sign, b.sign) {
        case (let x, let y) where x != y: return x < y ? -1 : 1
        case (0, _): return 0
        case (let sign, _): return sign * compareMagnitudes(a, b)
        }
    }

    private var sign: Int { mantissa == 0 ? 0 : isNegative ? -1 : 1 }

    private static func compareMagnitudes(_ a: DecimalNumber, _ b: DecimalNumber) -> Int {
        if a.exponent < b.exponent { return -compareMagnitudes(b, a) }
        let distance = Int(a.exponent) - Int(b.exponent)
        // 10^39 is larger than every mantissa, and the mantissa of `a` is not zero.
        guard distance < 39 else { return 1 }
        let (high, low) = a.mantissa.multipliedFullWidth(by: powerOfTen(distance))
        return high != 0 || low > b.mantissa ? 1 : low < b.mantissa ? -1 : 0
    }

    public static func == (a: DecimalNumber, b: DecimalNumber) -> Bool { compare(a, b) == 0 }
    public static func < (a: DecimalNumber, b: DecimalNumber) -> Bool { compare(a, b) < 0 }

    public func hash(into hasher: inout Hasher) {
        let number = normalized
        hasher.combine(number.mantissa)
        hasher.combine(number.exponent)
        hasher.combine(number.isNegative)
    }
}

/// Returns 10^exponent for 0 … 38.
func powerOfTen(_ exponent: Int) -> UInt128 {
    var power: UInt128 = 1
    for _ in 0..<min(max(exponent, 0), 38) { power *= 10 }
    return power
}
