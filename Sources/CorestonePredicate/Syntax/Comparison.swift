import CorestoneValues

/// A comparison of two expressions: `ANY tags.name BEGINSWITH[cd] "a"`.
public final class Comparison: Hashable, Sendable {
    /// The part of the left side that must satisfy the comparison: the value itself, any element, or all elements.
    public enum Modifier: Sendable {
        case direct, any, all
    }

    /// The options for the comparison of strings.
    ///
    /// The bits have the order in which the options are printed: c, d, n, l, w.
    public struct Options: OptionSet, Hashable, Sendable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        public static let caseInsensitive = Options(rawValue: 1)
        public static let diacriticInsensitive = Options(rawValue: 2)
        /// The texts are already normalised; overrides the options for case and diacritics.
        public static let normalized = Options(rawValue: 4)
        public static let localeSensitive = Options(rawValue: 8)
        /// Whole words; only for TOKENMATCHES.
        public static let word = Options(rawValue: 16)
    }

    public enum Operator: Hashable, Sendable {
        case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual
        case between, `in`, contains, beginsWith, endsWith, like, matches
        case tokenMatches, utiConformsTo, utiEquals
        /// A selector that the left side receives, including the colon.
        case custom(String)
    }

    public let left: Expression
    public let modifier: Modifier
    public let `operator`: Operator
    public let options: Options
    public let right: Expression
    let size: TreeSize
    /// The prepared form of a constant right side.
    let prepared: PreparedOperand

    public init(
        _ left: Expression, _ operator: Operator, _ right: Expression, modifier: Modifier = .direct,
        options: Options = []
    ) {
        self.left = left
        self.modifier = modifier
        self.operator = `operator`
        self.options = options
        self.right = right
        size = .over([left.size, right.size])
        prepared = PreparedOperand(right, of: `operator`, options: options)
    }

    public static func == (a: Comparison, b: Comparison) -> Bool {
        a === b
            || (a.operator == b.operator && a.modifier == b.modifier && a.options == b.options && a.left == b.left
                && a.right == b.right)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(left)
        hasher.combine(`operator`)
        hasher.combine(right)
    }
}

extension Comparison.Operator {
    /// The canonical spelling.
    public var symbol: String {
        switch self {
        case .equal: "=="
        case .notEqual: "!="
        case .less: "<"
        case .lessOrEqual: "<="
        case .greater: ">"
        case .greaterOrEqual: ">="
        case .between: "BETWEEN"
        case .in: "IN"
        case .contains: "CONTAINS"
        case .beginsWith: "BEGINSWITH"
        case .endsWith: "ENDSWITH"
        case .like: "LIKE"
        case .matches: "MATCHES"
        case .tokenMatches: "TOKENMATCHES"
        case .utiConformsTo: "UTI-CONFORMS-TO"
        case .utiEquals: "UTI-EQUALS"
        case .custom(let selector): selector
        }
    }

    /// The operator for exchanged sides. It is another one only for `<`, `<=`, `>` and `>=`.
    package var mirrored: Comparison.Operator {
        switch self {
        case .less: .greater
        case .lessOrEqual: .greaterOrEqual
        case .greater: .less
        case .greaterOrEqual: .lessOrEqual
        default: self
        }
    }

    /// Creates the operator of an upper-case keyword; nil if the word is not an operator.
    init?(keyword: String) {
        switch keyword {
        case "BETWEEN": self = .between
        case "IN": self = .in
        case "CONTAINS": self = .contains
        case "BEGINSWITH": self = .beginsWith
        case "ENDSWITH": self = .endsWith
        case "LIKE": self = .like
        case "MATCHES": self = .matches
        case "TOKENMATCHES": self = .tokenMatches
        case "UTI-CONFORMS-TO": self = .utiConformsTo
        case "UTI-EQUALS": self = .utiEquals
        default: return nil
        }
    }
}

extension Comparison.Options {
    /// Whether case is ignored, with `normalized` taken into account.
    public var foldsCase: Bool { contains(.caseInsensitive) && !contains(.normalized) }
    /// Whether diacritics are ignored, with `normalized` taken into account.
    public var foldsDiacritics: Bool { contains(.diacriticInsensitive) && !contains(.normalized) }
    /// Whether texts are folded before they are compared.
    public var folds: Bool { foldsCase || foldsDiacritics }

    /// Whether texts are ordered by their bytes.
    package var isBinary: Bool { !folds && !contains(.localeSensitive) }

    /// The options as printed, such as `[cd]`; empty without options.
    public var suffix: String {
        if isEmpty { return "" }
        let letters = zip("cdnlw", [1, 2, 4, 8, 16] as [UInt8]).filter { rawValue & $0.1 != 0 }
        return "[" + String(letters.map(\.0)) + "]"
    }
}
