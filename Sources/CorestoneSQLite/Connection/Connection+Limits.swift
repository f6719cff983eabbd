import CSQLite
import CorestoneGraph
import CorestoneValues

// Limits of the work that a file can cause in SQLite. They apply to every connection, because any file may be
// untrusted.
extension Connection {
    /// The longest statement in bytes, including the statements of the file's schema. A list in a condition needs about
    /// fifty times its length in memory.
    private static let maximumTextBytes: Int32 = 2_000_000
    /// The maximum number of instructions of one statement, each of 24 bytes.
    private static let maximumInstructions: Int32 = 5_000_000

    /// Sets the limits of the connection.
    func limit() {
        sqlite3_limit(db, SQLITE_LIMIT_LENGTH, Int32(clamping: limits.valueBytes))
        sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, Connection.maximumTextBytes)
        sqlite3_limit(db, SQLITE_LIMIT_VDBE_OP, Connection.maximumInstructions)
    }

    /// Limits the size of values by the number of expressions in the file's schema.
    ///
    /// A statement keeps the result of each part of an expression until its next run, and no callback can check the
    /// memory in between.
    /// The size of a value is therefore limited to its share of the memory limit for expressions. Files without such
    /// expressions, such as those of Core Data, may have values up to the value limit.
    ///
    /// A file that cannot be read keeps the default limits; the next read reports the error.
    func limitExpressions() {
        guard let parts = try? ExpressionParts(of: self), parts.count > 0 else { return expressionParts = 0 }
        expressionParts = parts.count
        searchesInExpressions = parts.searches
        var share = max(limits.expressionBytes / expressionParts, Connection.minimumShare)
        if parts.searches {
            share = min(share, maximumSearchedExpressions)
            sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000)
        }
        sqlite3_limit(db, SQLITE_LIMIT_LENGTH, Int32(clamping: min(limits.valueBytes, share)))
        // SQLite calls the registered functions with a pointer to `formats`, so that object must not be replaced.
        if formats == nil { formats = try? FormatFunctions(self) }
    }

    /// The largest value, in bytes, of a store whose schema searches text. The time of a search grows with both texts,
    /// and the search cannot be interrupted, so the limit is low. It grows with the application's memory limit.
    private var maximumSearchedExpressions: Int { max(limits.expressionBytes / 512, Connection.minimumShare) }

    /// The smallest limit with which the store's own metadata can be read.
    private static let minimumShare = 4096

    /// Restricts the file's schema to computations.
    ///
    /// The schema cannot call functions with effects outside the database, nor write to shadow tables. The functions of
    /// this library that Core Data's triggers call are marked as innocuous.
    func restrictSchema() { cst_sqlite3_distrust(db) }

    /// Allows triggers to use virtual tables, as the triggers that update R-trees do.
    ///
    /// Some versions of SQLite treat virtual tables as untrusted. Functions marked as direct-only remain forbidden.
    func trustSchema() {
        cst_sqlite3_trust_schema(db)
        trustsSchema = true
    }

    /// Creates the error for SQLITE_TOOBIG.
    func tooLarge(_ purpose: String, cocoaCode: CocoaCode, entity: String? = nil) -> CoreError {
        if let message = sqlite3_errmsg(db), String(cString: message) == "statement too long" {
            return CoreError(
                .invalidArgument, code: cocoaCode,
                "cannot \(purpose): the SQL statement exceeds \(sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, -1)) bytes; "
                    + "shorten the predicate or the request",
                entity: entity, sqliteCode: SQLITE_TOOBIG, file: path)
        }
        let most = Int(sqlite3_limit(db, SQLITE_LIMIT_LENGTH, -1))
        let reason: String
        let key: String
        let value: Int
        if expressionParts > 0, most < limits.valueBytes {
            (key, value) = ("memory_limit", limits.expressionBytes)
            let limit: String
            if searchesInExpressions, most == maximumSearchedExpressions {
                limit =
                    "the limit for a schema that searches text. The limit is 1/512 of memory_limit (\(value) bytes), "
                    + "but at least \(Connection.minimumShare)"
            } else if value / expressionParts < Connection.minimumShare {
                limit = "the smallest limit for a schema with \(expressionParts) terms in expressions"
            } else {
                let terms = expressionParts == 1 ? "1 term" : "\(expressionParts) terms"
                limit =
                    "the limit for a schema with \(terms) in expressions. The limit is the share of memory_limit "
                    + "(\(value) bytes) for each term"
            }
            reason = "a value or row exceeds \(most) bytes, \(limit); raise memory_limit if the file is trusted"
        } else {
            (key, value) = ("value_limit", limits.valueBytes)
            let remedy =
                value < StoreLimits.mostValueBytes
                ? "raise value_limit, at most to SQLite's own limit of \(StoreLimits.mostValueBytes)"
                : "store fewer bytes per row, since value_limit is at its maximum"
            reason = "a value or row exceeds value_limit (\(value) bytes); \(remedy)"
        }
        return CoreError(
            .invalidArgument, code: cocoaCode, "cannot \(purpose): \(reason)", entity: entity, key: key,
            value: .int(Int64(value)), sqliteCode: SQLITE_TOOBIG, file: path)
    }
}
