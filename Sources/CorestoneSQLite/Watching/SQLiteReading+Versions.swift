import CorestoneGraph
import CorestoneModel

extension SQLiteReading {
    /// Returns the versions of rows by primary key. Rows that do not exist are left out.
    ///
    /// If the table does not have versions, the version of every key is 0.
    func versions(of root: Entity, primaryKeys: [Int64]) throws -> [Int64: Int32] {
        let table = schema.table(of: root)
        guard table.hasVersions else { return Dictionary(primaryKeys.map { ($0, 0) }, uniquingKeysWith: { $1 }) }
        return try withFile { file in
            let purpose = "read the versions of \(root.name)"
            let marks = Array(repeating: "?", count: KeyPart.most).joined(separator: ", ")
            let statement = try file.connection.statement(
                "SELECT Z_PK, Z_OPT FROM \(table.name) WHERE Z_PK IN (\(marks))", purpose)
            var versions: [Int64: Int32] = [:]
            versions.reserveCapacity(primaryKeys.count)
            for start in stride(from: 0, to: primaryKeys.count, by: KeyPart.most) {
                for offset in 0..<KeyPart.most {
                    // An incomplete last chunk is filled with its first key, which does not change the result.
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
    /// Returns a number that changes when another connection has committed.
    func dataVersion() throws -> Int64 {
        let purpose = "read remote changes of \(path)"
        let statement = try statement("PRAGMA data_version", purpose)
        defer { statement.reset() }
        return try statement.step(purpose) ? statement.integer(0) : 0
    }
}
