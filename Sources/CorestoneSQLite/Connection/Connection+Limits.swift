import CSQLite
import CorestoneGraph
import CorestoneValues

// What a file may have SQLite do. The limits hold for every connection, whatever it was opened for, and whoever wrote the file.
extension Connection {
    /// Characters of one statement, also of those by which the file's tables are made: a list in a condition takes fifty times its
    /// length in memory.
    private static let mostText: Int32 = 2_000_000
    /// Instructions of one statement, 24 bytes each.
    private static let mostInstructions: Int32 = 5_000_000

    /// Has the limits hold from now on.
    func limit() {
        sqlite3_limit(db, SQLITE_LIMIT_LENGTH, Int32(clamping: limits.valueBytes))
        sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, Connection.mostText)
        sqlite3_limit(db, SQLITE_LIMIT_VDBE_OP, Connection.mostInstructions)
    }

    /// A statement keeps what each part of an expression makes until it is run again, and between two of them nobody is asked: so a
    /// value may take no more than its share of the memory that expressions of the file may take. Files without such expressions, as
    /// those of Core Data are, may have values as large as the limit says.
    ///
    /// Of a file that cannot be read nothing is learned, which whoever reads it next says better.
    func limitExpressions() {
        guard let parts = try? ExpressionParts(of: self), parts.count > 0 else { return expressionParts = 0 }
        expressionParts = parts.count
        searchesInExpressions = parts.searches
        var share = max(limits.expressionBytes / expressionParts, Connection.leastShare)
        if parts.searches {
            share = min(share, mostSearched)
            sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000)
        }
        sqlite3_limit(db, SQLITE_LIMIT_LENGTH, Int32(clamping: min(limits.valueBytes, share)))
        // Once registered it has to live.
        if formats == nil { formats = try? FormatFunctions(self) }
    }

    /// To look for one text of an expression's making in another takes a time that grows with both, and nobody is asked meanwhile. So
    /// it is little, and grows with what the store's host allows to memory.
    private var mostSearched: Int { max(limits.expressionBytes / 512, Connection.leastShare) }

    /// With less, nobody could read what a store says of itself.
    private static let leastShare = 4096

    /// Has the file's schema do no more than compute: it may not call what reaches beyond the database, nor write into the tables
    /// behind virtual ones. Functions of this library that triggers of Core Data's call are marked as harmless.
    func distrust() { cst_sqlite3_distrust(db) }

    /// Lets triggers use virtual tables, as those do that keep R-trees: some versions of SQLite count these among what reaches beyond
    /// the database. What is marked for direct use alone stays out of reach.
    func trustSchema() {
        cst_sqlite3_trust_schema(db)
        trustsSchema = true
    }

    /// What it means that SQLite found something too large.
    func tooLarge(_ purpose: String, cocoaCode: CocoaCode) -> CoreError {
        let most = Int(sqlite3_limit(db, SQLITE_LIMIT_LENGTH, -1))
        let reason: String
        let key: String
        let value: Int
        if expressionParts > 0, most < limits.valueBytes {
            (key, value) = ("memory_limit", limits.expressionBytes)
            let share = value / 512 < Connection.leastShare ? "the least share" : "1/512"
            reason =
                searchesInExpressions && most == mostSearched
                ? "a value or row exceeds \(most) bytes, \(share) of memory_limit (\(value) bytes), because the file's schema searches "
                    + "text; raise memory_limit if the file is trusted"
                : "a value or row exceeds \(most) bytes, its share of memory_limit (\(value) bytes), which is divided among the terms of "
                    + "the expressions in the file's schema (\(expressionParts)); raise memory_limit if the file is trusted"
        } else {
            (key, value) = ("value_limit", limits.valueBytes)
            let remedy =
                value < StoreLimits.mostValueBytes
                ? "raise value_limit, at most to SQLite's own limit of \(StoreLimits.mostValueBytes)"
                : "store fewer bytes per row, since value_limit is at its maximum"
            reason = "a value or row exceeds value_limit (\(value) bytes); \(remedy)"
        }
        return CoreError(
            .invalidArgument, code: cocoaCode, "cannot \(purpose): \(reason)", key: key, value: .int(Int64(value)),
            sqliteCode: SQLITE_TOOBIG, file: path)
    }
}
