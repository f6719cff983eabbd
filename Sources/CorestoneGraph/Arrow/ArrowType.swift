import CorestoneModel
import CorestoneValues

/// A type of Arrow that a column can have.
enum ArrowType: Equatable {
    /// Of a column of which nothing is known but that it has no value.
    case null
    case bool, int16, int32, int64, float, double
    /// 128 bits: so many digits behind the point, 38 in all.
    case decimal(scale: Int)
    case text, bytes
    /// Microseconds since 1970 in UTC.
    case date
    case uuid
    /// The fields of its children.
    case structure
    /// Any number of values of its only child.
    case list

    init?(_ attribute: Attribute) {
        switch attribute.type {
        case .boolean: self = .bool
        case .integer16: self = .int16
        case .integer32: self = .int32
        case .integer64: self = .int64
        case .float: self = .float
        case .double: self = .double
        case .decimal: self = .decimal(scale: ArrowDecimals.usualScale)
        case .string, .uri: self = .text
        case .binary, .transformable: self = .bytes
        case .date: self = .date
        case .uuid: self = .uuid
        case .composite: self = .structure
        case .undefined, .objectID: return nil
        }
    }

    /// Of a value of a row that is no object's.
    init?(_ value: PropertyValue) {
        switch value {
        case .null: self = .null
        case .bool: self = .bool
        case .int: self = .int64
        case .double: self = .double
        case .decimal: self = .decimal(scale: ArrowDecimals.usualScale)
        case .text, .uri, .object: self = .text
        case .bytes: self = .bytes
        case .date: self = .date
        case .uuid: self = .uuid
        case .array, .set, .dictionary: return nil
        }
    }

    /// The type for values of both; nil when there is none.
    func joined(_ other: ArrowType) -> ArrowType? {
        switch (self, other) {
        case _ where self == other, (_, .null): self
        case (.null, _): other
        case (.int64, .double), (.double, .int64), (.decimal, .double), (.double, .decimal): .double
        case (.int64, .decimal), (.decimal, .int64): .decimal(scale: ArrowDecimals.usualScale)
        default: nil
        }
    }

    /// As the C data interface spells it. `isLarge`: offsets have 64 bits.
    func format(isLarge: Bool) -> String {
        switch self {
        case .null: "n"
        case .bool: "b"
        case .int16: "s"
        case .int32: "i"
        case .int64: "l"
        case .float: "f"
        case .double: "g"
        case .decimal(let scale): "d:\(DecimalNumber.maximumDigits),\(scale)"
        case .text: isLarge ? "U" : "u"
        case .bytes: isLarge ? "Z" : "z"
        case .date: "tsu:UTC"
        case .uuid: "w:16"
        case .structure: "+s"
        case .list: isLarge ? "+L" : "+l"
        }
    }

    /// Bytes of a value in the buffer of values; 0 where there is none, or bits.
    var width: Int {
        switch self {
        case .int16: 2
        case .int32, .float: 4
        case .int64, .double, .date: 8
        case .decimal, .uuid: 16
        case .null, .bool, .text, .bytes, .structure, .list: 0
        }
    }

    /// Whether a value is where two offsets say.
    var hasOffsets: Bool {
        switch self {
        case .text, .bytes, .list: true
        default: false
        }
    }
}

/// Which digits the decimals of a column have, and so which type suits them.
struct ArrowDecimals {
    /// With 20 digits before the point: enough for whatever a store of SQLite keeps exactly as a whole number, and for money.
    static let usualScale = 18

    private var whole = 0
    private var scale = 0

    mutating func include(_ number: DecimalNumber) {
        if number.mantissa == 0 { return }
        var number = number
        if -Int(number.exponent) > scale || number.digitCount + Int(number.exponent) > whole {
            number = number.normalized
        }
        scale = max(scale, -Int(number.exponent))
        whole = max(whole, number.digitCount + Int(number.exponent))
    }

    /// The usual one if that has room, else one that has, else text.
    var type: ArrowType {
        let most = DecimalNumber.maximumDigits
        if whole + scale > most { return .text }
        return .decimal(scale: max(scale, min(ArrowDecimals.usualScale, most - whole)))
    }
}

extension DecimalNumber {
    var digitCount: Int {
        if let small = UInt64(exactly: mantissa) { return small.digitCount }
        return 19 + DecimalNumber(mantissa: mantissa / 10_000_000_000_000_000_000).digitCount
    }

    /// The number as so many units of the last place; nil when it has other digits.
    func scaled(to scale: Int) -> Int128? {
        if mantissa == 0 { return 0 }
        var number = self
        if Int(exponent) + scale < 0 { number = normalized }
        let places = Int(number.exponent) + scale
        guard (0...38).contains(places) else { return nil }
        var magnitude = number.mantissa
        for _ in 0..<places {
            let (product, overflow) = magnitude.multipliedReportingOverflow(by: 10)
            if overflow { return nil }
            magnitude = product
        }
        guard magnitude < DecimalNumber.bound else { return nil }
        return number.isNegative ? -Int128(magnitude) : Int128(magnitude)
    }

    /// 10^38.
    private static let bound = UInt128(10_000_000_000_000_000_000) * 10_000_000_000_000_000_000
}

extension UInt64 {
    fileprivate var digitCount: Int {
        var (rest, count) = (self, 0)
        while rest > 0 {
            rest /= 10
            count += 1
        }
        return count
    }
}
