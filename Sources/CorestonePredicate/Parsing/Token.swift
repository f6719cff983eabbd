import CorestoneValues

/// A token of the text of a predicate.
struct Token {
    enum Kind: Equatable {
        /// A name; `escaped` if it was written with `#`, so that it is a key even if it is a reserved word.
        case identifier(String, escaped: Bool)
        /// A reserved word, in upper case.
        case keyword(String)
        case variable(String)
        /// A key such as `@count`, including the `@`.
        case atKey(String)
        case string(Text)
        case number(PropertyValue)
        /// The last character of `%@`, `%K` or a printf conversion.
        case argument(UInt8)
        case symbol(Symbol)
        /// Invalid text; the parser has the error.
        case invalid
        case end
    }

    let kind: Kind
    /// The symbol of a `.symbol` token, stored separately because it is compared most often.
    let symbol: Symbol?
    /// The byte range of the token in the source.
    let range: Range<Int>

    init(kind: Kind, range: Range<Int>) {
        self.kind = kind
        if case .symbol(let symbol) = kind { self.symbol = symbol } else { symbol = nil }
        self.range = range
    }
}

/// The operators and punctuation. The raw value is the spelling.
enum Symbol: String {
    case leftParenthesis = "("
    case rightParenthesis = ")"
    case leftBrace = "{"
    case rightBrace = "}"
    case leftBracket = "["
    case rightBracket = "]"
    case comma = ","
    case dot = "."
    case colon = ":"
    case assign = ":="
    case equal = "="
    case doubleEqual = "=="
    case notEqual = "!="
    case lessGreater = "<>"
    case less = "<"
    case lessOrEqual = "<="
    case equalLess = "=<"
    case greater = ">"
    case greaterOrEqual = ">="
    case equalGreater = "=>"
    case plus = "+"
    case minus = "-"
    case star = "*"
    case slash = "/"
    case doubleStar = "**"
    case ampersand = "&"
    case doubleAmpersand = "&&"
    case bar = "|"
    case doubleBar = "||"
    case caret = "^"
    case tilde = "~"
    case shiftLeft = "<<"
    case shiftRight = ">>"
    case not = "!"
}

extension Symbol {
    /// The comparison operator of the symbol; nil for other symbols.
    var comparison: Comparison.Operator? {
        switch self {
        case .equal, .doubleEqual: .equal
        case .notEqual, .lessGreater: .notEqual
        case .less: .less
        case .lessOrEqual, .equalLess: .lessOrEqual
        case .greater: .greater
        case .greaterOrEqual, .equalGreater: .greaterOrEqual
        default: nil
        }
    }

    /// The arithmetic function of the symbol as a binary operator; nil for other symbols.
    var function: Function? {
        switch self {
        case .plus: .add
        case .minus: .subtract
        case .star: .multiply
        case .slash: .divide
        case .doubleStar: .power
        case .ampersand: .bitwiseAnd
        case .bar: .bitwiseOr
        case .caret: .bitwiseXor
        case .shiftLeft: .leftShift
        case .shiftRight: .rightShift
        default: nil
        }
    }
}

extension Symbol {
    /// Creates the symbol of one character.
    init?(_ byte: UInt8) {
        switch UnicodeScalar(byte) {
        case "(": self = .leftParenthesis
        case ")": self = .rightParenthesis
        case "{": self = .leftBrace
        case "}": self = .rightBrace
        case "[": self = .leftBracket
        case "]": self = .rightBracket
        case ",": self = .comma
        case ".": self = .dot
        case ":": self = .colon
        case "=": self = .equal
        case "<": self = .less
        case ">": self = .greater
        case "+": self = .plus
        case "-": self = .minus
        case "*": self = .star
        case "/": self = .slash
        case "&": self = .ampersand
        case "|": self = .bar
        case "^": self = .caret
        case "~": self = .tilde
        case "!": self = .not
        default: return nil
        }
    }

    /// Creates the symbol of two characters.
    init?(_ first: UInt8, _ second: UInt8) {
        switch (UnicodeScalar(first), UnicodeScalar(second)) {
        case (":", "="): self = .assign
        case ("=", "="): self = .doubleEqual
        case ("!", "="): self = .notEqual
        case ("<", ">"): self = .lessGreater
        case ("<", "="): self = .lessOrEqual
        case ("=", "<"): self = .equalLess
        case (">", "="): self = .greaterOrEqual
        case ("=", ">"): self = .equalGreater
        case ("*", "*"): self = .doubleStar
        case ("&", "&"): self = .doubleAmpersand
        case ("|", "|"): self = .doubleBar
        case ("<", "<"): self = .shiftLeft
        case (">", ">"): self = .shiftRight
        default: return nil
        }
    }
}
