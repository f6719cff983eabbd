import CSQLite
import CorestoneGraph
import CorestoneValues

/// SQLite's query plan of a statement.
enum QueryPlan {
    /// Returns the lines of `EXPLAIN QUERY PLAN`. The statement's parameters do not need values.
    ///
    /// - Parameter entity: The entity of the fetch, for errors.
    static func steps(of sql: String, in connection: Connection, entity: String? = nil) throws
        -> [FetchExplanation.Step]
    {
        var handle: OpaquePointer?
        let code = sqlite3_prepare_v2(connection.db, "EXPLAIN QUERY PLAN " + sql, -1, &handle, nil)
        defer { sqlite3_finalize(handle) }
        guard code == SQLITE_OK, let handle else {
            throw connection.error(
                code, "explain a fetch\(entity.map { " of \($0)" } ?? "") in \(connection.path)", entity: entity)
        }
        var depths: [Int32: Int] = [:]
        var steps: [FetchExplanation.Step] = []
        while sqlite3_step(handle) == SQLITE_ROW, let text = sqlite3_column_text(handle, 3) {
            let depth = depths[sqlite3_column_int(handle, 1)].map { $0 + 1 } ?? 0
            depths[sqlite3_column_int(handle, 0)] = depth
            steps.append(FetchExplanation.Step(detail: String(cString: text), depth: depth))
        }
        return steps
    }

    /// Returns the distinct indexes that the steps name, as in `SEARCH t0 USING INDEX Name (…)`.
    static func indexes(in steps: [FetchExplanation.Step]) -> [String] {
        var names: [String] = []
        for step in steps {
            let words = step.detail.split(separator: " ")
            // An R-tree is a separate table: `SCAN Name VIRTUAL TABLE INDEX 2:D1B0`.
            if words.count > 3, words[2] == "VIRTUAL", words[1].hasPrefix("Z_RT_"), !names.contains(String(words[1])) {
                names.append(String(words[1]))
            }
            guard let place = words.firstIndex(of: "INDEX"), place > 0, place + 1 < words.count,
                ["USING", "COVERING", "PARTIAL"].contains(words[place - 1])
            else { continue }
            let name = String(words[place + 1])
            // An automatic index of SQLite does not have a name.
            if !name.hasPrefix("("), !names.contains(name) { names.append(name) }
        }
        return names
    }
}
