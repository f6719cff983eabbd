import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneSQL
import CorestoneValues

extension WriteTransaction {
    /// Updates rows with one statement if SQL can express the predicate and the values.
    ///
    /// - Returns: false, with nothing changed, if the update must be executed in memory. The reason is that SQL cannot
    ///   express the predicate or a value, a value may need a backing file, a computed value must be unique, or the
    ///   statement exceeds a limit of SQLite.
    func update(_ fetch: StoreFetch, _ settings: [BatchSetting], _ changes: inout ExternalChanges) throws -> Bool {
        let entity = fetch.entity
        if settings.contains(where: { entity.layout.slots[$0.slot].role == .external }) { return false }
        let compiler = FetchCompiler(schema: schema, storeIdentifier: identifier)
        guard let compiled = try compiler.compile(fetch, setting: settings, isUnique: entity.isUnique)
        else { return false }
        let purpose = "update \(entity.name)"
        // An update that exceeds SQLite's limits for a statement is executed in memory.
        guard let statement = try? connection.statement(compiled.query.text, purpose) else { return false }
        for (place, value) in compiled.query.bindings.enumerated() { statement.bind(value, at: Int32(place + 1)) }
        let slots = settings.map(\.slot)
        let firstUpdate = changes.updated.count
        defer { statement.reset() }
        do {
            while try statement.step(purpose) {
                guard let index = schema.entityIndex(number: statement.integer(1), in: entity) else { continue }
                changes.updated.append((index, statement.integer(0)))
                for (place, slot) in compiled.computed.enumerated() {
                    try check(statement, Int32(place + 2), entity, slot, rowEntity: index)
                }
            }
        } catch let error as CoreError {
            throw explained(file.functions.takeFailure() ?? error, "a batch update of \(entity.name)", entity) {
                property in
                settings.first { $0.slot == Int(property.slot) }?.value.constantValue ?? .null
            }
        }
        withExtendedLifetime(compiled) {}
        if let history {
            for row in changes.updated[firstUpdate...] {
                try history.update(row.primaryKey, entity: schema.model.entities[Int(row.entity)], slots: slots)
            }
        }
        return true
    }

    /// Throws if a value that SQL computed is not valid for the attribute.
    private func check(
        _ statement: Statement, _ column: Int32, _ entity: Entity, _ slot: Int, rowEntity: UInt32
    ) throws {
        let value: PropertyValue =
            switch sqlite3_column_type(statement.handle, column) {
            case SQLITE_NULL: .null
            case SQLITE_INTEGER: .int(statement.integer(column))
            case SQLITE_FLOAT: .double(sqlite3_column_double(statement.handle, column))
            default: .string(statement.text(column) ?? "")
            }
        do { _ = try entity.requiredBatchValues(of: value, for: slot) } catch let error as CoreError {
            let name = schema.model.entities[Int(rowEntity)].name
            throw CoreError(
                error.status, error.message, customCode: error.code, entity: error.entity, key: error.key, value: value,
                objectURI: ObjectID.uri(ofKey: statement.integer(0), entity: name, store: identifier),
                sqliteCode: error.sqliteCode, file: error.file ?? path)
        }
    }
}
