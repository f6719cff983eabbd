import CorestoneFormats
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The encoding of one property's values in a binary store. The raw values are names in the file.
enum BinaryColumnType: String {
    /// One byte per value.
    case bool
    case int16, int32, int64
    /// 64 bits of IEEE 754.
    case double
    /// A double: seconds since 2001-01-01 00:00:00 UTC.
    case date
    case uuid
    /// The mantissa in 16 bytes, the exponent, and the sign.
    ///
    /// The mantissa is in little-endian order. The exponent is a signed byte, the sign a byte that is 1 for a negative
    /// number.
    case decimal
    /// Concatenated UTF-8. `ends` contains the end offset of each value.
    case text, uri
    case bytes
    /// The primary key of the target in 64 bits, then the index of its entity in the list in 32 bits.
    case object

    /// Creates the encoding of a slot; nil for a property that rows do not store.
    init?(_ kind: SlotKind) {
        switch kind {
        case .none: return nil
        case .bool: self = .bool
        case .int16: self = .int16
        case .int32: self = .int32
        case .int64: self = .int64
        case .double: self = .double
        case .date: self = .date
        case .text: self = .text
        case .uri: self = .uri
        case .bytes: self = .bytes
        case .uuid: self = .uuid
        case .decimal: self = .decimal
        case .toOne: self = .object
        }
    }

    /// The name of the type of attributes with this encoding.
    var displayName: String {
        switch self {
        case .bool: "Boolean"
        case .int16: "Integer 16"
        case .int32: "Integer 32"
        case .int64: "Integer 64"
        case .double: "Double"
        case .date: "Date"
        case .uuid: "UUID"
        case .decimal: "Decimal"
        case .text: "String"
        case .uri: "URI"
        case .bytes: "Binary Data"
        case .object: "Object ID"
        }
    }

    var isInteger: Bool {
        switch self {
        case .int16, .int32, .int64: true
        default: false
        }
    }

    /// The number of bytes per value; nil for values of variable length.
    var width: Int? {
        switch self {
        case .bool: 1
        case .int16: 2
        case .int32: 4
        case .int64, .double, .date: 8
        case .uuid: 16
        case .decimal: 18
        case .object: 12
        case .text, .uri, .bytes: nil
        }
    }
}

/// The values of one property for many rows, encoded as byte arrays.
struct BinaryColumn {
    let type: BinaryColumnType
    /// A bit for each row, beginning with the lowest bit of a byte: 1 if the row has a value.
    private(set) var present: [UInt8]
    private(set) var values: [UInt8] = []
    /// The end offsets of values of variable length, packed as in the file.
    private var ends: PackedNumbers?

    enum Key {
        static let type = "type"
        static let present = "present"
        static let values = "values"
        static let ends = "ends"
    }

    /// Encodes the values of a slot of one entity's rows.
    init(_ type: BinaryColumnType, of nodes: [Node], _ slot: Int, _ layout: SlotLayout) {
        self.type = type
        present = [UInt8](repeating: 0, count: (nodes.count + 7) / 8)
        var ends: [Int64] = []
        if let width = type.width {
            values.reserveCapacity(width * nodes.count)
        } else {
            ends.reserveCapacity(nodes.count)
        }
        for (row, node) in nodes.enumerated() {
            let view = node.record.view(slot, layout)
            if view.type != .null { present[row >> 3] |= 1 << UInt8(row & 7) }
            append(view)
            if type.width == nil { ends.append(Int64(values.count)) }
        }
        if type.width == nil { self.ends = PackedNumbers(ends) }
    }

    private mutating func append(_ view: ValueView) {
        switch type {
        case .bool: append(UInt8(truncatingIfNeeded: view.low))
        case .int16: append(Int16(truncatingIfNeeded: view.integer))
        case .int32: append(Int32(truncatingIfNeeded: view.integer))
        case .int64, .double, .date: append(view.low)
        case .uuid:
            append(view.low)
            append(view.high)
        case .decimal:
            append(view.low)
            append(view.high)
            append(UInt8(truncatingIfNeeded: view.aux))
            append(UInt8(truncatingIfNeeded: view.aux >> 8 & 1))
        case .object:
            append(view.low)
            append(UInt32(truncatingIfNeeded: view.high))
        case .text, .uri, .bytes:
            if view.type != .null { values.append(contentsOf: view.bytes) }
        }
    }

    private mutating func append(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.littleEndian) { values.append(contentsOf: $0) }
    }

    var propertyList: PropertyListValue {
        var entries: [String: PropertyListValue] = [
            Key.type: .string(type.rawValue), Key.present: .data(present), Key.values: .data(values),
        ]
        if let ends { entries[Key.ends] = .data(ends.bytes) }
        return .dictionary(entries)
    }
}

extension BinaryColumn {
    /// Returns the type of a column in a file, or nil if it is missing or unknown.
    static func type(of value: PropertyListValue) -> BinaryColumnType? {
        value.dictionary?[Key.type]?.string.flatMap { BinaryColumnType(rawValue: $0) }
    }

    /// Whether a column in a file has a value for any object, or is damaged.
    static func hasValues(_ value: PropertyListValue) -> Bool {
        value.dictionary?[Key.present]?.data?.contains { $0 != 0 } ?? true
    }

    /// Reads a column of a file without copying its values; nil unless it is complete for `rows` rows.
    init?(_ value: PropertyListValue, rows: Int) {
        guard let entries = value.dictionary, let type = BinaryColumn.type(of: value),
            let present = entries[Key.present]?.data, let values = entries[Key.values]?.data,
            present.count == (rows + 7) / 8
        else { return nil }
        (self.type, self.present, self.values) = (type, present, values)
        if let width = type.width {
            let (size, overflow) = rows.multipliedReportingOverflow(by: width)
            guard !overflow, values.count == size else { return nil }
        } else {
            guard let numbers = PackedNumbers(entries[Key.ends]), numbers.count == rows else { return nil }
            var last: Int64 = 0
            for end in numbers {
                guard end >= last, end <= values.count else { return nil }
                last = end
            }
            ends = numbers
        }
    }

    func isPresent(_ row: Int) -> Bool { present[row >> 3] >> UInt8(row & 7) & 1 != 0 }

    /// Calls `body` with a present value, without a copy; the view is valid within `body`.
    ///
    /// The view of a reference contains the index of the target's entity in the file's list of entities.
    func withView<Result>(_ row: Int, _ body: (ValueView) throws -> Result) rethrows -> Result {
        try values.withUnsafeBytes { values in
            func number<Number: FixedWidthInteger>(_ offset: Int, _: Number.Type = Number.self) -> Number {
                Number(
                    littleEndian: values.loadUnaligned(
                        fromByteOffset: row * (type.width ?? 0) + offset, as: Number.self))
            }
            switch type {
            case .bool: return try body(ValueView(.bool, number(0, UInt8.self) == 0 ? 0 : 1))
            case .int16: return try body(ValueView(.int, UInt64(bitPattern: Int64(number(0, Int16.self)))))
            case .int32: return try body(ValueView(.int, UInt64(bitPattern: Int64(number(0, Int32.self)))))
            case .int64: return try body(ValueView(.int, number(0)))
            case .double: return try body(ValueView(.double, number(0)))
            case .date: return try body(ValueView(.date, number(0)))
            case .uuid: return try body(ValueView(.uuid, number(0), number(8)))
            case .decimal:
                let aux = UInt32(number(16, UInt8.self)) | (number(17, UInt8.self) == 0 ? 0 : 0x100)
                return try body(ValueView(.decimal, number(0), number(8), aux: aux))
            case .object: return try body(ValueView(.objectID, number(0), UInt64(number(8, UInt32.self))))
            case .text, .uri, .bytes:
                let (start, end) = ends.map { (row == 0 ? 0 : Int($0[row - 1]), Int($0[row])) } ?? (0, 0)
                let bytes = UnsafeRawBufferPointer(rebasing: values[start..<end])
                let valueType: ValueType = type == .text ? .string : type == .uri ? .uri : .bytes
                return try body(
                    ValueView(valueType, UInt64(UInt(bitPattern: bytes.baseAddress)), UInt64(bytes.count)))
            }
        }
    }

    /// Returns the first row whose text is not valid UTF-8; nil if all texts are valid.
    func firstUnsound() -> Int? {
        guard [.text, .uri].contains(type) else { return nil }
        return ends?.indices.first { row in
            guard isPresent(row) else { return false }
            return withView(row) { !isValidUTF8($0.bytes) }
        }
    }
}
