import CorestoneValues

/// The type of a column of an Arrow stream, as its format string states it.
enum ArrowInputType: Equatable {
    /// The width of the offsets of a variable-size type, or views instead of offsets.
    enum Offsets: Equatable { case narrow, wide, views }

    case null, bool
    case int8, uint8, int16, uint16, int32, uint32, int64, uint64
    case half, float, double
    /// An integer of `width` bytes, `scale` digits of which are after the decimal point.
    case decimal(width: Int, scale: Int)
    case text(Offsets), bytes(Offsets)
    case fixedBytes(Int)
    /// Days since 1970.
    case date32
    /// Milliseconds since 1970.
    case date64
    /// Units since 1970, `perSecond` of them in a second.
    case timestamp(perSecond: Int64, hasZone: Bool)
    case structure
    case list(Offsets)
    case fixedList(Int)

    /// Parses a format string. Returns nil for a type that cannot be imported.
    init?(format: String) {
        switch format {
        case "n": self = .null
        case "b": self = .bool
        case "c": self = .int8
        case "C": self = .uint8
        case "s": self = .int16
        case "S": self = .uint16
        case "i": self = .int32
        case "I": self = .uint32
        case "l": self = .int64
        case "L": self = .uint64
        case "e": self = .half
        case "f": self = .float
        case "g": self = .double
        case "u": self = .text(.narrow)
        case "U": self = .text(.wide)
        case "vu": self = .text(.views)
        case "z": self = .bytes(.narrow)
        case "Z": self = .bytes(.wide)
        case "vz": self = .bytes(.views)
        case "tdD": self = .date32
        case "tdm": self = .date64
        case "+s": self = .structure
        case "+l": self = .list(.narrow)
        case "+L": self = .list(.wide)
        default:
            guard let type = ArrowInputType(parameters: format) else { return nil }
            self = type
        }
    }

    private init?(parameters format: String) {
        guard let colon = format.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let (head, rest) = (format[..<colon], format[format.utf8.index(after: colon)...])
        switch head {
        case "w": self.init(size: rest) { .fixedBytes($0) }
        case "+w": self.init(size: rest) { .fixedList($0) }
        case "tss": self = .timestamp(perSecond: 1, hasZone: !rest.isEmpty)
        case "tsm": self = .timestamp(perSecond: 1000, hasZone: !rest.isEmpty)
        case "tsu": self = .timestamp(perSecond: 1_000_000, hasZone: !rest.isEmpty)
        case "tsn": self = .timestamp(perSecond: 1_000_000_000, hasZone: !rest.isEmpty)
        case "d": self.init(decimal: rest)
        default: return nil
        }
    }

    private init?(size text: Substring, _ make: (Int) -> ArrowInputType) {
        guard let size = Int(text), 0...Int(Int32.max) ~= size else { return nil }
        self = make(size)
    }

    /// Parses "precision,scale" or "precision,scale,bits". A decimal has an exponent of -128 to 127.
    private init?(decimal text: Substring) {
        let numbers = text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map {
            Int(String(Substring($0)))
        }
        guard 2...3 ~= numbers.count, let digits = numbers[0], let scale = numbers[1], digits > 0,
            -127...128 ~= scale, let bits = numbers.count == 3 ? numbers[2] : 128,
            let width = [32: 4, 64: 8, 128: 16][bits]
        else { return nil }
        self = .decimal(width: width, scale: scale)
    }

    /// Whether the type can be the index of a dictionary.
    var isInteger: Bool {
        switch self {
        case .int8, .uint8, .int16, .uint16, .int32, .uint32, .int64, .uint64: true
        default: false
        }
    }

    /// The bytes per value in the values buffer; 0 for bits, for a variable size, and without such a buffer.
    var width: Int {
        switch self {
        case .int8, .uint8: 1
        case .int16, .uint16, .half: 2
        case .int32, .uint32, .float, .date32: 4
        case .int64, .uint64, .double, .date64, .timestamp: 8
        case .decimal(let width, _): width
        case .fixedBytes(let size): size
        case .text(.views), .bytes(.views): 16
        case .null, .bool, .text, .bytes, .structure, .list, .fixedList: 0
        }
    }

    /// The width of the offsets in bytes; 0 for types without offsets.
    var offsetWidth: Int {
        switch self {
        case .text(.narrow), .bytes(.narrow), .list(.narrow): 4
        case .text(.wide), .bytes(.wide), .list(.wide): 8
        default: 0
        }
    }

    /// The number of buffers of an array; nil if it varies.
    var bufferCount: Int? {
        switch self {
        case .null: 0
        case .structure, .fixedList: 1
        case .text(.views), .bytes(.views): nil
        case .text, .bytes: 3
        default: 2
        }
    }
}

/// Returns the name that pyarrow has for the type of a format string, for messages.
func arrowTypeName(_ format: String) -> String {
    let simple = [
        "n": "null", "b": "bool", "c": "int8", "C": "uint8", "s": "int16", "S": "uint16", "i": "int32", "I": "uint32",
        "l": "int64", "L": "uint64", "e": "float16", "f": "float32", "g": "float64", "u": "utf8", "U": "large_utf8",
        "vu": "utf8_view", "z": "binary", "Z": "large_binary", "vz": "binary_view", "tdD": "date32", "tdm": "date64",
        "tts": "time32[s]", "ttm": "time32[ms]", "ttu": "time64[us]", "ttn": "time64[ns]", "tDs": "duration[s]",
        "tDm": "duration[ms]", "tDu": "duration[us]", "tDn": "duration[ns]", "tiM": "interval[month]",
        "tiD": "interval[day_time]", "tin": "interval[month_day_nano]", "+s": "struct", "+l": "list",
        "+L": "large_list", "+vl": "list_view", "+vL": "large_list_view", "+m": "map", "+r": "run_end_encoded",
    ]
    if let name = simple[format] { return name }
    guard let colon = format.utf8.firstIndex(of: UInt8(ascii: ":")) else { return "the format \(quoted(format))" }
    let (head, rest) = (format[..<colon], format[format.utf8.index(after: colon)...])
    let parts = rest.utf8.split(separator: UInt8(ascii: ",")).map { String(Substring($0)) }
    switch head {
    case "w": return "fixed_size_binary(\(rest))"
    case "+w": return "fixed_size_list(\(rest))"
    case "tss", "tsm", "tsu", "tsn":
        let unit = ["tss": "s", "tsm": "ms", "tsu": "us", "tsn": "ns"][String(head)] ?? ""
        return "timestamp[\(unit)\(rest.isEmpty ? "" : ", \(rest)")]"
    case "d" where 2...3 ~= parts.count:
        return "decimal\(parts.count == 3 ? parts[2] : "128")(\(parts[0]), \(parts[1]))"
    case "+ud": return "dense_union"
    case "+us": return "sparse_union"
    default: return "the format \(quoted(format))"
    }
}

/// Returns a text of another library in quotes, for messages.
func quoted(_ text: String) -> String { PropertyValue.string(text).excerpt }
