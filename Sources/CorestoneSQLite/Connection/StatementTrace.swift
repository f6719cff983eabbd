import CSQLite
import CorestoneValues

/// A logger of the statements that a connection runs. Only the thread that uses the connection may use the logger.
final class StatementTrace {
    private struct Run {
        var start: UInt64
        var rows = 0
    }

    private unowned(unsafe) let connection: Connection
    private var db: OpaquePointer { connection.db }
    private let detail: DebugLog.SQLDetail
    private var running: [OpaquePointer: Run] = [:]
    /// The length in bytes at which texts are truncated, because a value may be megabytes long.
    private static let longestText = 4096

    init(_ connection: Connection, _ detail: DebugLog.SQLDetail) {
        self.connection = connection
        self.detail = detail
        sqlite3_trace_v2(
            connection.db, UInt32(SQLITE_TRACE_STMT | SQLITE_TRACE_ROW | SQLITE_TRACE_PROFILE),
            { event, userData, subject, text in
                guard let userData, let subject else { return 0 }
                let trace = Unmanaged<StatementTrace>.fromOpaque(userData).takeUnretainedValue()
                let statement = OpaquePointer(subject)
                switch Int32(bitPattern: event) {
                case SQLITE_TRACE_STMT: trace.logStatement(statement, text?.assumingMemoryBound(to: CChar.self))
                case SQLITE_TRACE_ROW: trace.running[statement]?.rows += 1
                default: trace.logEnd(statement)
                }
                return 0
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Removes the trace from the connection. Must be called before the trace is deallocated.
    func end() { sqlite3_trace_v2(db, 0, nil, nil) }

    /// Logs the query plan of a statement that was just prepared.
    func logPlan(of sql: String) {
        guard detail.rawValue >= DebugLog.SQLDetail.values.rawValue, StatementTrace.isAboutRows(sql),
            let steps = try? QueryPlan.steps(of: sql, in: connection)
        else { return }
        for step in steps {
            DebugLog.write("CoreData: details: plan: " + String(repeating: "  ", count: step.depth) + step.detail)
        }
    }

    private func logStatement(_ statement: OpaquePointer, _ text: UnsafePointer<CChar>?) {
        // SQLite reports a statement of a trigger as an SQL comment.
        guard let text, text[0] != CChar(UInt8(ascii: "-")) else { return }
        let sql = String(cString: text)
        guard detail != .statements || StatementTrace.isAboutRows(sql) else { return }
        DebugLog.write("CoreData: sql: \(StatementTrace.cut(sql))")
        if detail.rawValue >= DebugLog.SQLDetail.values.rawValue, sqlite3_bind_parameter_count(statement) > 0,
            let filled = sqlite3_expanded_sql(statement)
        {
            DebugLog.write("CoreData: details: with values: \(StatementTrace.cut(String(cString: filled)))")
            sqlite3_free(filled)
        }
        running[statement] = Run(start: monotonicNanoseconds())
    }

    private func logEnd(_ statement: OpaquePointer) {
        guard let run = running.removeValue(forKey: statement) else { return }
        let time = StatementTrace.seconds(monotonicNanoseconds() - run.start)
        // Only INSERT, UPDATE and DELETE set the number of changed rows.
        let isAboutRows = sqlite3_sql(statement).map { StatementTrace.isAboutRows(String(cString: $0)) } ?? false
        let changed = isAboutRows ? " for \(counted(Int64(sqlite3_changes(db)), "row"))" : ""
        DebugLog.write(
            sqlite3_column_count(statement) > 0
                ? "CoreData: annotation: sql connection fetch time: \(time) for \(counted(Int64(run.rows), "row"))"
                : "CoreData: annotation: sql execution time: \(time)\(changed)")
        guard detail == .counters else { return }
        func counter(_ which: Int32, _ noun: String) -> String {
            counted(Int64(sqlite3_stmt_status(statement, which, 1)), noun)
        }
        DebugLog.write(
            "CoreData: details: counters: \(counter(SQLITE_STMTSTATUS_FULLSCAN_STEP, "row")) scanned, "
                + "\(counter(SQLITE_STMTSTATUS_SORT, "sort")), "
                + "\(counter(SQLITE_STMTSTATUS_AUTOINDEX, "automatic index row")), "
                + "\(counter(SQLITE_STMTSTATUS_VM_STEP, "step"))")
    }

    private static func isAboutRows(_ sql: String) -> Bool {
        ["SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH"].contains { sql.hasPrefix($0) }
    }

    private static func cut(_ text: String) -> String {
        text.utf8.count <= longestText ? text : String(decoding: text.utf8.prefix(longestText), as: UTF8.self) + "…"
    }

    /// Returns a duration as Core Data writes it: `0.0004s`.
    private static func seconds(_ nanoseconds: UInt64) -> String {
        let tenThousandths = (nanoseconds + 50_000) / 100_000
        let fraction = String(tenThousandths % 10_000)
        return "\(tenThousandths / 10_000)." + String(repeating: "0", count: 4 - fraction.utf8.count) + fraction + "s"
    }
}
