import Corestone

/// The entities and properties of a dump, and their order.
struct DumpPlan {
    /// The dumped properties of one entity.
    struct Part {
        let entity: Entity
        let attributes: [Attribute]
        let toOne: [Relationship]
        let toMany: [Relationship]
    }

    /// The entities that are not abstract, destinations of relationships first.
    let parts: [Part]

    /// Plans a dump.
    ///
    /// - Parameter isWhole: Whether all objects are dumped, so that one side of a relationship and its inverse is
    ///   enough.
    init(_ entities: [Entity], isWhole: Bool) {
        let wanted = entities.filter { !$0.isAbstract }
        parts = DumpOrder.of(wanted, isWhole: isWhole).map { entity in
            let relationships = entity.relationships.filter { !$0.isTransient }
            return Part(
                entity: entity,
                attributes: entity.properties.compactMap { $0 as? Attribute }.filter {
                    !$0.isTransient && $0.type != .composite
                },
                toOne: relationships.filter { !$0.isToMany },
                toMany: relationships.filter { $0.isToMany && DumpPlan.contains($0, isWhole) })
        }
    }

    /// Whether a dump contains a to-many relationship; false if the dumped inverse has the same information.
    static func contains(_ relationship: Relationship, _ isWhole: Bool) -> Bool {
        guard relationship.isToMany, !relationship.isTransient else { return false }
        guard let inverse = relationship.inverse, !inverse.isTransient, !relationship.isOrdered else { return true }
        if !inverse.isToMany { return false }
        if !isWhole || inverse === relationship { return true }
        if inverse.isOrdered { return false }
        return (relationship.entity.name, relationship.name) < (inverse.entity.name, inverse.name)
    }
}

extension ObjectID {
    /// The name of an object in a dump.
    var dumpName: String { "\(entity.name)/p\(reference)" }
}
