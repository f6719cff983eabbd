import CorestoneValues

/// Decodes a `.strings` file.
///
/// The file is a binary or XML property list, or has the older syntax `"key" = "value";` with comments, in UTF-8 or
/// UTF-16.
///
/// - Throws: `.storeCorrupt` with the error and its byte offset, or if a limit is exceeded.
public func decodeStringsFile(_ bytes: [UInt8]) throws -> [String: String] {
    guard bytes.count <= StringsReader.maximumSize else {
        throw stringsError("has \(bytes.count) bytes, but the limit is \(StringsReader.maximumSize)", at: 0)
    }
    if bytes.starts(with: "bplist".utf8) || looksLikeXML(bytes) {
        guard case .dictionary(let entries) = try decodeAnyPropertyList(bytes) else {
            throw stringsError("is a property list, but its root is not a dictionary", at: 0)
        }
        return entries.compactMapValues(\.string)
    }
    var reader = StringsReader(try decodeText(bytes))
    return try reader.read()
}

private func looksLikeXML(_ bytes: [UInt8]) -> Bool {
    let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    return bytes.dropFirst(start).first { ![0x09, 0x0A, 0x0D, 0x20].contains($0) } == UInt8(ascii: "<")
}

private func stringsError(_ problem: String, at offset: Int, key: String? = nil) -> CoreError {
    CoreError(.storeCorrupt, code: .coreData, "the strings file \(problem)", key: key, offset: offset)
}

/// The characters of a text, with the information that maps them to byte offsets.
private struct DecodedText {
    package let scalars: [Unicode.Scalar]
    /// The length of the byte order mark, in bytes.
    package let start: Int
    package let isUTF16: Bool

    /// Returns the byte offset of a character.
    package func offset(of place: Int) -> Int {
        scalars[..<min(place, scalars.count)].reduce(start) { offset, scalar in
            let value = scalar.value
            if isUTF16 { return offset + (value < 0x10000 ? 2 : 4) }
            return offset + (value < 0x80 ? 1 : value < 0x800 ? 2 : value < 0x10000 ? 3 : 4)
        }
    }
}

/// Decodes UTF-8 or UTF-16.
///
/// UTF-16 is detected by a byte order mark or by a zero in the first two bytes, because a file begins with ASCII.
private func decodeText(_ bytes: [UInt8]) throws -> DecodedText {
    let isBig = bytes.starts(with: [0xFE, 0xFF]) || bytes.count > 1 && bytes[0] == 0 && bytes[1] != 0
    let isLittle = bytes.starts(with: [0xFF, 0xFE]) || bytes.count > 1 && bytes[0] != 0 && bytes[1] == 0
    if isBig || isLittle {
        guard bytes.count % 2 == 0 else { throw stringsError("ends within a UTF-16 character", at: bytes.count) }
        var units = stride(from: 0, to: bytes.count, by: 2).map { place -> UInt16 in
            let (high, low) = isBig ? (bytes[place], bytes[place + 1]) : (bytes[place + 1], bytes[place])
            return UInt16(high) << 8 | UInt16(low)
        }
        let hasMark = units.first == 0xFEFF
        if hasMark { units.removeFirst() }
        return DecodedText(
            scalars: Array(String(decoding: units, as: UTF16.self).unicodeScalars), start: hasMark ? 2 : 0,
            isUTF16: true)
    }
    let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    let text = bytes.dropFirst(start)
    if let bad = Array(text).withUnsafeBytes({ firstInvalidUTF8($0) }) {
        throw stringsError("is neither valid UTF-8 nor UTF-16 (at byte \(start + bad))", at: start + bad)
    }
    return DecodedText(
        scalars: Array(String(decoding: text, as: UTF8.self).unicodeScalars), start: start, isUTF16: false)
}

/// A parser of entries of the form `"key" = "value";`.
private struct StringsReader {
    package static let maximumSize = 16 << 20

    private let text: DecodedText
    private let scalars: [Unicode.Scalar]
    private var place = 0

    package init(_ text: DecodedText) { (self.text, scalars) = (text, text.scalars) }

    package mutating func read() throws -> [String: String] {
        var entries: [String: String] = [:]
        while true {
            try skip()
            guard place < scalars.count else { return entries }
            let key = try string()
            try skip()
            // A key without a value is its own value.
            var (value, subject) = (key, "")
            if next == "=" {
                place += 1
                try skip()
                value = try string()
                subject = "the value of "
                try skip()
            }
            guard next == ";" else {
                let shown = key.count > 40 ? "\(key.prefix(40))…" : key
                throw failure("does not have a semicolon after \(subject)\"\(shown)\"", key: key)
            }
            place += 1
            entries[key] = value
        }
    }

    private var next: Unicode.Scalar? { place < scalars.count ? scalars[place] : nil }
    private var afterNext: Unicode.Scalar? { place + 1 < scalars.count ? scalars[place + 1] : nil }

    private func failure(_ problem: String, key: String? = nil) -> CoreError {
        let end = min(place, scalars.count)
        // CR LF is one line end.
        let line = (0..<end).reduce(1) { line, index in
            let isLast = index + 1 == end || scalars[index + 1] != "\n"
            return scalars[index] == "\n" || scalars[index] == "\r" && isLast ? line + 1 : line
        }
        return stringsError("\(problem) (in line \(line))", at: text.offset(of: place), key: key)
    }

    /// Skips white space and comments.
    private mutating func skip() throws {
        while let scalar = next {
            if scalar.properties.isWhitespace {
                place += 1
            } else if scalar == "/", afterNext == "/" {
                while let scalar = next, scalar != "\n", scalar != "\r" { place += 1 }
            } else if scalar == "/", afterNext == "*" {
                place += 2
                while next != nil, !(next == "*" && afterNext == "/") { place += 1 }
                guard next != nil else { throw failure("has an unterminated comment") }
                place += 2
            } else {
                return
            }
        }
    }

    private mutating func string() throws -> String {
        guard let quote = next else { throw failure("ends where a string is expected") }
        var text = String.UnicodeScalarView()
        guard quote == "\"" || quote == "'" else {
            while let scalar = next, scalar.isBare {
                text.append(scalar)
                place += 1
            }
            guard !text.isEmpty else { throw failure("has \"\(quote)\" where a string is expected") }
            return String(text)
        }
        place += 1
        while let scalar = next, scalar != quote {
            place += 1
            text.append(scalar == "\\" ? try escape() : scalar)
        }
        guard next != nil else { throw failure("has an unterminated string") }
        place += 1
        return String(text)
    }

    /// Parses the characters after a backslash.
    private mutating func escape() throws -> Unicode.Scalar {
        guard let scalar = next else { throw failure("ends after a backslash") }
        place += 1
        switch scalar {
        case "n": return "\n"
        case "t": return "\t"
        case "r": return "\r"
        case "a": return "\u{7}"
        case "b": return "\u{8}"
        case "f": return "\u{C}"
        case "v": return "\u{B}"
        case "U", "u": return try codeUnits()
        case "0"..."7":
            place -= 1
            return Unicode.Scalar(UInt8(truncatingIfNeeded: digits(upTo: 3, radix: 8)))
        default: return scalar
        }
    }

    private mutating func digits(upTo count: Int, radix: Int) -> UInt32 {
        var (value, used) = (UInt32(0), 0)
        while used < count, let scalar = next, scalar.isASCII,
            let digit = Character(scalar).hexDigitValue, digit < radix
        {
            value = value * UInt32(radix) + UInt32(digit)
            used += 1
            place += 1
        }
        return value
    }

    /// Parses up to four hexadecimal digits, or a surrogate pair for a character beyond U+FFFF.
    private mutating func codeUnits() throws -> Unicode.Scalar {
        let first = digits(upTo: 4, radix: 16)
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard next == "\\", afterNext == "U" || afterNext == "u" else { throw failure("has an unpaired surrogate") }
        place += 2
        let second = digits(upTo: 4, radix: 16)
        guard 0xD800..<0xDC00 ~= first, 0xDC00..<0xE000 ~= second,
            let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
        else { throw failure("has an unpaired surrogate") }
        return scalar
    }
}

extension Unicode.Scalar {
    /// Whether the character is allowed in a string without quotes.
    fileprivate var isBare: Bool {
        properties.isAlphabetic || properties.numericType != nil || ["_", "-", ".", "/", ":", "$"].contains(self)
    }
}
