import CSQLite
import CorestonePredicate
import CorestoneValues

/// The string functions of derived attributes, which temporary triggers of the library's connections call.
enum TextFunction: String, CaseIterable {
    case canonical = "corestone_canonical"
    case uppercase = "corestone_uppercase"
    case lowercase = "corestone_lowercase"

    init?(_ function: Function) {
        switch function {
        case .canonical: self = .canonical
        case .uppercase: self = .uppercase
        case .lowercase: self = .lowercase
        default: return nil
        }
    }

    private var function: Function {
        switch self {
        case .canonical: .canonical
        case .uppercase: .uppercase
        case .lowercase: .lowercase
        }
    }

    static func register(with connection: Connection) throws {
        for (place, function) in allCases.enumerated() {
            // The user data is the number of the function from 1.
            let code = sqlite3_create_function_v2(
                connection.db, function.rawValue, 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
                UnsafeMutableRawPointer(bitPattern: place + 1),
                { context, _, arguments in
                    let place = Int(bitPattern: sqlite3_user_data(context)) - 1
                    TextFunction.allCases[place].call(context, arguments?[0])
                }, nil, nil, nil)
            guard code == SQLITE_OK else {
                throw connection.error(code, "register the SQL function \(function.rawValue) for \(connection.path)")
            }
        }
    }

    private func call(_ context: OpaquePointer?, _ argument: OpaquePointer?) {
        guard let text = sqlite3_value_text(argument) else { return sqlite3_result_null(context) }
        let bytes = UnsafeRawBufferPointer(start: text, count: Int(sqlite3_value_bytes(argument)))
        let value = Expression.function(function, [.constant(.text(Text(utf8: bytes)))])
        guard case .text(let result)? = try? value.value(with: .null) else { return sqlite3_result_null(context) }
        cst_sqlite3_result_text_copy(
            context, UnsafeRawPointer(result.buffer.start).assumingMemoryBound(to: CChar.self),
            Int32(clamping: result.count))
    }
}
