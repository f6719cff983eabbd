import CSQLite
import CorestoneValues

/// The SQL functions that triggers in Core Data's stores call.
///
/// `NSCoreDataNow` is for a derived attribute that stores the time of the last save. Each of the three other functions
/// reports the row whose value a trigger computed. Without the functions, every statement that fires such a trigger
/// fails. Each connection owns one object.
final class TriggerFunctions {
    struct Row: Hashable {
        /// `Z_ENT`.
        let entity: Int64
        let primaryKey: Int64
    }

    private var rows: Set<Row> = []

    static let reports = [
        "NSCoreDataDATriggerUpdatedAffectedObjectValue", "NSCoreDataDATriggerInsertUpdatedAffectedObjectValue",
        "NSCoreDataTriggerUpdateAffectedObjectValue",
    ]
    static let now = "NSCoreDataNow"

    func register(with connection: Connection) throws {
        let owner = Unmanaged.passUnretained(self).toOpaque()
        // Innocuous functions may be called by triggers of untrusted files.
        let flags = SQLITE_UTF8 | SQLITE_INNOCUOUS
        for name in TriggerFunctions.reports {
            // The arguments are table, entity number, primary key, attribute and value.
            try TriggerFunctions.check(
                sqlite3_create_function_v2(
                    connection.db, name, 5, flags, owner, { TriggerFunctions.report($0, $1, $2) }, nil, nil, nil),
                name, connection)
        }
        try TriggerFunctions.check(
            sqlite3_create_function_v2(
                connection.db, TriggerFunctions.now, 0, flags, nil,
                { context, _, _ in sqlite3_result_double(context, ReferenceDate.currentSeconds) }, nil, nil, nil),
            TriggerFunctions.now, connection)
    }

    /// Returns the rows that triggers changed since the last call.
    func takeRows() -> Set<Row> {
        defer { rows = [] }
        return rows
    }

    private static func check(_ code: Int32, _ name: String, _ connection: Connection) throws {
        guard code == SQLITE_OK else {
            throw connection.error(code, "register the SQL function \(name) for \(connection.path)")
        }
    }

    private static func report(
        _ context: OpaquePointer?, _ count: Int32, _ arguments: UnsafeMutablePointer<OpaquePointer?>?
    ) {
        guard let context, let arguments, count == 5, let userData = sqlite3_user_data(context) else { return }
        let row = Row(entity: sqlite3_value_int64(arguments[1]), primaryKey: sqlite3_value_int64(arguments[2]))
        Unmanaged<TriggerFunctions>.fromOpaque(userData).takeUnretainedValue().rows.insert(row)
        sqlite3_result_null(context)
    }
}
