import CSQLite
import CorestoneSQL
import CorestoneValues

extension PropertyValue {
    /// Reads a value of a column or of a function's argument.
    ///
    /// Values of other types are converted as `RowReader` converts them, so that dictionaries and objects have the same
    /// values: an invalid number, decimal or UUID is read as null, and so is an integer outside the range of its type.
    init(_ value: OpaquePointer?, _ form: RowCell.Form) {
        let type = sqlite3_value_type(value)
        guard type != SQLITE_NULL else {
            self = .null
            return
        }
        switch form {
        case .bool: self = PropertyValue.integer(of: value, type).map { .bool($0 != 0) } ?? .null
        case .integer: self = PropertyValue.integer(of: value, type).map { .int($0) } ?? .null
        case .integer16:
            let number = PropertyValue.integer(of: value, type).flatMap { Int16(exactly: $0) }
            self = number.map { .int(Int64($0)) } ?? .null
        case .integer32:
            let number = PropertyValue.integer(of: value, type).flatMap { Int32(exactly: $0) }
            self = number.map { .int(Int64($0)) } ?? .null
        case .real: self = PropertyValue.real(of: value, type).map { .double($0) } ?? .null
        case .date: self = PropertyValue.real(of: value, type).map { .date($0) } ?? .null
        case .object: self = .int(sqlite3_value_int64(value))
        case .number, .gathered:
            self =
                switch type {
                case SQLITE_INTEGER: .int(sqlite3_value_int64(value))
                case SQLITE_FLOAT: .double(sqlite3_value_double(value))
                default: .null
                }
        case .decimal:
            let decimal: DecimalNumber? =
                switch type {
                case SQLITE_INTEGER: DecimalNumber(sqlite3_value_int64(value))
                case SQLITE_FLOAT: DecimalNumber(sqlite3_value_double(value))
                case SQLITE_TEXT: sqlite3_value_text(value).flatMap { try? DecimalNumber(String(cString: $0)) }
                default: nil
                }
            self = decimal.map { .decimal($0) } ?? .null
        case .text: self = PropertyValue.text(of: value).map { .text($0) } ?? .null
        case .uri: self = PropertyValue.text(of: value).map { .uri($0) } ?? .null
        case .bytes:
            let start = sqlite3_value_blob(value)
            self = .bytes(Bytes(copying: UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(value)))))
        case .uuid: self = PropertyValue.uuid(of: value, isText: type == SQLITE_TEXT).map { .uuid($0) } ?? .null
        }
    }

    /// Returns a value that is a number, or text or binary data that begins with a number.
    private static func integer(of value: OpaquePointer?, _ type: Int32) -> Int64? {
        let number = sqlite3_value_int64(value)
        return number != 0 || isZero(value, type) ? number : nil
    }

    /// Returns a value that is a number, or text or binary data that begins with a number.
    private static func real(of value: OpaquePointer?, _ type: Int32) -> Double? {
        let number = sqlite3_value_double(value)
        return number != 0 || isZero(value, type) ? number : nil
    }

    /// Whether a value that SQLite converts to 0 is a number.
    private static func isZero(_ value: OpaquePointer?, _ type: Int32) -> Bool {
        switch type {
        case SQLITE_INTEGER, SQLITE_FLOAT: true
        case SQLITE_TEXT: sqlite3_value_text(value).map(RowReader.mayBeZero) ?? false
        default: false
        }
    }

    /// Returns the text of a value. Invalid UTF-8 is replaced by U+FFFD.
    private static func text(of value: OpaquePointer?) -> Text? {
        guard let start = sqlite3_value_text(value) else { return nil }
        let count = Int(sqlite3_value_bytes(value))
        if isASCII(start, count) || isUTF8(start, count) {
            return Text(utf8: UnsafeRawBufferPointer(start: start, count: count))
        }
        return Text(String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self))
    }

    private static func uuid(of value: OpaquePointer?, isText: Bool) -> UUIDValue? {
        if isText { return sqlite3_value_text(value).flatMap { UUIDValue(String(cString: $0)) } }
        guard let start = sqlite3_value_blob(value), sqlite3_value_bytes(value) == 16 else { return nil }
        return UUIDValue(
            high: UInt64(bigEndian: start.loadUnaligned(as: UInt64.self)),
            low: UInt64(bigEndian: start.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }
}
