import CSQLite
import CorestoneSQL
import CorestoneValues

/// The functions and collations with which SQLite computes and compares as the in-memory evaluator does.
///
/// The object must outlive the last use of its connection.
final class StoreFunctions {
    /// The error that a function threw. SQLite passes on only its text.
    private var failure: CoreError?
    private var entries: [AnyObject] = []
    /// The results of aggregates that a column cannot store, for the rows of one request.
    var gathered: [PropertyValue] = []

    /// The user data of a registered function.
    private final class Entry {
        let function: StoreFunction
        unowned let owner: StoreFunctions

        init(_ function: StoreFunction, owner: StoreFunctions) {
            self.function = function
            self.owner = owner
        }
    }

    /// The prepared second text and options of a call. SQLite caches the object while the second text is constant.
    private final class PreparedText {
        let matcher: StoreFunction.Matcher
        init(_ matcher: StoreFunction.Matcher) { self.matcher = matcher }
    }

    init(_ connection: Connection) throws {
        let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS
        for function in StoreFunction.allCases {
            let entry = Entry(function, owner: self)
            entries.append(entry)
            let code = sqlite3_create_function_v2(
                connection.db, function.rawValue, StoreFunction.argumentCount, flags,
                Unmanaged.passUnretained(entry).toOpaque(), { StoreFunctions.call($0, $1, $2) }, nil, nil, nil)
            guard code == SQLITE_OK else {
                throw connection.error(code, "register the SQL function \(function.rawValue) for \(connection.path)")
            }
        }
        entries += try ValueEntry.register(with: connection, owner: self)
        entries += try GatheringEntry.register(with: connection, owner: self)
        for (place, collation) in SortCollation.all.enumerated() {
            // The user data is the number of the collation from 1, because 0 would be a null pointer.
            let code = sqlite3_create_collation_v2(
                connection.db, collation.name, SQLITE_UTF8, UnsafeMutableRawPointer(bitPattern: place + 1),
                { place, firstCount, first, secondCount, second in
                    let order = SortCollation.all[Int(bitPattern: place) - 1].selector.order(
                        UnsafeRawBufferPointer(start: first, count: Int(firstCount)),
                        UnsafeRawBufferPointer(start: second, count: Int(secondCount)))
                    return Int32(order.signum())
                }, nil)
            guard code == SQLITE_OK else {
                throw connection.error(code, "register the SQL collation \(collation.name) for \(connection.path)")
            }
        }
    }

    /// Records the error that a function threw.
    func note(_ error: any Error) { failure = error as? CoreError }

    /// Returns and clears the error that made a step fail; nil if no function failed.
    func takeFailure() -> CoreError? {
        defer { failure = nil }
        return failure
    }

    private static func call(
        _ context: OpaquePointer?, _ count: Int32, _ arguments: UnsafeMutablePointer<OpaquePointer?>?
    ) {
        guard let context, let arguments, count == StoreFunction.argumentCount,
            let userData = sqlite3_user_data(context)
        else {
            return
        }
        guard let first = sqlite3_value_text(arguments[0]), sqlite3_value_type(arguments[1]) != SQLITE_NULL else {
            return sqlite3_result_null(context)
        }
        let text = UnsafeRawBufferPointer(start: first, count: Int(sqlite3_value_bytes(arguments[0])))
        let entry = Unmanaged<Entry>.fromOpaque(userData).takeUnretainedValue()
        do {
            if let kept = sqlite3_get_auxdata(context, 1) {
                let prepared = Unmanaged<PreparedText>.fromOpaque(kept).takeUnretainedValue()
                return sqlite3_result_int64(context, try prepared.matcher.result(text))
            }
            guard let second = sqlite3_value_text(arguments[1]) else { return sqlite3_result_error_nomem(context) }
            let other = Text(utf8: UnsafeRawBufferPointer(start: second, count: Int(sqlite3_value_bytes(arguments[1]))))
            let prepared = PreparedText(
                try StoreFunction.Matcher(entry.function, other, options: sqlite3_value_int64(arguments[2])))
            let result = try prepared.matcher.result(text)
            sqlite3_set_auxdata(context, 1, Unmanaged.passRetained(prepared).toOpaque()) { kept in
                if let kept { Unmanaged<PreparedText>.fromOpaque(kept).release() }
            }
            sqlite3_result_int64(context, result)
        } catch {
            entry.owner.note(error)
            sqlite3_result_error(context, "\(error)", -1)
        }
    }
}
