import CSQLite
import CorestoneValues

/// `printf` and `format` for the expressions of a file's schema.
///
/// SQLite's own functions pad a text character by character, even far beyond the limit of a value, and then return
/// NULL. This can take billions of steps, which cannot be interrupted, and the NULL hides the cause. These functions
/// first reject widths beyond the limit, and then call SQLite's own functions on a separate in-memory connection.
final class FormatFunctions {
    private let most: Int
    private var helper: OpaquePointer?
    /// The statements that call `printf`, by number of arguments.
    private var statements: [Int32: OpaquePointer] = [:]

    /// Registers the functions. The object must outlive the last use of the connection.
    init(_ connection: Connection) throws {
        most = Int(sqlite3_limit(connection.db, SQLITE_LIMIT_LENGTH, -1))
        let code = sqlite3_open_v2(
            ":memory:", &helper, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK, let helper else {
            throw connection.error(code, "prepare the SQL functions printf and format for \(connection.path)")
        }
        sqlite3_limit(helper, SQLITE_LIMIT_LENGTH, Int32(clamping: most))
        let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS
        for name in ["printf", "format"] {
            let code = sqlite3_create_function_v2(
                connection.db, name, -1, flags, Unmanaged.passUnretained(self).toOpaque(),
                { context, count, arguments in
                    guard let userData = sqlite3_user_data(context), let arguments else { return }
                    Unmanaged<FormatFunctions>.fromOpaque(userData).takeUnretainedValue().call(
                        context, count, arguments)
                }, nil, nil, nil)
            guard code == SQLITE_OK else {
                let error = connection.error(code, "register the SQL function \(name) for \(connection.path)")
                // Without this call, `printf` could call this object after its deallocation.
                sqlite3_create_function_v2(connection.db, "printf", -1, SQLITE_UTF8, nil, nil, nil, nil, nil)
                throw error
            }
        }
    }

    deinit {
        for statement in statements.values { sqlite3_finalize(statement) }
        sqlite3_close_v2(helper)
    }

    private func call(
        _ context: OpaquePointer?, _ count: Int32, _ arguments: UnsafeMutablePointer<OpaquePointer?>
    ) {
        guard count > 0, let format = sqlite3_value_text(arguments[0]) else { return sqlite3_result_null(context) }
        let text = UnsafeBufferPointer(start: format, count: Int(sqlite3_value_bytes(arguments[0])))
        let padding = FormatFunctions.padding(text) { place in
            place + 1 < Int(count) ? sqlite3_value_int64(arguments[place + 1]) : 0
        }
        if padding > UInt64(most) { return sqlite3_result_error_toobig(context) }
        guard let statement = statement(count) else { return sqlite3_result_error_nomem(context) }
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        for place in 0..<count {
            let code = sqlite3_bind_value(statement, place + 1, arguments[Int(place)])
            if code != SQLITE_OK { return sqlite3_result_error_code(context, code) }
        }
        let code = sqlite3_step(statement)
        guard code == SQLITE_ROW else { return sqlite3_result_error_code(context, code) }
        if sqlite3_column_type(statement, 0) == SQLITE_NULL {
            // SQLite's own function returns NULL without an error for a result beyond the limit. The arguments count
            // twice, because quotes in them may be doubled.
            let size = (0..<Int(count)).reduce(padding) {
                $0.addingClamped(2 * UInt64(sqlite3_value_bytes(arguments[$1]).magnitude))
            }
            if size > UInt64(most) { return sqlite3_result_error_toobig(context) }
        }
        sqlite3_result_value(context, sqlite3_column_value(statement, 0))
    }

    private func statement(_ count: Int32) -> OpaquePointer? {
        if let known = statements[count] { return known }
        var made: OpaquePointer?
        let marks = Array(repeating: "?", count: Int(count)).joined(separator: ", ")
        sqlite3_prepare_v2(helper, "SELECT printf(\(marks))", -1, &made, nil)
        statements[count] = made
        return made
    }

    /// Returns the number of padding characters that a format may produce.
    ///
    /// It is the sum of the widths and precisions, including arguments for `*`. The precision of a text is left out,
    /// because it only truncates the text.
    static func padding(_ format: UnsafeBufferPointer<UInt8>, _ argument: (Int) -> Int64) -> UInt64 {
        var (padding, place, next): (UInt64, Int, Int) = (0, 0, 0)
        func number() -> UInt64 {
            if place < format.count, format[place] == UInt8(ascii: "*") {
                place += 1
                next += 1
                return argument(next - 1).magnitude
            }
            var number: UInt64 = 0
            while place < format.count, (0x30...0x39).contains(format[place]) {
                number = number.multipliedClamped(by: 10).addingClamped(UInt64(format[place] &- 0x30))
                place += 1
            }
            return number
        }
        while place < format.count {
            defer { place += 1 }
            guard format[place] == UInt8(ascii: "%") else { continue }
            place += 1
            while place < format.count, "-+ #0!,".utf8.contains(format[place]) { place += 1 }
            padding = padding.addingClamped(number())
            var precision: UInt64 = 0
            if place < format.count, format[place] == UInt8(ascii: ".") {
                place += 1
                precision = number()
            }
            while place < format.count, format[place] == UInt8(ascii: "l") { place += 1 }
            if place < format.count, !"szqQw".utf8.contains(format[place]) {
                padding = padding.addingClamped(precision)
            }
            if place < format.count, format[place] != UInt8(ascii: "%") { next += 1 }
        }
        return padding
    }
}
