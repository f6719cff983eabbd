import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneSQL
import CorestoneValues

extension SQLiteReading {
    func rows(_ request: StoreRowsRequest) throws -> StoreRows? {
        try withFile { file -> StoreRows? in
            // Like a fetch, the request sees the newest state.
            file.endReads()
            guard let compiled = try compiled(request, file) else { return nil }
            let purpose = "fetch \(request.fetch.entity.name)"
            let table = schema.table(of: request.fetch.entity)
            if try hasStrayRows(table, file, purpose) { return nil }
            do {
                return try file.bounded(table) {
                    StoreRows(rows: try rows(compiled, request, file, purpose), shape: compiled.shape)
                }
            } catch let error as CoreError {
                // SQLite passes on only the text of an error that a registered function threw.
                throw file.functions.takeFailure() ?? error
            }
        }
    }

    func check(_ request: StoreRowsRequest) throws { _ = try compiler.compile(request) }

    /// Reads the rows. Other threads cannot use the connection, so values can be read in place.
    private func rows(
        _ compiled: CompiledRows, _ request: StoreRowsRequest, _ file: OpenFile, _ purpose: String
    ) throws -> [[PropertyValue]] {
        let statement = try file.connection.statement(compiled.query.text, purpose)
        for (place, value) in compiled.query.bindings.enumerated() { statement.bind(value, at: Int32(place + 1)) }
        file.functions.gathered = []
        defer {
            statement.reset()
            file.functions.gathered = []
        }
        var found: [[PropertyValue]] = []
        while try statement.step(purpose) {
            if found.count >= file.maximumRows { throw pageCycleError(schema.table(of: request.fetch.entity)) }
            var column: Int32 = 0
            found.append(
                compiled.cells.map { cell in
                    let value = PropertyValue(sqlite3_column_value(statement.handle, column), cell.form)
                    column += 1
                    switch (cell.form, value) {
                    case (.gathered, .int(let place)): return file.functions.gathered[Int(place)]
                    case (.object, _):
                        column += 1
                        guard case .int(let key) = value, key > 0 else { return .null }
                        return request.reference(entity(statement.integer(column - 1), cell.entity), key)
                    default: return value
                    }
                })
        }
        withExtendedLifetime(compiled) {}
        return found
    }

    private func entity(_ number: Int64, _ usual: UInt32) -> UInt32 {
        schema.entityIndex(number: number, in: schema.model.entities[Int(usual)]) ?? usual
    }

    /// Compiles the request; nil if it needs managed objects, or exceeds SQLite's limits for a statement.
    func compiled(_ request: StoreRowsRequest, _ file: OpenFile) throws -> CompiledRows? {
        guard var compiled = try compiler.compile(request) else { return nil }
        if let probe = compiled.probe, try !isNarrow(probe, file) {
            guard let other = try compiler.compile(request, spatial: .named) else { return nil }
            compiled = other
        }
        guard compiled.query.mayBeTooLarge else { return compiled }
        let statement = try? file.connection.statement(compiled.query.text, "fetch \(request.fetch.entity.name)")
        return statement == nil ? nil : compiled
    }
}
