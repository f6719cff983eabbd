import CorestoneGraph
import CorestoneSQL
import CorestoneValues

extension SQLiteReading {
    /// The query of a fetch. What is larger or nested more deeply than a statement of SQLite can be is left to memory.
    func compiled(_ fetch: StoreFetch, _ file: OpenFile) throws -> CompiledFetch {
        var compiled = try compiler.compile(fetch)
        if let probe = compiled.probe, try !isNarrow(probe, file) {
            compiled = try compiler.compile(fetch, spatial: .named)
        }
        guard compiled.query.mayBeTooLarge, fetch.predicate != nil else { return compiled }
        do {
            _ = try file.connection.statement("SELECT 1\(compiled.query.text)", "fetch \(fetch.entity.name)")
            return compiled
        } catch {
            return try compiler.compile(fetch, inMemory: "the predicate exceeds the limits of an SQLite statement")
        }
    }
}

extension SQLiteReading {
    /// Whether an R-tree finds few rows; not one that cannot be read, which a scan does not need.
    func isNarrow(_ probe: SQLQuery, _ file: OpenFile) throws -> Bool {
        let purpose = "query an R-tree"
        do {
            let statement = try file.connection.statement(probe.text, purpose)
            for (place, value) in probe.bindings.enumerated() { statement.bind(value, at: Int32(clamping: place + 1)) }
            defer { statement.reset() }
            return try statement.step(purpose) && statement.integer(0) != 0
        } catch let error as CoreError where error.isOfUnusableTable { return false }
    }
}

extension SQLQuery {
    /// Whether SQLite's bounds (a hundred open parentheses, 64 tables, a million bytes) are anywhere near.
    var mayBeTooLarge: Bool {
        var (depth, deepest) = (0, 0)
        for byte in text.utf8 {
            if byte == UInt8(ascii: "(") { depth += 1 }
            if byte == UInt8(ascii: ")") { depth -= 1 }
            deepest = max(deepest, depth)
        }
        return deepest > 10 || text.utf8.count > 2000
    }
}
