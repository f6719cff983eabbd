import CSQLite
import CorestonePredicate
import CorestoneSQL
import CorestoneValues

/// A registered arithmetic or string function that computes as the in-memory evaluator does.
///
/// SQLite passes the entry to the function's callback as user data.
final class ValueEntry {
    private let function: ComputedFunction
    private unowned let owner: StoreFunctions

    private init(_ function: ComputedFunction, owner: StoreFunctions) {
        self.function = function
        self.owner = owner
    }

    /// Registers the functions. The returned entries must outlive the last use of the connection.
    static func register(with connection: Connection, owner: StoreFunctions) throws -> [ValueEntry] {
        let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS
        let entries = try ComputedFunction.all.map { function in
            let entry = ValueEntry(function, owner: owner)
            let code = sqlite3_create_function_v2(
                connection.db, function.name, Int32(function.argumentCount), flags,
                Unmanaged.passUnretained(entry).toOpaque(), { ValueEntry.call($0, $1, $2) }, nil, nil, nil)
            guard code == SQLITE_OK else {
                throw connection.error(code, "register the SQL function \(function.name) for \(connection.path)")
            }
            return entry
        }
        var name = PackedValue.function
        var code = sqlite3_create_function_v2(
            connection.db, name, 1, flags, nil, { ValueEntry.unpack($0, $2) }, nil, nil, nil)
        if code == SQLITE_OK {
            name = ExactSum.function
            code = sqlite3_create_function_v2(
                connection.db, name, 1, flags, nil, nil, { ExactSum.step($0, $2) }, { ExactSum.finish($0) }, nil)
        }
        guard code == SQLITE_OK else {
            throw connection.error(code, "register the SQL function \(name) for \(connection.path)")
        }
        return entries
    }

    private static func call(
        _ context: OpaquePointer?, _ count: Int32, _ arguments: UnsafeMutablePointer<OpaquePointer?>?
    ) {
        guard let userData = sqlite3_user_data(context) else { return }
        let entry = Unmanaged<ValueEntry>.fromOpaque(userData).takeUnretainedValue()
        do {
            let values = (0..<Int(count)).map { PropertyValue(arguments?[$0]) }
            setResult(context, SQLValue(try entry.function.value(of: values)) ?? .null)
        } catch {
            entry.owner.note(error)
            sqlite3_result_error(context, "\(error)", -1)
        }
    }

    private static func unpack(_ context: OpaquePointer?, _ arguments: UnsafeMutablePointer<OpaquePointer?>?) {
        let argument = arguments?[0]
        guard sqlite3_value_type(argument) == SQLITE_TEXT, let text = sqlite3_value_text(argument) else {
            return sqlite3_result_value(context, argument)
        }
        let bytes = UnsafeRawBufferPointer(start: text, count: Int(sqlite3_value_bytes(argument)))
        setResult(context, PackedValue.value(bytes) ?? .null)
    }

    fileprivate static func setResult(_ context: OpaquePointer?, _ value: SQLValue) {
        switch value {
        case .null: sqlite3_result_null(context)
        case .integer(let number): sqlite3_result_int64(context, number)
        case .real(let number): sqlite3_result_double(context, number)
        case .text(let text):
            cst_sqlite3_result_text_copy(
                context, UnsafeRawPointer(text.buffer.start).assumingMemoryBound(to: CChar.self),
                Int32(clamping: text.count))
        case .blob(let bytes):
            cst_sqlite3_result_blob_copy(context, bytes.rawBytes.baseAddress, Int32(clamping: bytes.count))
        }
    }
}

extension PropertyValue {
    /// Reads the value of an argument of an SQL function.
    fileprivate init(_ value: OpaquePointer?) {
        switch sqlite3_value_type(value) {
        case SQLITE_INTEGER: self = .int(sqlite3_value_int64(value))
        case SQLITE_FLOAT: self = .double(sqlite3_value_double(value))
        case SQLITE_TEXT:
            let text = sqlite3_value_text(value)
            self = .text(Text(utf8: UnsafeRawBufferPointer(start: text, count: Int(sqlite3_value_bytes(value)))))
        case SQLITE_BLOB:
            let start = sqlite3_value_blob(value)
            self = .bytes(Bytes(copying: UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(value)))))
        default: self = .null
        }
    }
}

/// The sum of a column; 0 without values.
///
/// SQL's SUM fails if the sum exceeds 64 bits. This function continues with doubles, as the in-memory evaluator does.
private enum ExactSum {
    static let function = "cst_sum"

    private struct State {
        var whole: Int64
        var real: Double
        var isReal: Bool
    }

    private static func state(_ context: OpaquePointer?, _ size: Int) -> UnsafeMutablePointer<State>? {
        // SQLite zeroes the bytes at the first call, and zeros are a valid initial state.
        sqlite3_aggregate_context(context, Int32(size))?.assumingMemoryBound(to: State.self)
    }

    static func step(_ context: OpaquePointer?, _ arguments: UnsafeMutablePointer<OpaquePointer?>?) {
        let value = arguments?[0]
        guard sqlite3_value_type(value) != SQLITE_NULL, let state = state(context, MemoryLayout<State>.size) else {
            return
        }
        if state.pointee.isReal || sqlite3_value_type(value) != SQLITE_INTEGER {
            if !state.pointee.isReal { state.pointee.real = Double(state.pointee.whole) }
            state.pointee.isReal = true
            state.pointee.real += sqlite3_value_double(value)
            return
        }
        let number = sqlite3_value_int64(value)
        let (sum, overflow) = state.pointee.whole.addingReportingOverflow(number)
        if overflow {
            state.pointee.isReal = true
            state.pointee.real = Double(state.pointee.whole) + Double(number)
        } else {
            state.pointee.whole = sum
        }
    }

    static func finish(_ context: OpaquePointer?) {
        guard let state = state(context, 0)?.pointee else { return sqlite3_result_int64(context, 0) }
        if state.isReal {
            sqlite3_result_double(context, state.real)
        } else {
            sqlite3_result_int64(context, state.whole)
        }
    }
}
