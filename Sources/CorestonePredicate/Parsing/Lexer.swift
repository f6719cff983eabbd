import CorestoneValues

/// A lexer that splits the text of a predicate into tokens, on demand.
struct Lexer {
    let source: [UInt8]
    let errors: SyntaxError
    var position = 0

    init(_ source: [UInt8], errors: SyntaxError) {
        self.source = source
        self.errors = errors
    }

    /// Returns the byte at the position plus `distance`; 0 after the end.
    func byte(_ distance: Int = 0) -> UInt8 {
        let index = position + distance
        return index < source.count ? source[index] : 0
    }

    mutating func next() throws -> Token {
        while isBlank(byte()), position < source.count { position += 1 }
        let start = position
        guard position < source.count else { return Token(kind: .end, range: start..<start) }
        let kind = try kind()
        return Token(kind: kind, range: start..<position)
    }

    private mutating func kind() throws -> Token.Kind {
        let first = byte()
        switch first {
        case UInt8(ascii: "'"), UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(number())
        case UInt8(ascii: "%"): return try argument()
        case UInt8(ascii: "$"): return .variable(try name(after: "$", meaning: "a variable's name"))
        case UInt8(ascii: "@"): return .atKey("@" + (try name(after: "@", meaning: "a key")))
        case UInt8(ascii: "#"): return .identifier(try name(after: "#", meaning: "a key"), escaped: true)
        default: break
        }
        if let symbol = symbol() { return .symbol(symbol) }
        if let name = try identifier() { return word(name) }
        throw errors.make("unexpected \(describeByte())", at: position)
    }

    /// Classifies a word as a reserved word or a name. The two UTI operators include hyphens.
    private mutating func word(_ name: String) -> Token.Kind {
        if name.utf8.count == 3, name.uppercased() == "UTI" {
            for tail in ["-CONFORMS-TO", "-EQUALS"] where follows(tail) {
                position += tail.utf8.count
                return .keyword("UTI" + tail)
            }
        }
        if let reserved = ReservedWords.reserved(name) { return .keyword(reserved) }
        return .identifier(name, escaped: false)
    }

    /// Whether the text continues with these ASCII letters in either case.
    private func follows(_ text: String) -> Bool {
        text.utf8.enumerated().allSatisfy { index, letter in
            let found = byte(index)
            return found == letter || (found ^ 0x20 == letter && letter >= UInt8(ascii: "A"))
        }
    }

    private mutating func name(after sign: Character, meaning: String) throws -> String {
        position += 1
        if let name = try identifier() { return name }
        throw errors.make("expected \(meaning) after \(sign)", at: position)
    }

    /// Reads the longest symbol at the position.
    private mutating func symbol() -> Symbol? {
        if let pair = Symbol(byte(), byte(1)) {
            position += 2
            return pair
        }
        guard let single = Symbol(byte()) else { return nil }
        position += 1
        return single
    }

    /// Reads `%@`, `%K`, or a printf conversion with its length modifiers: `%lld`, `%hhu`, `%zu`, `%Lf`.
    private mutating func argument() throws -> Token.Kind {
        let start = position
        position += 1
        while Array("hlqLzjt".utf8).contains(byte()) { position += 1 }
        let conversion = byte()
        let bare = position == start + 1
        guard
            Array("diuDUoOxXcCsSfFeEgGaA".utf8).contains(conversion) || (bare && Array("@K".utf8).contains(conversion))
        else {
            if conversion == UInt8(ascii: "%") {
                throw errors.make("%% (a percent sign) is allowed within a string only", at: start)
            }
            let end = position + (scalar(at: position)?.length ?? 1)
            let shown = String(decoding: source[start..<min(end, source.count)], as: UTF8.self)
            throw errors.make(
                "\"\(shown)\" is not a conversion; use %@ for a value, %K for a key path, %d, %f or %s",
                at: start)
        }
        position += 1
        return .argument(conversion)
    }

    private func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || (byte >= 9 && byte <= 13)
    }

    func describeByte() -> String {
        guard let scalar = scalar(at: position)?.value else { return "byte \(byte())" }
        return scalar.value < 32 ? "control character \(scalar.value)" : "\"\(String(scalar))\""
    }
}
