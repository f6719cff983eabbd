import CorestoneValues
import Glibc

/// Arithmetic on numbers of all types.
///
/// The sum, difference, product and quotient of integers are integers; division truncates, and an overflow results in a
/// double. If an operand of these four operations is a double, the result is a double; otherwise, if one is a decimal,
/// the result is a decimal. Remainders and bit operations truncate their operands to integers. Powers, roots and
/// logarithms are doubles, and so are rounded decimals.
enum Arithmetic {
    static func combine(_ function: Function, _ left: PropertyValue, _ right: PropertyValue) throws -> PropertyValue {
        guard let a = left.number, let b = right.number else {
            let other = left.number == nil ? left : right
            let fault = other.isNull ? "not nil" : "but \(other.excerpt) is \(other.kind)"
            throw predicateError("\(function.rawValue) takes numbers, \(fault)", value: other)
        }
        if function == .power { return .double(pow(a, b)) }
        if let x = left.integer, let y = right.integer { return try integers(function, x, y) }
        if let x = left.decimalNumber, let y = right.decimalNumber, let result = try decimals(function, x, y) {
            return result
        }
        switch function {
        case .add: return .double(a + b)
        case .subtract: return .double(a - b)
        case .multiply: return .double(a * b)
        case .divide: return .double(a / b)
        default: return try integers(function, try whole(left, for: function), try whole(right, for: function))
        }
    }

    private static func integers(_ function: Function, _ a: Int64, _ b: Int64) throws -> PropertyValue {
        switch function {
        case .add: return exact(a.addingReportingOverflow(b), Double(a) + Double(b))
        case .subtract: return exact(a.subtractingReportingOverflow(b), Double(a) - Double(b))
        case .multiply: return exact(a.multipliedReportingOverflow(by: b), Double(a) * Double(b))
        case .divide: return exact(a.dividedReportingOverflow(by: b), Double(a) / Double(b))
        case .modulus: return .int(b == -1 || b == 0 ? 0 : a % b)
        case .bitwiseAnd: return .int(a & b)
        case .bitwiseOr: return .int(a | b)
        case .bitwiseXor: return .int(a ^ b)
        case .leftShift: return .int(a << b)
        case .rightShift: return .int(a >> b)
        default:
            throw predicateError(
                "\(function.rawValue) is not a binary operation on numbers; report it as a defect of the library")
        }
    }

    private static func exact(_ result: (partialValue: Int64, overflow: Bool), _ real: Double) -> PropertyValue {
        result.overflow ? .double(real) : .int(result.partialValue)
    }

    private static func decimals(_ function: Function, _ a: DecimalNumber, _ b: DecimalNumber) throws -> PropertyValue?
    {
        switch function {
        case .add: .decimal(try a.adding(b))
        case .subtract: .decimal(try a.subtracting(b))
        case .multiply: .decimal(try a.multiplied(by: b))
        case .divide: .decimal(try a.divided(by: b))
        default: nil
        }
    }

    /// Truncates a number to an integer, for example for bit operations and remainders.
    static func whole(_ value: PropertyValue, for function: Function) throws -> Int64 {
        if let integer = value.integer { return integer }
        guard let number = value.number else {
            let fault = value.isNull ? "not nil" : "but \(value.excerpt) is \(value.kind)"
            throw predicateError("\(function.rawValue) takes a number, \(fault)", value: value)
        }
        guard let integer = Int64(exactly: number.rounded(.towardZero)) else {
            let least = [Function.randomBelow, .randomBelowN].contains(function) ? 1 : Int64.min
            throw predicateError(
                "\(function.rawValue) takes numbers from \(least) to \(Int64.max), not \(value.excerpt)", value: value)
        }
        return integer
    }

    /// Applies a function of one number.
    static func apply(_ function: Function, _ value: PropertyValue) throws -> PropertyValue {
        guard let number = value.number else {
            let fault = value.isNull ? "not nil" : "but \(value.excerpt) is \(value.kind)"
            throw predicateError("\(function.rawValue) takes a number, \(fault)", value: value)
        }
        switch function {
        case .negate, .abs:
            if let integer = value.integer {
                if function == .abs, integer >= 0 { return .int(integer) }
                return integer == .min ? .double(-Double(integer)) : .int(-integer)
            }
            if case .decimal(let decimal) = value {
                let isNegative = function == .abs ? false : !decimal.isNegative
                return .decimal(
                    DecimalNumber(mantissa: decimal.mantissa, exponent: decimal.exponent, isNegative: isNegative))
            }
            return .double(function == .abs ? Swift.abs(number) : -number)
        case .floor: return value.integer.map { .int($0) } ?? .double(number.rounded(.down))
        case .ceiling: return value.integer.map { .int($0) } ?? .double(number.rounded(.up))
        case .truncate: return value.integer.map { .int($0) } ?? .double(number.rounded(.towardZero))
        case .sqrt: return .double(number.squareRoot())
        case .log10: return .double(Glibc.log10(number))
        case .naturalLog: return .double(Glibc.log(number))
        case .exp: return .double(Glibc.exp(number))
        case .onesComplement: return .int(~(try whole(value, for: function)))
        default:
            throw predicateError(
                "\(function.rawValue) is not a unary operation on numbers; report it as a defect of the library")
        }
    }
}

extension PropertyValue {
    /// The value of an integer or a boolean; nil for other types.
    fileprivate var integer: Int64? {
        switch self {
        case .int(let value): value
        case .bool(let flag): flag ? 1 : 0
        default: nil
        }
    }

    fileprivate var decimalNumber: DecimalNumber? {
        switch self {
        case .decimal(let value): value
        default: integer.map { DecimalNumber($0) }
        }
    }
}
