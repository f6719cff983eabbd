import CorestoneGraph
import CorestoneModel

extension WriteTransaction {
    func isCurrent(_ primaryKey: Int64, version: Int32, entity: Entity) throws -> Bool {
        try connection.finds(
            "SELECT 1 FROM \(schema.table(of: entity).name) WHERE Z_PK = ?1 AND ifnull(Z_OPT, 0) = ?2", primaryKey,
            Int64(version), purpose: "check \(entity.name)")
    }

    /// No change that anybody sees, so neither version nor history tells of it.
    func clear(_ slots: [Int], of primaryKey: Int64, entity: Entity) throws {
        let table = schema.table(of: entity)
        let columns = slots.compactMap { table.column(of: entity.properties[$0])?.name }
        if columns.isEmpty { return }
        let purpose = "update \(entity.name)"
        let settings = columns.map { "\($0) = NULL" }.joined(separator: ", ")
        let statement = try connection.statement("UPDATE \(table.name) SET \(settings) WHERE Z_PK = ?1", purpose)
        statement.bind(primaryKey, at: 1)
        try statement.run(purpose)
    }
}
