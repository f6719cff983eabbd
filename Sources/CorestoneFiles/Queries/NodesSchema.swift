import CorestoneGraph
import CorestoneModel
import CorestoneSQL

/// A schema that no database has: by it a request is compiled as for one, so that the same mistakes are found before a row is read.
struct NodesSchema: SchemaMapping {
    /// By the index of the entity.
    private let mappings: [EntityMapping]

    init(_ model: Model) {
        mappings = model.entities.map { entity in
            let heirs = entity.withDescendants
            return EntityMapping(
                entity: entity, table: entity.root.name, number: Int64(entity.index) + 1,
                numbers: heirs.map { Int64($0.index) + 1 },
                isTableShared: heirs.count != entity.root.withDescendants.count,
                properties: entity.properties.map { NodesSchema.mapping(of: $0) })
        }
    }

    private static func mapping(of property: Property) -> PropertyMapping {
        if property.isTransient { return .none }
        let column = "Z\(property.slot)"
        guard let relationship = property as? Relationship else { return .attribute(column: column) }
        guard relationship.isToMany else { return .toOne(ToOneMapping(column: column)) }
        let table = relationship.destination.root.name
        if let inverse = relationship.inverse, !inverse.isToMany {
            return .toMany(.inverseColumn(table: table, column: "Z\(inverse.slot)", orderColumn: nil))
        }
        return .toMany(
            .joinTable(table: "Z_\(relationship.key)", ownerColumn: "Z_1", memberColumn: "Z_2", orderColumn: nil))
    }

    func mapping(of entity: Entity) -> EntityMapping { mappings[Int(entity.index)] }
}

extension StoreFetch {
    /// Finds unknown keys and comparisons without a meaning, wherever they are.
    /// - Returns: whether all were looked at: no row can come upon another one.
    func check(by schema: NodesSchema, store identifier: String) throws -> Bool {
        if predicate == nil && sortDescriptors.isEmpty { return true }
        let compiled = try FetchCompiler(schema: schema, storeIdentifier: identifier).compile(
            StoreFetch(
                entity: entity, includesSubentities: includesSubentities, predicate: predicate,
                sortDescriptors: sortDescriptors))
        return compiled.remainder?.predicate == nil
    }
}
