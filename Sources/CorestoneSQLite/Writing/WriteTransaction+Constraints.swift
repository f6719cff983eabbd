import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

extension WriteTransaction {
    /// A violated constraint in terms of the model: entity, attributes, values. Other errors pass unchanged.
    func explained(_ error: CoreError, _ record: Record, _ entity: Entity) -> CoreError {
        explained(error, "\(entity.name) \(record.primaryKey)", entity) { value(of: $0, in: record, entity) }
    }

    /// The same for a row that `name` names.
    func explained(
        _ error: CoreError, _ name: String, _ entity: Entity, _ value: (Property) -> PropertyValue
    ) -> CoreError {
        guard error.sqliteCode & 0xff == SQLITE_CONSTRAINT else { return error }
        let table = schema.table(of: entity)
        let properties = violatedColumns(error.message).compactMap { name in
            table.columns.first { $0.name == name }?.property
        }
        guard let first = properties.first else {
            return CoreError(
                .conflict, code: .persistentStoreSave,
                "cannot save \(name): the store refuses the row (\(error.message))",
                entity: entity.name, sqliteCode: error.sqliteCode, file: path)
        }
        let values = properties.map(value)
        let pairs = zip(properties, values).map { "\($0.path) \(describe($1))" }.joined(separator: ", ")
        let names = properties.map(\.path).joined(separator: ", ")
        return CoreError(
            .conflict, code: .managedObjectConstraintMerge,
            "another \(table.root.name) in the store has \(pairs) already, but \(names) must be unique; "
                + "change the value, or fetch that object and change it instead",
            entity: entity.name, key: first.path, value: values.first,
            children: properties.count == 1
                ? []
                : zip(properties, values).map {
                    CoreError(
                        .conflict, code: .managedObjectConstraintMerge,
                        "\(entity.name).\($0.path) is part of a unique combination", entity: entity.name, key: $0.path,
                        value: $1)
                }, sqliteCode: error.sqliteCode, file: path)
    }

    /// The columns in SQLite's "UNIQUE constraint failed: T.A, T.B".
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

    private func describe(_ value: PropertyValue) -> String {
        switch value {
        case .null: "of nothing"
        case .text(let text): "\"\(text.string.prefix(60))\""
        case .uri(let uri): "\(uri.string.prefix(120))"
        case .int(let number): "\(number)"
        case .bool(let flag): flag ? "YES" : "NO"
        case .double(let number), .date(let number): "\(number)"
        default: "of the same value"
        }
    }
}
