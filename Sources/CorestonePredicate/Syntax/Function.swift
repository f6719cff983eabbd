/// The built-in functions. The raw value is the selector that names them in a format string.
public enum Function: String, Sendable, CaseIterable {
    case average = "average:"
    case sum = "sum:"
    case count = "count:"
    case min = "min:"
    case max = "max:"
    case median = "median:"
    case mode = "mode:"
    case standardDeviation = "stddev:"

    case add = "add:to:"
    case subtract = "from:subtract:"
    case multiply = "multiply:by:"
    case divide = "divide:by:"
    case modulus = "modulus:by:"
    case power = "raise:toPower:"
    /// The unary minus.
    case negate = "negate:"

    case abs = "abs:"
    case sqrt = "sqrt:"
    case log10 = "log:"
    case naturalLog = "ln:"
    case exp = "exp:"
    case floor = "floor:"
    case ceiling = "ceiling:"
    case truncate = "trunc:"
    case random = "random"
    case randomBelow = "random:"
    case randomBelowN = "randomn:"
    case now = "now"

    case bitwiseAnd = "bitwiseAnd:with:"
    case bitwiseOr = "bitwiseOr:with:"
    case bitwiseXor = "bitwiseXor:with:"
    case leftShift = "leftshift:by:"
    case rightShift = "rightshift:by:"
    case onesComplement = "onesComplement:"

    case uppercase = "uppercase:"
    case lowercase = "lowercase:"
    case canonical = "canonical:"
    case length = "length:"

    /// The argument itself; a hint to stores not to use an index.
    case noIndex = "noindex:"
    /// The first argument itself; a hint to stores to use the index that the second one names.
    case indexedBy = "indexed:by:"
    case distance = "distanceToLocation:fromLocation:"
    case elementAt = "objectFrom:withIndex:"
    case castObject = "castObject:toType:"
    case distinct = "distinct:"
    case inverseOrderKey = "inverseOrderKey:"
}

extension Function {
    /// The function of a name as it stands in a format string; the colon of one-argument forms may be missing.
    init?(named name: String) {
        if let exact = Function(rawValue: name) {
            self = exact
        } else if let single = Function(rawValue: name + ":") {
            self = single
        } else {
            return nil
        }
    }

    /// How many arguments it takes; statistics take one collection or any number of values.
    package var argumentCounts: ClosedRange<Int> {
        switch self {
        case .average, .sum, .count, .min, .max, .median, .mode, .standardDeviation: return 1...Int.max
        default:
            let count = rawValue.utf8.count { $0 == UInt8(ascii: ":") }
            return count...count
        }
    }

    /// The operator sign between two operands and how tightly it binds; nil for functions that are called by name.
    public var infix: (symbol: String, precedence: Int)? {
        switch self {
        case .bitwiseOr: ("|", 2)
        case .bitwiseXor: ("^", 3)
        case .bitwiseAnd: ("&", 4)
        case .leftShift: ("<<", 5)
        case .rightShift: (">>", 5)
        case .add: ("+", 6)
        case .subtract: ("-", 6)
        case .multiply: ("*", 7)
        case .divide: ("/", 7)
        case .power: ("**", 8)
        default: nil
        }
    }

    /// The sign before one operand.
    public var prefix: String? {
        switch self {
        case .negate: "-"
        case .onesComplement: "~"
        default: nil
        }
    }
}
