import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// What a store knows of its watch, and the watch of it.
struct WatchedStore {
    /// nil while nobody wants to know what others write.
    weak var watch: SQLiteWatch?
    /// The number of the last transaction that the store itself wrote into the history.
    var lastTransaction: Int64?
}

extension SQLiteStore {
    func watch(_ tell: @escaping @Sendable (ForeignChanges) -> Void) throws -> (any StoreWatch)? {
        let watch = SQLiteWatch(self, tell)
        // First, so that no save of ours slips between.
        watched.withLock { $0.watch = watch }
        try watch.start()
        return watch
    }

    var lastOwnTransaction: Int64? { watched.withLock { $0.lastTransaction } }

    /// Runs `commit`, which commits what `writer` wrote, so that the watch, if there was one when that began, knows it for the
    /// store's own.
    func committing(
        _ save: OwnWrites.Save, with writer: Connection, _ watch: SQLiteWatch?, _ commit: () throws -> Void
    ) throws {
        if let watch {
            try watch.committing(save, with: writer, commit)
        } else {
            try commit()
        }
        if let number = save.transaction { watched.withLock { $0.lastTransaction = number } }
    }

    /// The versions of rows by their keys; rows that do not exist are left out.
    func versions(of root: Entity, primaryKeys: [Int64]) throws -> [Int64: Int32] {
        let table = schema.table(of: root)
        guard table.hasVersions else { return Dictionary(primaryKeys.map { ($0, 0) }, uniquingKeysWith: { $1 }) }
        return try withFile { file in
            let purpose = "compare \(root.name)"
            let marks = Array(repeating: "?", count: FaultPlan.chunk).joined(separator: ", ")
            let statement = try file.connection.statement(
                "SELECT Z_PK, Z_OPT FROM \(table.name) WHERE Z_PK IN (\(marks))", purpose)
            var versions: [Int64: Int32] = [:]
            versions.reserveCapacity(primaryKeys.count)
            for start in stride(from: 0, to: primaryKeys.count, by: FaultPlan.chunk) {
                for offset in 0..<FaultPlan.chunk {
                    // A last chunk that is not full repeats its first key, which changes nothing.
                    let place = start + offset < primaryKeys.count ? start + offset : start
                    statement.bind(primaryKeys[place], at: Int32(offset + 1))
                }
                defer { statement.reset() }
                while try statement.step(purpose) {
                    versions[statement.integer(0)] = Int32(truncatingIfNeeded: statement.integer(1))
                }
            }
            return versions
        }
    }
}

extension Connection {
    /// A number that differs from the one before when another connection committed meanwhile.
    func dataVersion() throws -> Int64 {
        let purpose = "look for changes"
        let statement = try statement("PRAGMA data_version", purpose)
        defer { statement.reset() }
        return try statement.step(purpose) ? statement.integer(0) : 0
    }
}
