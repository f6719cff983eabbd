import CorestoneModel

/// A mapping of the entities of a model to the tables of one store.
///
/// The store creates the mapping when it opens a file. The compiler uses only names from the mapping as identifiers of
/// tables and columns, so user input cannot become an identifier in SQL.
package protocol SchemaMapping: Sendable {
    /// Returns the tables and columns of an entity of the store's model.
    ///
    /// - Throws: `Status.modelMismatch` if the entity does not belong to the store's model.
    func mapping(of entity: Entity) throws -> TableMapping
}

/// The table, columns and numbers of one entity.
package struct TableMapping: Sendable {
    package let entity: Entity
    /// The table of the root entity, which holds the rows of its whole entity tree.
    package let table: String
    /// The number of the entity in this store (`Z_ENT`).
    package let number: Int64
    /// The numbers of the entity and of all its subentities, including abstract ones.
    package let numbers: [Int64]
    /// Whether the table also holds rows of entities outside `numbers`, which a fetch has to exclude.
    package let isTableShared: Bool
    /// The mappings by slot, in the order of `Entity.properties`.
    package let properties: [ColumnMapping]
    /// The R-trees over attributes of the entity. The store keeps these R-trees up to date.
    package var spatialIndexes: [SpatialMapping] = []
    /// The paths of attributes and to-one relationships that have an index in the file.
    ///
    /// Empty for an entity without an R-tree.
    package var indexedKeys: Set<String> = []

    package init(
        entity: Entity, table: String, number: Int64, numbers: [Int64], isTableShared: Bool,
        properties: [ColumnMapping]
    ) {
        self.entity = entity
        self.table = table
        self.number = number
        self.numbers = numbers
        self.isTableShared = isTableShared
        self.properties = properties
    }
}

/// An R-tree: a table that holds, for each row of the entity's table, the bounds of the row's values.
package struct SpatialMapping: Sendable {
    /// The name of the index in the model.
    package let name: String
    package let table: String
    /// The columns of the lower and upper bound of each attribute, by the attribute's path.
    package let bounds: [String: (least: String, greatest: String)]

    package init(name: String, table: String, bounds: [String: (least: String, greatest: String)]) {
        (self.name, self.table, self.bounds) = (name, table, bounds)
    }
}

/// The columns or tables that hold the values of one property.
package enum ColumnMapping: Sendable {
    /// A transient property, which is not stored.
    case none
    case attribute(column: String)
    case toOne(ToOneMapping)
    case toMany(ToManyMapping)
}

/// A to-one relationship: a column with the target's primary key.
package struct ToOneMapping: Sendable {
    package let column: String
    /// The column with the number of the target's concrete entity, where the destination has subentities.
    package let entityColumn: String?

    package init(column: String, entityColumn: String? = nil) {
        self.column = column
        self.entityColumn = entityColumn
    }
}

/// The columns that hold the members of a to-many relationship.
package enum ToManyMapping: Sendable {
    /// `column` of the destination's table holds the owner's primary key. `orderColumn` holds the member's order key.
    case inverseColumn(table: String, column: String, orderColumn: String?)
    /// A join table: `ownerColumn` holds the owner's primary key, `memberColumn` the member's.
    case joinTable(table: String, ownerColumn: String, memberColumn: String, orderColumn: String?)
    /// The join table of a relationship that is its own inverse. Each pair is stored once, in either direction.
    case symmetricJoinTable(table: String, firstColumn: String, secondColumn: String)
}

extension TableMapping {
    /// Whether the entity of a row has to be read from the entity column.
    var hasEntityColumn: Bool { isTableShared || numbers.count > 1 }

    /// The mapping of a property of the entity.
    package subscript(property: Property) -> ColumnMapping {
        let slot = Int(property.slot)
        return slot < properties.count ? properties[slot] : .none
    }
}
