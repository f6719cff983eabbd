/// A text of JSON (RFC 8259) as values: null, booleans, numbers, strings, arrays, dictionaries. A whole number is an integer, one
/// of more than 64 bits a decimal, or a double beyond 38 digits; a fraction is the nearest double, as in most readers of JSON.
///
/// - Parameters:
///   - allowsTwins: whether of members of one name the last counts; else they are refused.
///   - keepsDigits: whether a number that no double prints as is a decimal, of 38 digits at most, where the nearest double of
///     that is the number's own.
///   - readsBytes: whether `{"$bytes": "…"}`, with base64, is the bytes.
/// - Throws: `.invalidArgument` with the offset for what is no JSON, or nested more than 128 deep.
public func decodeJSON(
    _ bytes: [UInt8], allowsTwins: Bool = true, keepsDigits: Bool = false, readsBytes: Bool = false
) throws -> PropertyValue {
    try bytes.withUnsafeBytes { bytes in
        var reader = JSONReader(bytes, allowsTwins: allowsTwins, keepsDigits: keepsDigits, readsBytes: readsBytes)
        return try reader.readWhole()
    }
}

private struct JSONReader {
    private let bytes: UnsafeRawBufferPointer
    private let allowsTwins: Bool
    private let keepsDigits: Bool
    private let readsBytes: Bool
    private var place = 0

    static let maximumDepth = 128

    init(_ bytes: UnsafeRawBufferPointer, allowsTwins: Bool, keepsDigits: Bool, readsBytes: Bool) {
        (self.bytes, self.allowsTwins, self.keepsDigits) = (bytes, allowsTwins, keepsDigits)
        self.readsBytes = readsBytes
    }

    mutating func readWhole() throws -> PropertyValue {
        if let bad = firstInvalidUTF8(bytes) { throw JSONReader.error("is not valid UTF-8", at: bad) }
        let value = try read(depth: 0)
        skipSpace()
        guard place == bytes.count else { throw error("has text after its end") }
        return value
    }

    private static func error(_ what: String, at offset: Int) -> CoreError {
        CoreError(.invalidArgument, "the JSON \(what) (at byte \(offset))", offset: offset)
    }
    private func error(_ what: String) -> CoreError { JSONReader.error(what, at: place) }

    private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { place += 1 }
    }

    /// Takes a character that must come.
    private mutating func take(_ character: Unicode.Scalar) throws {
        skipSpace()
        guard next == UInt8(ascii: character) else { throw error("is missing a \"\(character)\"") }
        place += 1
    }

    /// Takes a character if it comes.
    private mutating func takes(_ character: Unicode.Scalar) -> Bool {
        skipSpace()
        guard next == UInt8(ascii: character) else { return false }
        place += 1
        return true
    }

    private mutating func read(depth: Int) throws -> PropertyValue {
        guard depth <= JSONReader.maximumDepth else {
            throw error("is nested more than \(JSONReader.maximumDepth) levels deep")
        }
        skipSpace()
        switch next {
        case UInt8(ascii: "{"):
            let members = try members(depth: depth)
            return readsBytes ? bytes(tagged: members) ?? .dictionary(members) : .dictionary(members)
        case UInt8(ascii: "["): return .array(try elements(depth: depth))
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private func bytes(tagged members: [String: PropertyValue]) -> PropertyValue? {
        guard members.count == 1, case .text(let text)? = members["$bytes"] else { return nil }
        return decodeBase64(Array(text.utf8)).map { .bytes(Bytes($0)) }
    }

    private mutating func word(_ word: StaticString, _ value: PropertyValue) throws -> PropertyValue {
        let count = word.utf8CodeUnitCount
        guard place + count <= bytes.count,
            (0..<count).allSatisfy({ bytes[place + $0] == word.utf8Start[$0] })
        else { throw error("has an unknown literal") }
        place += count
        return value
    }

    private mutating func elements(depth: Int) throws -> [PropertyValue] {
        try take("[")
        var elements: [PropertyValue] = []
        if takes("]") { return elements }
        repeat { elements.append(try read(depth: depth + 1)) } while takes(",")
        try take("]")
        return elements
    }

    private mutating func members(depth: Int) throws -> [String: PropertyValue] {
        try take("{")
        var members: [String: PropertyValue] = [:]
        if takes("}") { return members }
        repeat {
            skipSpace()
            let start = place
            let name = try string()
            if !allowsTwins, members[name] != nil {
                throw JSONReader.error("has the name \"\(name)\" twice", at: start)
            }
            try take(":")
            members[name] = try read(depth: depth + 1)
        } while takes(",")
        try take("}")
        return members
    }

    // MARK: Strings

    private mutating func string() throws -> String {
        guard next == UInt8(ascii: "\"") else { throw error("is missing a string") }
        place += 1
        var text: [UInt8] = []
        while let byte = next {
            place += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"): try escape(into: &text)
            case 0..<0x20: throw error("has a control character in a string")
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
        default: throw error("has an unknown escape")
        }
    }

    /// What `\u` introduces; a character beyond the first plane is two of them.
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

    private mutating func digits() throws {
        guard let first = next, isDigit(first) else { throw error("has a character that cannot begin a value") }
        while let byte = next, isDigit(byte) { place += 1 }
    }

    private func isDigit(_ byte: UInt8) -> Bool { 0x30...0x39 ~= byte }

    private mutating func number() throws -> PropertyValue {
        let start = place
        var isWhole = true
        if next == UInt8(ascii: "-") { place += 1 }
        let leading = place
        try digits()
        guard bytes[leading] != 0x30 || place == leading + 1 else { throw error("has a number with a leading zero") }
        if next == UInt8(ascii: ".") {
            isWhole = false
            place += 1
            try digits()
        }
        if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
            isWhole = false
            place += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { place += 1 }
            try digits()
        }
        let text = String(decoding: bytes[start..<place], as: UTF8.self)
        if isWhole {
            if let integer = Int64(text) { return .int(integer) }
            if place - leading <= 38, let decimal = try? DecimalNumber(text) { return .decimal(decimal) }
        }
        guard let real = Double(text), real.isFinite else { throw error("has a number that is too large") }
        // A double holds any 15 digits. A decimal close to the ends of its range may have fewer than the double.
        if keepsDigits, place - leading > 15, let decimal = try? DecimalNumber(text), decimal.double == real,
            decimal != DecimalNumber(real)
        {
            return .decimal(decimal)
        }
        return .double(real)
    }
}
