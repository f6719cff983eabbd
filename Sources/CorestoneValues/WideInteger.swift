/// An unsigned integer below 2^256, for products and aligned sums of decimals before they are rounded.
struct WideInteger {
    private(set) var high: UInt128
    private(set) var low: UInt128

    init(_ value: UInt128) { (high, low) = (0, value) }
    init(_ a: UInt128, times b: UInt128) { (high, low) = a.multipliedFullWidth(by: b) }

    var isZero: Bool { high == 0 && low == 0 }

    static func < (a: WideInteger, b: WideInteger) -> Bool { a.high == b.high ? a.low < b.low : a.high < b.high }

    /// The number of decimal digits; 0 for zero.
    var digitCount: Int {
        var (rest, count) = (self, 0)
        while rest.high != 0 {
            rest = rest.divided(by: 10).quotient
            count += 1
        }
        while rest.low != 0 {
            rest.low /= 10
            count += 1
        }
        return count
    }

    /// Multiplies the number and adds a digit. Callers stay below 10^77, so 256 bits do not overflow.
    mutating func multiply(by factor: UInt64, adding digit: UInt64 = 0) {
        let (carry, product) = low.multipliedFullWidth(by: UInt128(factor))
        high = high &* UInt128(factor) &+ carry
        add(product, digit)
    }

    private mutating func add(_ product: UInt128, _ digit: UInt64) {
        let (sum, overflow) = product.addingReportingOverflow(UInt128(digit))
        low = sum
        if overflow { high &+= 1 }
    }

    mutating func add(_ other: WideInteger) {
        let (sum, overflow) = low.addingReportingOverflow(other.low)
        low = sum
        high = high &+ other.high &+ (overflow ? 1 : 0)
    }

    /// Subtracts a number, which must not be larger than this one.
    mutating func subtract(_ other: WideInteger) {
        let (difference, borrow) = low.subtractingReportingOverflow(other.low)
        low = difference
        high = high &- other.high &- (borrow ? 1 : 0)
    }

    /// Appends zeros until the integer has `digits` digits, but at most `limit` zeros.
    ///
    /// Returns the count of appended zeros. The integer must not be zero.
    @discardableResult
    mutating func scaleUp(to digits: Int, atMost limit: Int = .max) -> Int {
        let count = max(0, min(digits - digitCount, limit))
        for _ in 0..<count { multiply(by: 10) }
        return count
    }

    /// Returns the quotient and the remainder. The divisor must not be zero.
    func divided(by divisor: UInt128) -> (quotient: WideInteger, rest: UInt128) {
        let (top, carry) = high.quotientAndRemainder(dividingBy: divisor)
        let (bottom, rest) = divisor.dividingFullWidth((carry, low))
        var quotient = WideInteger(bottom)
        quotient.high = top
        return (quotient, rest)
    }

    /// Returns the number without its last `count` digits, and whether those were zeros.
    func droppingDigits(_ count: Int) -> (kept: WideInteger, isExact: Bool) {
        var (kept, isExact) = (self, true)
        for _ in 0..<min(max(count, 0), 78) {
            let (quotient, rest) = kept.divided(by: 10)
            isExact = isExact && rest == 0
            kept = quotient
        }
        return (kept, isExact)
    }

    /// Returns the number without its last `count` digits, rounded half up by the first of them.
    func rounded(droppingDigits count: Int) -> WideInteger {
        guard count > 0 else { return self }
        let (kept, digit) = droppingDigits(count - 1).kept.divided(by: 10)
        guard digit >= 5 else { return kept }
        var next = kept
        next.add(WideInteger(1))
        return next
    }
}
