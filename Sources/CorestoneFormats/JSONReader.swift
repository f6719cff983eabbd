import CorestoneValues

/// Parses JSON (RFC 8259) into null, booleans, numbers, strings, arrays and dictionaries.
///
/// An integer of more than 64 bits becomes a decimal, or a double if it has more than 38 digits. Unless `keepsDigits`
/// applies, a fraction becomes the nearest double, as in most JSON parsers.
///
/// - Parameters:
///   - allowsTwins: whether duplicate names are accepted, in which case the last value of a name counts.
///   - keepsDigits: whether a number whose digits a double does not reproduce becomes a decimal of at most 38 digits,
///     if that decimal has the same nearest double.
///   - readsBytes: whether `{"$bytes": "…"}`, with base64, becomes binary data.
/// - Throws: `.invalidArgument` with the offset if the text is not JSON, is nested more than 128 levels deep, contains
///   a number that is too large for a double, or contains a duplicate name without `allowsTwins`.
public func decodeJSON(
    _ bytes: [UInt8], allowsTwins: Bool = true, keepsDigits: Bool = false, readsBytes: Bool = false
) throws -> PropertyValue {
    try bytes.withUnsafeBytes { bytes in
        var reader = JSONReader(bytes, allowsTwins: allowsTwins, keepsDigits: keepsDigits, readsBytes: readsBytes)
        return try reader.readWhole()
    }
}

/// A parser of JSON into values, or into nodes with order and offsets (`JSONNode`).
package struct JSONReader {
    /// A function that creates the error from a complaint ("has …", "is …") and its byte offset.
    package typealias Failure = (_ complaint: String, _ offset: Int) -> CoreError

    private let bytes: UnsafeRawBufferPointer
    private let allowsTwins: Bool
    private let keepsDigits: Bool
    private let readsBytes: Bool
    private let failure: Failure
    private(set) var place = 0

    package static let maximumDepth = 128

    package init(
        _ bytes: UnsafeRawBufferPointer, allowsTwins: Bool, keepsDigits: Bool, readsBytes: Bool,
        failure: @escaping Failure = JSONReader.failure
    ) {
        (self.bytes, self.allowsTwins, self.keepsDigits) = (bytes, allowsTwins, keepsDigits)
        (self.readsBytes, self.failure) = (readsBytes, failure)
    }

    package mutating func readWhole() throws -> PropertyValue { try whole { try $0.read(depth: 0) } }

    /// Parses a whole text, in which only white space may surround the value.
    package mutating func whole<Value>(_ body: (inout JSONReader) throws -> Value) throws -> Value {
        if let bad = firstInvalidUTF8(bytes) { throw failure("is not valid UTF-8", bad) }
        let value = try body(&self)
        skipSpace()
        guard place == bytes.count else { throw error("has text after its end") }
        return value
    }

    private static func failure(_ complaint: String, _ offset: Int) -> CoreError {
        CoreError(.invalidArgument, "the JSON \(complaint) (at byte \(offset))", offset: offset)
    }
    package func error(_ complaint: String) -> CoreError { failure(complaint, place) }

    package var next: UInt8? { place < bytes.count ? bytes[place] : nil }

    package mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { place += 1 }
    }

    /// Consumes a required character.
    private mutating func expect(_ character: Unicode.Scalar, besides other: String = "") throws {
        skipSpace()
        guard next == UInt8(ascii: character) else { throw error("is missing a \(other)\"\(character)\"") }
        place += 1
    }

    /// Consumes an optional character. Returns whether it was present.
    private mutating func accept(_ character: Unicode.Scalar) -> Bool {
        skipSpace()
        guard next == UInt8(ascii: character) else { return false }
        place += 1
        return true
    }

    package func check(depth: Int) throws {
        guard depth <= JSONReader.maximumDepth else {
            throw error("is nested more than \(JSONReader.maximumDepth) levels deep")
        }
    }

    package mutating func read(depth: Int) throws -> PropertyValue {
        try check(depth: depth)
        skipSpace()
        switch next {
        case UInt8(ascii: "{"):
            let members = try members(depth: depth)
            return readsBytes ? bytes(tagged: members) ?? .dictionary(members) : .dictionary(members)
        case UInt8(ascii: "["): return .array(try elements(depth: depth))
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        default: return try number()
        }
    }

    private func bytes(tagged members: [String: PropertyValue]) -> PropertyValue? {
        guard members.count == 1, case .text(let text)? = members["$bytes"] else { return nil }
        return decodeBase64(Array(text.utf8)).map { .bytes(Bytes($0)) }
    }

    private mutating func literal(_ literal: StaticString, _ value: PropertyValue) throws -> PropertyValue {
        let count = literal.utf8CodeUnitCount
        guard place + count <= bytes.count,
            (0..<count).allSatisfy({ bytes[place + $0] == literal.utf8Start[$0] })
        else { throw error("has a literal other than true, false or null") }
        place += count
        return value
    }

    private mutating func elements(depth: Int) throws -> [PropertyValue] {
        var elements: [PropertyValue] = []
        try eachElement { elements.append(try $0.read(depth: depth + 1)) }
        return elements
    }

    private mutating func members(depth: Int) throws -> [String: PropertyValue] {
        var members: [String: PropertyValue] = [:]
        try eachMember { reader, name, start in
            if !reader.allowsTwins, members[name] != nil {
                throw reader.failure("has the name \"\(name)\" twice", start).with(entity: nil, key: name)
            }
            members[name] = try reader.read(depth: depth + 1)
        }
        return members
    }

    /// Parses an array; `body` parses each element.
    package mutating func eachElement(_ body: (inout JSONReader) throws -> Void) throws {
        try expect("[")
        if accept("]") { return }
        repeat { try body(&self) } while accept(",")
        try expect("]", besides: "\",\" or a ")
    }

    /// Parses an object; `body` parses the value of each member and receives the name and its offset.
    package mutating func eachMember(_ body: (inout JSONReader, _ name: String, _ offset: Int) throws -> Void) throws {
        try expect("{")
        if accept("}") { return }
        repeat {
            skipSpace()
            let start = place
            let name = try string()
            try expect(":")
            try body(&self, name, start)
        } while accept(",")
        try expect("}", besides: "\",\" or a ")
    }

    // MARK: Strings

    private mutating func string() throws -> String {
        guard next == UInt8(ascii: "\"") else {
            throw error(next == nil ? "ends where a name is expected" : "has a member without a name in double quotes")
        }
        place += 1
        var text: [UInt8] = []
        while let byte = next {
            place += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"): try escape(into: &text)
            case 0..<0x20:
                let digits = "\(byte < 0x10 ? "000" : "00")\(String(byte, radix: 16, uppercase: true))"
                throw failure(
                    "has a string with the control character U+\(digits), which must be written as \\u\(digits)",
                    place - 1)
            default: text.append(byte)
            }
        }
        throw error("ends inside a string")
    }

    private mutating func escape(into text: inout [UInt8]) throws {
        guard let byte = next else { throw error("ends inside a string") }
        place += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text += Array(String(Character(try scalar())).utf8)
        default: throw failure("has an unknown escape (a backslash is written as \\\\)", place - 2)
        }
    }

    /// Parses the digits after `\u`. A character beyond the Basic Multilingual Plane consists of two escapes.
    private mutating func scalar() throws -> Unicode.Scalar {
        let first = try unit()
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard first < 0xDC00, next == UInt8(ascii: "\\") else { throw error("has an unpaired surrogate") }
        place += 1
        guard next == UInt8(ascii: "u") else { throw error("has an unpaired surrogate") }
        place += 1
        let second = try unit()
        guard 0xDC00..<0xE000 ~= second,
            let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
        else { throw error("has an unpaired surrogate") }
        return scalar
    }

    private mutating func unit() throws -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = next.flatMap({ Character(Unicode.Scalar($0)).hexDigitValue }) else {
                throw error("has an escape without four hexadecimal digits")
            }
            value = value << 4 | UInt32(digit)
            place += 1
        }
        return value
    }

    // MARK: Numbers

    private mutating func digits(_ complaint: String) throws {
        guard let first = next, isDigit(first) else { throw error(complaint) }
        while let byte = next, isDigit(byte) { place += 1 }
    }

    private func isDigit(_ byte: UInt8) -> Bool { 0x30...0x39 ~= byte }

    private mutating func number() throws -> PropertyValue {
        let start = place
        var isWhole = true
        if next == UInt8(ascii: "-") { place += 1 }
        let leading = place
        let complaint =
            next == nil ? "ends where a value is expected" : "has a character that cannot begin a value"
        try digits(leading > start ? "has a number without digits" : complaint)
        guard bytes[leading] != 0x30 || place == leading + 1 else { throw error("has a number with a leading zero") }
        if next == UInt8(ascii: ".") {
            isWhole = false
            place += 1
            try digits("has a number without a digit after its point")
        }
        if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
            isWhole = false
            place += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { place += 1 }
            try digits("has a number without a digit in its exponent")
        }
        let text = String(decoding: bytes[start..<place], as: UTF8.self)
        if isWhole {
            if let integer = Int64(text) { return .int(integer) }
            if place - leading <= 38, let decimal = try? DecimalNumber(text) { return .decimal(decimal) }
        }
        guard let real = Double(text), real.isFinite else { throw error("has a number that is too large") }
        // A double reproduces any 15 digits. A decimal near the limits of its range may have fewer digits than the
        // double, and is then not used.
        if keepsDigits, place - leading > 15, let decimal = try? DecimalNumber(text), decimal.double == real,
            decimal != DecimalNumber(real)
        {
            return .decimal(decimal)
        }
        return .double(real)
    }
}
