import CorestoneModel
import CorestoneSQL
import CorestoneValues

extension StoreSchema: SchemaMapping {
    func mapping(of entity: Entity) throws -> TableMapping {
        guard entity.model === model, Int(entity.index) < mappings.count else {
            throw CoreError(
                .modelMismatch, code: .persistentStoreIncompatibleSchema,
                "\(entity.name) does not belong to the model of the store; use the entity of the coordinator's model",
                entity: entity.name)
        }
        return mappings[Int(entity.index)]
    }

    /// Creates the mappings, by the entity's index in the model.
    func makeMappings() -> [TableMapping] {
        model.entities.map { entity in
            let table = table(of: entity)
            let family = entity.withDescendants
            return TableMapping(
                entity: entity, table: table.name, number: number(of: entity), numbers: family.map(number),
                isTableShared: family.count < table.entities.count,
                properties: entity.properties.map { property(mapping: $0, table: table) })
        }
    }

    private func property(mapping property: Property, table: TableSchema) -> ColumnMapping {
        guard let relationship = property as? Relationship else {
            return table.column(of: property).map { .attribute(column: $0.name) } ?? .none
        }
        if !relationship.isToMany {
            guard let column = table.column(of: relationship) else { return .none }
            return .toOne(
                ToOneMapping(column: column.name, entityColumn: table.targetEntityColumn(of: relationship)?.name))
        }
        switch storage(of: relationship) {
        case nil: return .none
        case .foreignKey(let members, let column, let order, _):
            return .toMany(.inverseColumn(table: members.name, column: column, orderColumn: order))
        case .joinTable(let join, let owner, let member, let order, let isReflexive):
            return .toMany(
                isReflexive
                    ? .symmetricJoinTable(table: join, firstColumn: owner, secondColumn: member)
                    : .joinTable(table: join, ownerColumn: owner, memberColumn: member, orderColumn: order))
        }
    }
}
