import CorestoneValues

/// Decimals of any length, computed digit by digit: the reference for `DecimalNumber`.
struct ExactDecimal {
    /// Least significant first, without zeros at the end; empty for zero.
    var digits: [Int]
    var exponent: Int
    var isNegative: Bool

    init(digits: [Int], exponent: Int, isNegative: Bool) {
        var digits = digits
        while digits.last == 0 { digits.removeLast() }
        (self.digits, self.exponent, self.isNegative) = (digits, exponent, isNegative && !digits.isEmpty)
    }

    init(_ number: DecimalNumber) {
        self.init(
            digits: String(number.mantissa).reversed().compactMap(\.wholeNumberValue), exponent: Int(number.exponent),
            isNegative: number.isNegative)
    }

    private func scaled(to exponent: Int) -> [Int] { Array(repeating: 0, count: self.exponent - exponent) + digits }

    static func compareMagnitudes(_ a: [Int], _ b: [Int]) -> Int {
        if a.count != b.count { return a.count < b.count ? -1 : 1 }
        for (x, y) in zip(a.reversed(), b.reversed()) where x != y { return x < y ? -1 : 1 }
        return 0
    }

    var negated: ExactDecimal { ExactDecimal(digits: digits, exponent: exponent, isNegative: !isNegative) }

    static func + (a: ExactDecimal, b: ExactDecimal) -> ExactDecimal {
        let exponent = min(a.exponent, b.exponent)
        var (x, y) = (a.scaled(to: exponent), b.scaled(to: exponent))
        while x.last == 0 { x.removeLast() }
        while y.last == 0 { y.removeLast() }
        var isNegative = a.isNegative
        var result: [Int] = []
        if a.isNegative == b.isNegative {
            var carry = 0
            for index in 0..<max(x.count, y.count) {
                let sum = (index < x.count ? x[index] : 0) + (index < y.count ? y[index] : 0) + carry
                result.append(sum % 10)
                carry = sum / 10
            }
            result.append(carry)
        } else {
            if compareMagnitudes(x, y) < 0 {
                (x, y) = (y, x)
                isNegative = b.isNegative
            }
            var borrow = 0
            for index in 0..<x.count {
                let difference = x[index] - (index < y.count ? y[index] : 0) - borrow
                result.append((difference + 10) % 10)
                borrow = difference < 0 ? 1 : 0
            }
        }
        return ExactDecimal(digits: result, exponent: exponent, isNegative: isNegative)
    }

    static func * (a: ExactDecimal, b: ExactDecimal) -> ExactDecimal {
        var result = [Int](repeating: 0, count: a.digits.count + b.digits.count + 1)
        for (i, x) in a.digits.enumerated() {
            for (j, y) in b.digits.enumerated() { result[i + j] += x * y }
        }
        var carry = 0
        for index in result.indices {
            let sum = result[index] + carry
            result[index] = sum % 10
            carry = sum / 10
        }
        return ExactDecimal(digits: result, exponent: a.exponent + b.exponent, isNegative: a.isNegative != b.isNegative)
    }

    func compare(to other: ExactDecimal) -> Int {
        let difference = self + other.negated
        return difference.digits.isEmpty ? 0 : difference.isNegative ? -1 : 1
    }

    /// To 38 digits and an exponent of -128 or more, halves away from zero; nil when that does not fit.
    var rounded: DecimalNumber? {
        let drop = max(digits.count - 38, -128 - exponent, 0)
        var kept = Array(digits.dropFirst(drop))
        var power = exponent + drop
        if drop > 0, drop <= digits.count, digits[drop - 1] >= 5 {
            var index = 0
            while index < kept.count, kept[index] == 9 {
                kept[index] = 0
                index += 1
            }
            if index == kept.count { kept.append(1) } else { kept[index] += 1 }
        }
        while kept.last == 0 { kept.removeLast() }
        if kept.isEmpty { return digits.isEmpty ? .zero : nil }
        while kept.first == 0 {
            kept.removeFirst()
            power += 1
        }
        while power > 127, kept.count < 38 {
            kept.insert(0, at: 0)
            power -= 1
        }
        guard power <= 127, kept.count <= 38 else { return nil }
        let mantissa = kept.reversed().reduce(UInt128(0)) { $0 * 10 + UInt128($1) }
        return DecimalNumber(mantissa: mantissa, exponent: Int8(power), isNegative: isNegative)
    }
}

/// A generator whose numbers are the same in every run (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
