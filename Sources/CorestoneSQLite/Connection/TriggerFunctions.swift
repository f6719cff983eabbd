import CSQLite
import CorestoneValues

/// The SQL functions that triggers in Core Data's stores call: `NSCoreDataNow` for a derived attribute that keeps the time
/// of the last save, and three by which a trigger tells which row's value it just computed.
///
/// Without them every statement that fires such a trigger fails. One object for each connection, which keeps it alive.
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
        // Harmless, hence allowed to the triggers of strangers' files too.
        let flags = SQLITE_UTF8 | SQLITE_INNOCUOUS
        for name in TriggerFunctions.reports {
            // Table, entity number, primary key, attribute, value.
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

    /// The rows that triggers changed since the last call.
    func takeRows() -> Set<Row> {
        defer { rows = [] }
        return rows
    }

    private static func check(_ code: Int32, _ name: String, _ connection: Connection) throws {
        guard code == SQLITE_OK else { throw connection.error(code, "register \(name)") }
    }

    private static func report(
        _ context: OpaquePointer?, _ count: Int32, _ arguments: UnsafeMutablePointer<OpaquePointer?>?
    ) {
        guard let context, let arguments, count == 5, let place = sqlite3_user_data(context) else { return }
        let row = Row(entity: sqlite3_value_int64(arguments[1]), primaryKey: sqlite3_value_int64(arguments[2]))
        Unmanaged<TriggerFunctions>.fromOpaque(place).takeUnretainedValue().rows.insert(row)
        sqlite3_result_null(context)
    }
}
