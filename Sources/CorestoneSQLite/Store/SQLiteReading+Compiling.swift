import CorestoneGraph
import CorestoneSQL
import CorestoneValues

extension SQLiteReading {
    /// Compiles a fetch.
    ///
    /// A predicate that exceeds SQLite's limits for the size or depth of a statement is evaluated in memory.
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
    /// Whether an R-tree finds few rows. False if the R-tree cannot be read, because a scan does not need it.
    func isNarrow(_ probe: SQLQuery, _ file: OpenFile) throws -> Bool {
        let purpose = "query an R-tree of \(store.path)"
        do {
            let statement = try file.connection.statement(probe.text, purpose)
            for (place, value) in probe.bindings.enumerated() { statement.bind(value, at: Int32(clamping: place + 1)) }
            defer { statement.reset() }
            return try statement.step(purpose) && statement.integer(0) != 0
        } catch let error as CoreError where error.isOfUnusableTable { return false }
    }
}

extension SQLQuery {
    /// Whether the statement may exceed SQLite's limits (100 open parentheses, 64 tables, 2,000,000 bytes).
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
