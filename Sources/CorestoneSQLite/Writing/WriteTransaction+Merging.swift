import CorestoneGraph
import CorestoneModel

extension WriteTransaction {
    func isCurrent(_ primaryKey: Int64, version: Int32, entity: Entity) throws -> Bool {
        try connection.finds(
            "SELECT 1 FROM \(schema.table(of: entity).name) WHERE Z_PK = ?1 AND ifnull(Z_OPT, 0) = ?2", primaryKey,
            Int64(version), purpose: "check the version of \(entity.name)")
    }

    /// Sets columns to null without a new version or a history entry, because the change is not visible.
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
