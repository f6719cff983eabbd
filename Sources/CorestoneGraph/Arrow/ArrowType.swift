import CorestoneModel
import CorestoneValues

/// The Arrow type of a column.
enum ArrowType: Equatable {
    /// A column that contains only nulls and has an unknown type.
    case null
    case bool, int16, int32, int64, float, double
    /// 128 bits: 38 digits, `scale` of them after the decimal point.
    case decimal(scale: Int)
    case text, bytes
    /// Microseconds since 1970 in UTC.
    case date
    case uuid
    /// A structure; the children are its fields.
    case structure
    /// A list; the only child contains the items.
    case list

    init?(_ attribute: Attribute) { self.init(attribute: attribute.type) }

    init?(attribute type: AttributeType) {
        switch type {
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

    /// Creates the type of a computed value; nil for a collection.
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

    /// Returns the common type of both types; nil without a common type.
    func joined(_ other: ArrowType) -> ArrowType? {
        switch (self, other) {
        case _ where self == other, (_, .null): self
        case (.null, _): other
        case (.int64, .double), (.double, .int64), (.decimal, .double), (.double, .decimal): .double
        case (.int64, .decimal), (.decimal, .int64): .decimal(scale: ArrowDecimals.usualScale)
        default: nil
        }
    }

    /// Returns the format string of the C data interface. `isLarge` means offsets of 64 bits.
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

    /// The bytes per value in the values buffer; 0 for bits, for a variable size, and without such a buffer.
    var width: Int {
        switch self {
        case .int16: 2
        case .int32, .float: 4
        case .int64, .double, .date: 8
        case .decimal, .uuid: 16
        case .null, .bool, .text, .bytes, .structure, .list: 0
        }
    }

    /// Whether two offsets delimit each value.
    var hasOffsets: Bool {
        switch self {
        case .text, .bytes, .list: true
        default: false
        }
    }
}

/// The digits that the decimals of a column need. They determine the column's type.
struct ArrowDecimals {
    /// The default number of decimal places.
    ///
    /// It leaves 20 digits before the decimal point: enough for 64-bit integers, which SQLite stores exactly, and for
    /// amounts of money.
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

    /// A decimal with the default scale if all digits fit, else a decimal with a scale that fits, else text.
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

    /// Returns the number as an integer with `scale` decimal places; nil if it does not fit exactly.
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

    /// The exclusive upper bound of mantissas, 10^38.
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
