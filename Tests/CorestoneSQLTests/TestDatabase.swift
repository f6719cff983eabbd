import CSQLite
import CorestoneSQL
import CorestoneValues
import XCTest

/// A database in memory with the functions that a store registers.
final class TestDatabase {
    private var handle: OpaquePointer?

    init() throws {
        guard sqlite3_open(":memory:", &handle) == SQLITE_OK else { throw failure() }
        for function in StoreFunction.allCases {
            let name = UnsafeMutablePointer<StoreFunction>.allocate(capacity: 1)
            name.initialize(to: function)
            let status = sqlite3_create_function_v2(
                handle, function.rawValue, StoreFunction.argumentCount, SQLITE_UTF8 | SQLITE_DETERMINISTIC, name,
                callFunction,
                nil, nil, { $0?.assumingMemoryBound(to: StoreFunction.self).deallocate() })
            guard status == SQLITE_OK else { throw failure() }
        }
        sqlite3_create_collation_v2(
            handle, StoreFunction.caseInsensitiveCollation, SQLITE_UTF8, nil,
            { _, count, bytes, otherCount, otherBytes in
                Int32(
                    compareFolded(
                        UnsafeRawBufferPointer(start: bytes, count: Int(count)),
                        UnsafeRawBufferPointer(start: otherBytes, count: Int(otherCount)), caseInsensitive: true,
                        diacriticInsensitive: false
                    ).signum())
            }, nil)
    }

    deinit { sqlite3_close(handle) }

    private func failure() -> CoreError { CoreError(.storeIO, String(cString: sqlite3_errmsg(handle))) }

    /// The first column of each row.
    @discardableResult
    func run(_ text: String, _ bindings: [SQLValue] = []) throws -> [Int64] {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, text, -1, &statement, nil) == SQLITE_OK else { throw failure() }
        defer { sqlite3_finalize(statement) }
        for (index, value) in bindings.enumerated() { bind(value, Int32(index + 1), statement) }
        var found: [Int64] = []
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: found.append(sqlite3_column_int64(statement, 0))
            case SQLITE_DONE: return found
            default: throw failure()
            }
        }
    }

    private func bind(_ value: SQLValue, _ place: Int32, _ statement: OpaquePointer?) {
        switch value {
        case .null: sqlite3_bind_null(statement, place)
        case .integer(let number): sqlite3_bind_int64(statement, place, number)
        case .real(let number): sqlite3_bind_double(statement, place, number)
        case .text(let text):
            text.utf8.withMemoryRebound(to: CChar.self) {
                _ = cst_sqlite3_bind_text_copy(statement, place, $0.baseAddress, Int32($0.count))
            }
        case .blob(let bytes):
            _ = cst_sqlite3_bind_blob_copy(statement, place, bytes.rawBytes.baseAddress, Int32(bytes.count))
        }
    }
}

private func callFunction(
    _ context: OpaquePointer?, _ count: Int32, _ arguments: UnsafeMutablePointer<OpaquePointer?>?
) {
    guard let arguments, let function = sqlite3_user_data(context)?.load(as: StoreFunction.self),
        let text = bytes(arguments[0]), let other = bytes(arguments[1])
    else { return sqlite3_result_null(context) }
    do {
        let matcher = try StoreFunction.Matcher(function, Text(utf8: other), options: sqlite3_value_int64(arguments[2]))
        sqlite3_result_int64(context, try matcher.result(text))
    } catch { sqlite3_result_error(context, "\(error)", -1) }
}

private func bytes(_ value: OpaquePointer?) -> UnsafeRawBufferPointer? {
    guard let start = sqlite3_value_text(value) else { return nil }
    return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(value)))
}
