import CorestoneValues

/// A reader of the arguments of a format string, one by one.
struct ArgumentReader {
    private let values: [PropertyValue]
    private let errors: SyntaxError
    private var used = 0

    init(_ values: [PropertyValue], errors: SyntaxError) {
        self.values = values
        self.errors = errors
    }

    /// Returns the next argument, converted for a conversion specifier.
    mutating func next(for conversion: UInt8, at offset: Int) throws -> Expression {
        if conversion == UInt8(ascii: "K") { return .keyPath(try keyPath(at: offset)) }
        let sign = "%" + String(UnicodeScalar(conversion))
        let value = try nextArgument(sign, offset)
        switch conversion {
        case UInt8(ascii: "@"): return Expression(argument: value)
        case UInt8(ascii: "s"), UInt8(ascii: "S"):
            guard case .text = value else { throw refused(value, sign, "a string", offset) }
            return .constant(value)
        case let letter where Array("fFeEgGaA".utf8).contains(letter):
            guard let number = value.number else { throw refused(value, sign, "a number", offset) }
            if case .decimal = value { return .constant(value) }
            return .constant(.double(number))
        default:
            switch value {
            case .int, .decimal, .double: return .constant(value)
            case .bool(let flag): return .constant(.int(flag ? 1 : 0))
            case .text(let text) where conversion | 0x20 == UInt8(ascii: "c"):
                guard let unit = text.string.utf16.first, text.string.utf16.count == 1 else { fallthrough }
                return .constant(.int(Int64(unit)))
            default:
                let isCharacter = conversion | 0x20 == UInt8(ascii: "c")
                throw refused(value, sign, isCharacter ? "an integer or one character" : "an integer", offset)
            }
        }
    }

    /// Returns the next argument as the key path of `%K`.
    mutating func keyPath(at offset: Int) throws -> KeyPath {
        let value = try nextArgument("%K", offset)
        guard case .text(let path) = value, !path.isEmpty else {
            throw refused(value, "%K", "a key path, as a string", offset)
        }
        return KeyPath(path.string)
    }

    private mutating func nextArgument(_ sign: String, _ offset: Int) throws -> PropertyValue {
        guard used < values.count else {
            throw errors.make(
                "\(sign) needs argument \(used + 1), but the number of arguments is \(values.count)", at: offset)
        }
        used += 1
        return values[used - 1]
    }

    private func refused(_ value: PropertyValue, _ sign: String, _ wanted: String, _ offset: Int) -> CoreError {
        errors.make("\(sign) takes \(wanted), but argument \(used) is \(description(value))", at: offset, value: value)
    }

    private func description(_ value: PropertyValue) -> String {
        if case .text(let text) = value { return text.isEmpty ? "an empty string" : "the string \(value.excerpt)" }
        return value.kind
    }
}
