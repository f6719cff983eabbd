import CSQLite
import CorestoneSQL
import CorestoneValues

/// A registered aggregate function that collects the values of rows and computes its result in memory.
///
/// SQLite passes the entry to the function's callbacks as user data.
final class GatheringEntry {
    private let function: GatheringFunction
    private unowned let owner: StoreFunctions

    /// The values of one group.
    private final class Values {
        var values: [PropertyValue] = []
    }

    private init(_ function: GatheringFunction, owner: StoreFunctions) {
        (self.function, self.owner) = (function, owner)
    }

    /// Registers the functions. The returned entries must outlive the last use of the connection.
    static func register(with connection: Connection, owner: StoreFunctions) throws -> [GatheringEntry] {
        try GatheringFunction.allCases.map { function in
            let entry = GatheringEntry(function, owner: owner)
            let code = sqlite3_create_function_v2(
                connection.db, function.rawValue, 2, SQLITE_UTF8 | SQLITE_INNOCUOUS,
                Unmanaged.passUnretained(entry).toOpaque(), nil, { GatheringEntry.step($0, $2) },
                { GatheringEntry.finish($0) }, nil)
            guard code == SQLITE_OK else {
                throw connection.error(code, "register the SQL function \(function.rawValue) for \(connection.path)")
            }
            return entry
        }
    }

    private static func step(_ context: OpaquePointer?, _ arguments: UnsafeMutablePointer<OpaquePointer?>?) {
        guard let form = RowCell.Form(rawValue: UInt8(truncatingIfNeeded: sqlite3_value_int(arguments?[1]))),
            let memory = sqlite3_aggregate_context(context, Int32(MemoryLayout<UnsafeRawPointer?>.size))
        else { return }
        let value = PropertyValue(arguments?[0], form)
        if value.isNull { return }
        // SQLite zeroes the bytes at the first call.
        let known = memory.load(as: UnsafeRawPointer?.self)
        let values = known.map { Unmanaged<Values>.fromOpaque($0) } ?? Unmanaged.passRetained(Values())
        if known == nil { memory.storeBytes(of: values.toOpaque(), as: UnsafeMutableRawPointer.self) }
        values.takeUnretainedValue().values.append(value)
    }

    private static func finish(_ context: OpaquePointer?) {
        guard let user = sqlite3_user_data(context) else { return }
        let entry = Unmanaged<GatheringEntry>.fromOpaque(user).takeUnretainedValue()
        let collected = sqlite3_aggregate_context(context, 0)?.load(as: UnsafeRawPointer?.self)
        let values = collected.map { Unmanaged<Values>.fromOpaque($0).takeRetainedValue().values } ?? []
        do {
            let value = try entry.function.value(of: values)
            if value.isNull { return sqlite3_result_null(context) }
            entry.owner.gathered.append(value)
            sqlite3_result_int64(context, Int64(entry.owner.gathered.count - 1))
        } catch {
            entry.owner.note(error)
            sqlite3_result_error(context, "\(error)", -1)
        }
    }
}
