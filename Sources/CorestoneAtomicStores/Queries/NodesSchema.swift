import CorestoneGraph
import CorestoneModel
import CorestoneSQL

/// A virtual schema, with which a request is compiled as for a database.
///
/// The compiler then reports the same errors as for a database, before a row is read.
struct NodesSchema: SchemaMapping {
    /// The mappings, by the index of the entity.
    private let mappings: [TableMapping]

    init(_ model: Model) {
        mappings = model.entities.map { entity in
            let subentities = entity.withDescendants
            return TableMapping(
                entity: entity, table: entity.root.name, number: Int64(entity.index) + 1,
                numbers: subentities.map { Int64($0.index) + 1 },
                isTableShared: subentities.count != entity.root.withDescendants.count,
                properties: entity.properties.map { NodesSchema.mapping(of: $0) })
        }
    }

    private static func mapping(of property: Property) -> ColumnMapping {
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

    func mapping(of entity: Entity) -> TableMapping { mappings[Int(entity.index)] }
}

extension StoreFetch {
    /// Checks the keys and comparisons of the fetch.
    ///
    /// - Returns: Whether the whole predicate was checked, so that it cannot fail for any row.
    /// - Throws: An error for an unknown key or an invalid comparison.
    func check(by schema: NodesSchema, store identifier: String) throws -> Bool {
        if predicate == nil && sortDescriptors.isEmpty { return true }
        let compiled = try FetchCompiler(schema: schema, storeIdentifier: identifier).compile(
            StoreFetch(
                entity: entity, includesSubentities: includesSubentities, predicate: predicate,
                sortDescriptors: sortDescriptors))
        return compiled.remainder?.predicate == nil
    }
}
