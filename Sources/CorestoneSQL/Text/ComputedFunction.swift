import CorestonePredicate
import CorestoneValues

/// A function of the predicate language that a store registers with its database.
///
/// It is used where no SQL function returns the same results as the in-memory evaluator. It returns NULL where
/// evaluation in memory returns nil.
package struct ComputedFunction: Sendable {
    package let function: Function

    /// The name in SQL: `cst_` and the selector up to its first colon, such as `cst_raise`.
    package var name: String { "cst_" + function.rawValue.prefix { $0 != ":" } }
    package var argumentCount: Int { function.argumentCounts.lowerBound }

    package static let all = (arithmeticAndText + Function.allCases.filter(\.takesDate)).map {
        ComputedFunction(function: $0)
    }

    private static let arithmeticAndText: [Function] = [
        .uppercase, .lowercase, .canonical, .length, .modulus, .power, .abs, .sqrt, .log10, .naturalLog, .exp, .floor,
        .ceiling, .truncate, .bitwiseAnd, .bitwiseOr, .bitwiseXor, .leftShift, .rightShift, .onesComplement,
    ]

    /// Evaluates the function as the in-memory evaluator does.
    ///
    /// - Throws: `Status.predicate` for numbers that the function does not accept.
    package func value(of arguments: [PropertyValue]) throws -> PropertyValue {
        var arguments = arguments
        if function.takesDate { arguments = arguments.map { $0.number.map { .date($0) } ?? $0 } }
        return try Expression.function(function, arguments.map { .constant($0) }).value(
            with: .null, arithmetic: .nilPropagating)
    }
}

extension ComputedFunction {
    /// Returns a call of a function as SQL; nil for functions that are not registered.
    static func call(_ function: Function, _ arguments: [SQLFragment]) -> SQLFragment? {
        guard let known = all.first(where: { $0.function == function }) else { return nil }
        return "\(function: known)(\(arguments.joined(separator: ", ")))"
    }
}

/// An encoding of values as text, for lists that are bound as one JSON array.
///
/// In SQLite, JSON can represent neither bytes nor texts that contain NUL, and it rounds some doubles.
package enum PackedValue {
    /// The name of the registered SQL function that decodes such a text. It returns other types of values unchanged.
    package static let function = "cst_unpack"

    static func text(_ value: SQLValue) -> String? {
        switch value {
        case .real(let number): "r" + String(number.bitPattern, radix: 16)
        case .text(let text): "t" + hex(text.utf8)
        case .blob(let bytes): "b" + hex(bytes.rawBytes)
        case .null, .integer: nil
        }
    }

    /// Decodes a result of `text(_:)`; nil for an empty text and for an invalid double.
    package static func value(_ packed: UnsafeRawBufferPointer) -> SQLValue? {
        guard let kind = packed.first else { return nil }
        let digits = packed.dropFirst()
        if kind == UInt8(ascii: "r") {
            return UInt64(String(decoding: digits, as: UTF8.self), radix: 16).map { .real(Double(bitPattern: $0)) }
        }
        let nibbles = digits.map { $0 < 0x3A ? $0 & 15 : ($0 & 15) + 9 }
        let bytes = stride(from: 0, to: nibbles.count - 1, by: 2).map { nibbles[$0] << 4 | nibbles[$0 + 1] }
        return kind == UInt8(ascii: "t") ? .text(bytes.withUnsafeBytes { Text(utf8: $0) }) : .blob(Bytes(bytes))
    }

    private static func hex(_ bytes: UnsafeRawBufferPointer) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
