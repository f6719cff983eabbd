import CSQLite
import CorestoneSQL
import CorestoneValues

extension PropertyValue {
    /// Reads a value of a column or of a function's argument.
    ///
    /// A value of an unsuitable type is read as null, as in records (`RowReader`).
    init(_ value: OpaquePointer?, _ form: RowCell.Form) {
        let type = sqlite3_value_type(value)
        guard type != SQLITE_NULL else {
            self = .null
            return
        }
        let isNumber = type == SQLITE_INTEGER || type == SQLITE_FLOAT
        switch form {
        case .bool: self = isNumber ? .bool(sqlite3_value_int64(value) != 0) : .null
        case .integer: self = isNumber ? .int(sqlite3_value_int64(value)) : .null
        case .real: self = isNumber ? .double(sqlite3_value_double(value)) : .null
        case .date: self = isNumber ? .date(sqlite3_value_double(value)) : .null
        case .number, .gathered, .object:
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
