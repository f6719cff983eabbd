import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

extension WriteTransaction {
    /// Converts the violation of a constraint to an error with entity, attributes and values.
    ///
    /// Other errors are returned unchanged.
    func explained(_ error: CoreError, _ record: Record, _ entity: Entity) -> CoreError {
        explained(error, "\(entity.name)/p\(record.primaryKey)", entity, key: record.primaryKey) {
            value(of: $0, in: record, entity)
        }
    }

    /// Converts the violation of a constraint for a row that messages call `name`.
    ///
    /// - Parameter key: The primary key of the row; nil for several rows.
    func explained(
        _ error: CoreError, _ name: String, _ entity: Entity, key: Int64? = nil, _ value: (Property) -> PropertyValue
    ) -> CoreError {
        guard error.sqliteCode & 0xff == SQLITE_CONSTRAINT else { return error }
        let table = schema.table(of: entity)
        let uri = key.map { ObjectID.uri(ofKey: $0, entity: entity.name, store: identifier) }
        let columns = violatedColumns(error.message)
        if let key, columns.contains("Z_PK") {
            return CoreError(
                .conflict, code: .persistentStoreSave,
                "the primary key \(key) of a new \(entity.name) is already in use in \(path); delete the new object "
                    + "with cst_context_delete (delete), and insert it again with cst_context_insert (insert)",
                entity: entity.name, value: .int(key), objectURI: uri, sqliteCode: error.sqliteCode, file: path)
        }
        let properties = columns.compactMap { name in
            table.columns.first { $0.name == name }?.property
        }
        if properties.isEmpty {
            return CoreError(
                .conflict, code: .persistentStoreSave,
                "\(name) violates a constraint of the store: \(error.message)",
                entity: entity.name,
                objectURI: uri,
                sqliteCode: error.sqliteCode, file: path)
        }
        return .notUnique(
            entity, properties, properties.map(value), in: path, objectURI: uri, sqliteCode: error.sqliteCode)
    }

    /// Returns the columns in SQLite's message `UNIQUE constraint failed: T.A, T.B`.
    private func violatedColumns(_ message: String) -> [String] {
        guard let place = position(of: "constraint failed: ", in: message) else { return [] }
        let list = String(decoding: message.utf8.dropFirst(place + 19), as: UTF8.self)
        return list.split(separator: ",").compactMap { part in
            part.split(separator: ".").dropFirst().first.map { column in
                String(column.prefix { $0.isLetter || $0.isNumber || $0 == "_" })
            }
        }
    }

    private func value(of property: Property, in record: Record, _ entity: Entity) -> PropertyValue {
        let slot = Int(property.slot)
        guard slot < entity.properties.count, entity.properties[slot] === property else { return .null }
        if property is Relationship {
            guard let target = record.target(slot, entity.layout.slots[slot]) else { return .null }
            let name = schema.model.entities[Int(target.entity)].name
            return .uri(Text(ObjectID.uri(ofKey: target.primaryKey, entity: name, store: identifier)))
        }
        return record.view(slot, entity.layout.slots[slot]).propertyValue
    }
}
