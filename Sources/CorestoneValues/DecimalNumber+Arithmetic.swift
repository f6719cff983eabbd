/// Arithmetic with results of at most 38 digits.
///
/// Further digits are rounded, halves away from zero, as by the plain rounding of NSDecimalNumber.
extension DecimalNumber {
    /// Returns the sum.
    ///
    /// - Throws: `.invalidArgument` if the sum is too large.
    public func adding(_ other: DecimalNumber) throws -> DecimalNumber {
        try DecimalNumber.sum(canonical, other.canonical).orThrow("the sum of \(self) and \(other)", of: self)
    }

    /// Returns the difference.
    ///
    /// - Throws: `.invalidArgument` if the difference is too large.
    public func subtracting(_ other: DecimalNumber) throws -> DecimalNumber {
        try DecimalNumber.sum(canonical, other.canonical.negated)
            .orThrow("the difference of \(self) and \(other)", of: self)
    }

    /// Returns the product.
    ///
    /// - Throws: `.invalidArgument` if the product is too large, or is not zero but too small.
    public func multiplied(by other: DecimalNumber) throws -> DecimalNumber {
        let (a, b) = (canonical, other.canonical)
        return try DecimalNumber(
            WideInteger(a.mantissa, times: b.mantissa), exponent: Int(a.exponent) + Int(b.exponent),
            isNegative: a.isNegative != b.isNegative
        ).orThrow("the product of \(self) and \(other)", of: self)
    }

    /// Returns the quotient.
    ///
    /// - Throws: `.invalidArgument` if the divisor is zero, or if the quotient is too large, or is not zero but too
    ///   small.
    public func divided(by other: DecimalNumber) throws -> DecimalNumber {
        let (a, b) = (canonical, other.canonical)
        guard b.mantissa != 0 else {
            throw CoreError(.invalidArgument, "cannot divide \(self) by zero", value: .decimal(self))
        }
        guard a.mantissa != 0 else { return .zero }
        var numerator = WideInteger(a.mantissa)
        let scale = numerator.scaleUp(to: 76)
        let (whole, rest) = numerator.divided(by: b.mantissa)
        var quotient = whole
        var exponent = Int(a.exponent) - Int(b.exponent) - scale
        // One more digit of the quotient, which rounding needs.
        if quotient.digitCount <= DecimalNumber.maximumDigits {
            let digit = WideInteger(rest, times: 10).divided(by: b.mantissa).quotient
            quotient.multiply(by: 10, adding: UInt64(truncatingIfNeeded: digit.low))
            exponent -= 1
        }
        return try DecimalNumber(quotient, exponent: exponent, isNegative: a.isNegative != b.isNegative)
            .orThrow("the quotient of \(self) and \(other)", of: self)
    }

    /// The number rounded to at most 38 digits, without trailing zeros.
    ///
    /// A mantissa of 10^38 or more at the largest exponent cannot be rounded. The number stays unchanged, and an
    /// operation throws if its result does not fit.
    private var canonical: DecimalNumber {
        let number = normalized
        guard number.mantissa >= powerOfTen(DecimalNumber.maximumDigits) else { return number }
        let rounded = DecimalNumber(
            WideInteger(number.mantissa), exponent: Int(number.exponent), isNegative: number.isNegative)
        return rounded ?? number
    }

    private static func sum(_ a: DecimalNumber, _ b: DecimalNumber) -> DecimalNumber? {
        if a.mantissa == 0 { return b }
        if b.mantissa == 0 { return a }
        let (upper, lower) = a.exponent >= b.exponent ? (a, b) : (b, a)
        var wide = WideInteger(upper.mantissa)
        var exponent = Int(upper.exponent)
        exponent -= wide.scaleUp(to: 76, atMost: exponent - Int(lower.exponent))
        // If the exponents still differ, the upper number now has 76 digits, far more than the lower one. Of the
        // dropped digits, it matters only whether they are all zero, because rounding halves up needs only the floor.
        let (other, isExact) = WideInteger(lower.mantissa).droppingDigits(exponent - Int(lower.exponent))
        if upper.isNegative == lower.isNegative {
            wide.add(other)
            return DecimalNumber(wide, exponent: exponent, isNegative: upper.isNegative)
        }
        if wide < other {
            var difference = other
            difference.subtract(wide)
            return DecimalNumber(difference, exponent: exponent, isNegative: lower.isNegative)
        }
        wide.subtract(other)
        if !isExact { wide.subtract(WideInteger(1)) }
        return DecimalNumber(wide, exponent: exponent, isNegative: upper.isNegative)
    }
}

extension DecimalNumber {
    /// Creates the nearest decimal of at most 38 digits.
    ///
    /// Returns nil if the number is too large, or is not zero but would round to zero.
    init?(_ digits: WideInteger, exponent: Int, isNegative: Bool) {
        guard !digits.isZero else {
            self = .zero
            return
        }
        guard exponent > -1 << 20, exponent < 1 << 20 else { return nil }
        let drop = max(digits.digitCount - DecimalNumber.maximumDigits, Int(Int8.min) - exponent, 0)
        let kept = digits.rounded(droppingDigits: drop)
        guard !kept.isZero else { return nil }
        var (mantissa, power) = (kept.low, exponent + drop)
        while power > Int(Int8.max) {
            let (larger, overflow) = mantissa.multipliedReportingOverflow(by: 10)
            guard !overflow, larger < powerOfTen(DecimalNumber.maximumDigits) else { return nil }
            mantissa = larger
            power -= 1
        }
        // Rounding up can result in 10^38, whose zeros are removed here; at the largest exponent it does not fit.
        let number = DecimalNumber(mantissa: mantissa, exponent: Int8(power), isNegative: isNegative).normalized
        guard number.mantissa < powerOfTen(DecimalNumber.maximumDigits) else { return nil }
        self = number
    }
}

extension DecimalNumber? {
    fileprivate func orThrow(_ result: @autoclosure () -> String, of operand: DecimalNumber) throws -> DecimalNumber {
        if let self { return self }
        throw CoreError(
            .invalidArgument, "\(result()) does not fit a decimal, which has up to 38 digits and exponents -128 to 127",
            value: .decimal(operand))
    }
}
