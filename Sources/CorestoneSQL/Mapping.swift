import CorestoneModel

/// Where the entities of a model lie in the tables of one store.
///
/// The store fills this in when it opens a file; the compiler asks it and knows no naming rule of its own. Identifiers come
/// only from here, so nothing that a user types can become SQL text.
package protocol SchemaMapping: Sendable {
    /// The tables and columns of an entity of the store's model.
    ///
    /// - Throws: `Status.modelMismatch` when the store does not know the entity.
    func mapping(of entity: Entity) throws -> EntityMapping
}

/// One entity in the table of its root entity.
package struct EntityMapping: Sendable {
    package let entity: Entity
    /// The table of the root entity, which holds the rows of all descendants.
    package let table: String
    /// The number of the entity in this store (`Z_ENT`).
    package let number: Int64
    /// The numbers of the entity and of all that inherit from it, abstract ones too.
    package let numbers: [Int64]
    /// Whether rows of entities other than `numbers` lie in the table, so that a fetch has to tell them apart.
    package let isTableShared: Bool
    /// By slot, as `Entity.properties`.
    package let properties: [PropertyMapping]
    /// The R-trees that the store has over attributes of the entity, and keeps up to date.
    package var spatialIndexes: [SpatialMapping] = []
    /// The paths of attributes and to-one relationships by whose value an index of the file finds rows; empty where there is no R-tree.
    package var indexedKeys: Set<String> = []

    package init(
        entity: Entity, table: String, number: Int64, numbers: [Int64], isTableShared: Bool,
        properties: [PropertyMapping]
    ) {
        self.entity = entity
        self.table = table
        self.number = number
        self.numbers = numbers
        self.isTableShared = isTableShared
        self.properties = properties
    }
}

/// An R-tree: a table with a row for each of the entity's table, which has bounds of the values there.
package struct SpatialMapping: Sendable {
    /// The name of the index in the model.
    package let name: String
    package let table: String
    /// The columns of an attribute's bounds, by its path.
    package let bounds: [String: (least: String, greatest: String)]

    package init(name: String, table: String, bounds: [String: (least: String, greatest: String)]) {
        (self.name, self.table, self.bounds) = (name, table, bounds)
    }
}

/// Where the values of one property lie.
package enum PropertyMapping: Sendable {
    /// Transient: not in the store.
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

/// A to-many relationship.
package enum ToManyMapping: Sendable {
    /// `column` of the destination's table holds the owner's primary key. `orderColumn` holds the member's place.
    case inverseColumn(table: String, column: String, orderColumn: String?)
    /// A table of pairs: `ownerColumn` the object that has the relationship, `memberColumn` its member.
    case joinTable(table: String, ownerColumn: String, memberColumn: String, orderColumn: String?)
    /// The relationship is its own inverse and a pair is written once, in either direction.
    case symmetricJoinTable(table: String, firstColumn: String, secondColumn: String)
}

extension EntityMapping {
    /// Whether the table says which entity a row is of.
    var hasEntityColumn: Bool { isTableShared || numbers.count > 1 }

    /// The place of a property that the entity has.
    package subscript(property: Property) -> PropertyMapping {
        let slot = Int(property.slot)
        return slot < properties.count ? properties[slot] : .none
    }
}
