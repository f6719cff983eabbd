import CorestoneValues

/// Reads the subset of JSON of the case file. It distinguishes integers, doubles and booleans.
struct JSONReader {
    private let bytes: [UInt8]
    private var position = 0

    static func read(_ bytes: [UInt8]) -> PropertyValue {
        var reader = JSONReader(bytes: bytes)
        return reader.value()
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private var next: UInt8 { position < bytes.count ? bytes[position] : 0 }

    private mutating func skipBlanks() { while [9, 10, 13, 32].contains(next) { position += 1 } }

    private mutating func value() -> PropertyValue {
        skipBlanks()
        defer { skipBlanks() }
        switch next {
        case UInt8(ascii: "{"): return .dictionary(members())
        case UInt8(ascii: "["): return .array(elements())
        case UInt8(ascii: "\""): return .string(string())
        case UInt8(ascii: "t"):
            position += 4
            return .bool(true)
        case UInt8(ascii: "f"):
            position += 5
            return .bool(false)
        case UInt8(ascii: "n"):
            position += 4
            return .null
        default: return number()
        }
    }

    private mutating func members() -> [String: PropertyValue] {
        var members: [String: PropertyValue] = [:]
        position += 1
        skipBlanks()
        while next != UInt8(ascii: "}") {
            skipBlanks()
            let key = string()
            skipBlanks()
            position += 1
            members[key] = value()
            if next == UInt8(ascii: ",") { position += 1 }
        }
        position += 1
        return members
    }

    private mutating func elements() -> [PropertyValue] {
        var elements: [PropertyValue] = []
        position += 1
        skipBlanks()
        while next != UInt8(ascii: "]") {
            elements.append(value())
            if next == UInt8(ascii: ",") { position += 1 }
        }
        position += 1
        return elements
    }

    private mutating func number() -> PropertyValue {
        let start = position
        while Array("+-.eE0123456789".utf8).contains(next) { position += 1 }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        return Int64(text).map { .int($0) } ?? .double(Double(text) ?? .nan)
    }

    private mutating func string() -> String {
        var units: [UInt16] = []
        position += 1
        while next != UInt8(ascii: "\"") {
            if next == UInt8(ascii: "\\") {
                position += 1
                switch next {
                case UInt8(ascii: "n"): units.append(10)
                case UInt8(ascii: "r"): units.append(13)
                case UInt8(ascii: "t"): units.append(9)
                case UInt8(ascii: "b"): units.append(8)
                case UInt8(ascii: "f"): units.append(12)
                case UInt8(ascii: "u"):
                    let digits = String(decoding: bytes[(position + 1)..<(position + 5)], as: UTF8.self)
                    units.append(UInt16(digits, radix: 16) ?? 0xFFFD)
                    position += 4
                default: units.append(UInt16(next))
                }
                position += 1
            } else {
                let start = position
                while next != UInt8(ascii: "\""), next != UInt8(ascii: "\\") { position += 1 }
                units.append(contentsOf: String(decoding: bytes[start..<position], as: UTF8.self).utf16)
            }
        }
        position += 1
        return String(decoding: units, as: UTF16.self)
    }
}
