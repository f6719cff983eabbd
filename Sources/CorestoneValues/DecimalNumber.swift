/// A decimal of up to 38 digits: (negative ? -1 : 1) × mantissa × 10^exponent.
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

    public var double: Double { (isNegative ? -1 : 1) * Double(mantissa) }

    public static func compare(_ a: DecimalNumber, _ b: DecimalNumber) -> Int {
        a.double < b.double ? -1 : a.double > b.double ? 1 : 0
    }
}

extension DecimalNumber {
    public init?(_ value: Double) { return nil }
}
