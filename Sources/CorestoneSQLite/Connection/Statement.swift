import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// A prepared statement. Hot loops use `handle` with SQLite's own functions.
final class Statement {
    let handle: OpaquePointer
    /// The value of the connection's clock at the last use, for its cache of statements.
    var lastUse: UInt64 = 0
    /// The first failure of a binding since the last run: the value is too large for SQLite, or out of memory.
    private var bindFailure: Int32 = SQLITE_OK
    private unowned(unsafe) let connection: Connection

    init(_ handle: OpaquePointer, connection: Connection) {
        self.handle = handle
        self.connection = connection
    }

    deinit { sqlite3_finalize(handle) }

    /// Resets the statement for its next run and keeps its bindings.
    @inline(__always) func reset() { sqlite3_reset(handle) }

    /// Steps to the next row. Returns false after the last row.
    func step(_ purpose: @autoclosure () -> String) throws -> Bool {
        if sqlite3_stmt_busy(handle) == 0 { connection.runs &+= 1 }
        let code = bindFailure == SQLITE_OK ? sqlite3_step(handle) : bindFailure
        if code == SQLITE_ROW { return true }
        if code == SQLITE_DONE { return false }
        throw failed(code, purpose())
    }

    /// Runs a statement whose rows are ignored, and resets it.
    func run(_ purpose: @autoclosure () -> String) throws {
        connection.runs &+= 1
        let code = bindFailure == SQLITE_OK ? sqlite3_step(handle) : bindFailure
        if code != SQLITE_DONE && code != SQLITE_ROW { throw failed(code, purpose()) }
        sqlite3_reset(handle)
    }

    /// Creates the error of a step that just returned `code`.
    func error(_ code: Int32, _ purpose: String) -> CoreError { connection.error(code, purpose) }

    private func failed(_ code: Int32, _ purpose: String) -> CoreError {
        let error = connection.error(code, purpose)
        bindFailure = SQLITE_OK
        sqlite3_reset(handle)
        return error
    }

    @inline(__always)
    private func note(_ code: Int32) { if code != SQLITE_OK && bindFailure == SQLITE_OK { bindFailure = code } }

    @inline(__always) func bind(_ value: Int64, at index: Int32) { sqlite3_bind_int64(handle, index, value) }
    @inline(__always) func bind(_ value: Int, at index: Int32) { sqlite3_bind_int64(handle, index, Int64(value)) }
    @inline(__always) func bindNull(at index: Int32) { sqlite3_bind_null(handle, index) }
    func bind(_ value: Double, at index: Int32) { sqlite3_bind_double(handle, index, value) }
    func bind(copying text: String, at index: Int32) {
        var text = text
        text.withUTF8 {
            note(
                cst_sqlite3_bind_text_copy(
                    handle, index, UnsafeRawPointer($0.baseAddress)?.assumingMemoryBound(to: CChar.self),
                    Int32(clamping: $0.count)))
        }
    }
    func bind(copying bytes: [UInt8], at index: Int32) {
        bytes.withUnsafeBytes { bindCopy(of: $0, at: index) }
    }

    @inline(__always) func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }
    @inline(__always) func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }
    func isNumber(_ column: Int32) -> Bool {
        [SQLITE_INTEGER, SQLITE_FLOAT].contains(sqlite3_column_type(handle, column))
    }
    func text(_ column: Int32) -> String? {
        guard let bytes = sqlite3_column_text(handle, column) else { return nil }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }
    func blob(_ column: Int32) -> [UInt8]? {
        guard sqlite3_column_type(handle, column) != SQLITE_NULL else { return nil }
        let bytes = sqlite3_column_blob(handle, column)
        return Array(UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(handle, column))))
    }
}

extension Statement {
    /// Binds a value in its stored form, and an object ID as its primary key. Other values are bound as NULL.
    ///
    /// The bytes of texts and data are not copied. They must stay valid until the statement is reset and bound again.
    func bind(_ view: ValueView, at index: Int32) {
        switch view.type {
        case .bool, .int, .objectID: sqlite3_bind_int64(handle, index, view.integer)
        case .double, .date: sqlite3_bind_double(handle, index, view.double)
        case .string, .uri: bindText(view.bytes, at: index)
        case .bytes: bindBlob(view.bytes, at: index)
        case .uuid: withUnsafeBytes(of: (view.low, view.high)) { bindCopy(of: $0, at: index) }
        case .decimal: bindDecimal(view, at: index)
        default: sqlite3_bind_null(handle, index)
        }
    }

    /// Binds a value of any kind, and copies its bytes. A value that a column cannot store is bound as NULL.
    func bind(copying value: PropertyValue, at index: Int32) {
        switch value {
        case .text(let text), .uri(let text):
            note(
                cst_sqlite3_bind_text_copy(
                    handle, index, UnsafeRawPointer(text.buffer.start).assumingMemoryBound(to: CChar.self),
                    Int32(clamping: text.count)))
        case .bytes(let data):
            bindCopy(of: data.rawBytes, at: index)
        default: bind(ValueView(value), at: index)
        }
    }

    @inline(__always)
    func bindText(_ bytes: UnsafeRawBufferPointer, at index: Int32) {
        note(
            cst_sqlite3_bind_text_static(
                handle, index, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(clamping: bytes.count)))
    }

    @inline(__always)
    func bindBlob(_ bytes: UnsafeRawBufferPointer, at index: Int32) {
        note(cst_sqlite3_bind_blob_static(handle, index, bytes.baseAddress, Int32(clamping: bytes.count)))
    }

    private func bindCopy(of bytes: UnsafeRawBufferPointer, at index: Int32) {
        note(cst_sqlite3_bind_blob_copy(handle, index, bytes.baseAddress, Int32(clamping: bytes.count)))
    }

    /// Binds a decimal as Apple stores it in a column of numeric affinity.
    ///
    /// Integers of at most 64 bits are bound as integers, other values as reals.
    func bindDecimal(_ view: ValueView, at index: Int32) {
        let decimal = DecimalNumber(words: (view.low, view.high), aux: view.aux)
        if let whole = decimal.integer {
            sqlite3_bind_int64(handle, index, whole)
        } else {
            sqlite3_bind_double(handle, index, decimal.double)
        }
    }
}

extension DecimalNumber {
    /// Reads the decimal in a column of the current row; nil for null, data, and other values that are not decimals.
    ///
    /// These are texts that are not decimals, and numbers outside the range of decimals.
    init?(column: Int32, of row: OpaquePointer) {
        let decimal: DecimalNumber? =
            switch sqlite3_column_type(row, column) {
            case SQLITE_INTEGER: DecimalNumber(sqlite3_column_int64(row, column))
            case SQLITE_FLOAT: DecimalNumber(sqlite3_column_double(row, column))
            case SQLITE_TEXT: sqlite3_column_text(row, column).flatMap { try? DecimalNumber(String(cString: $0)) }
            default: nil
            }
        guard let decimal else { return nil }
        self = decimal
    }
}
