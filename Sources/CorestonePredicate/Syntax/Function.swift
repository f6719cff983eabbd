/// The built-in functions. The raw value is the selector in a format string.
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

    // Parts of dates, in UTC; `DateFunctions.swift` documents them.
    case year = "year:"
    case quarter = "quarter:"
    case month = "month:"
    case weekOfYear = "weekOfYear:"
    case dayOfYear = "dayOfYear:"
    case day = "day:"
    case weekday = "weekday:"
    case hour = "hour:"
    case minute = "minute:"
    case second = "second:"

    // Truncations of dates, in UTC.
    case startOfYear = "startOfYear:"
    case startOfQuarter = "startOfQuarter:"
    case startOfMonth = "startOfMonth:"
    case startOfWeek = "startOfWeek:"
    case startOfDay = "startOfDay:"
    case startOfHour = "startOfHour:"
    case startOfMinute = "startOfMinute:"

    /// The function returns its argument; a hint that stores should not use an index.
    case noIndex = "noindex:"
    /// The function returns its first argument; a hint that stores should use the index that the second argument names.
    case indexedBy = "indexed:by:"
    case distance = "distanceToLocation:fromLocation:"
    case elementAt = "objectFrom:withIndex:"
    case castObject = "castObject:toType:"
    case distinct = "distinct:"
    case inverseOrderKey = "inverseOrderKey:"
}

extension Function {
    /// Creates the function of a name in a format string. The colon of a function with one argument is optional.
    init?(named name: String) {
        if let exact = Function(rawValue: name) {
            self = exact
        } else if let single = Function(rawValue: name + ":") {
            self = single
        } else {
            return nil
        }
    }

    /// The number of arguments. Statistics take one collection, or one or more values.
    package var argumentCounts: ClosedRange<Int> {
        switch self {
        case .average, .sum, .count, .min, .max, .median, .mode, .standardDeviation: return 1...Int.max
        default:
            let count = rawValue.utf8.count { $0 == UInt8(ascii: ":") }
            return count...count
        }
    }

    /// The symbol and precedence of a binary operator; nil for functions that are called by name.
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

    /// The symbol of a prefix operator; nil for other functions.
    public var prefix: String? {
        switch self {
        case .negate: "-"
        case .onesComplement: "~"
        default: nil
        }
    }
}
