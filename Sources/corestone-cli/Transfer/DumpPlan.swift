import Corestone

/// Which properties of an entity a dump has, and in which order entities come.
struct DumpPlan {
    /// Of one entity.
    struct Part {
        let entity: Entity
        let attributes: [Attribute]
        let toOne: [Relationship]
        let toMany: [Relationship]
    }

    /// Concrete entities, those first to which others lead.
    let parts: [Part]

    /// - Parameter isWhole: whether all objects are dumped, so that one side is enough of relationships that tell the same.
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
                toMany: relationships.filter { $0.isToMany && DumpPlan.tells($0, isWhole) })
        }
    }

    /// Whether a to-many relationship says what its inverse does not.
    static func tells(_ relationship: Relationship, _ isWhole: Bool) -> Bool {
        guard relationship.isToMany, !relationship.isTransient else { return false }
        guard let inverse = relationship.inverse, !inverse.isTransient, !relationship.isOrdered else { return true }
        if !inverse.isToMany { return false }
        if !isWhole || inverse === relationship { return true }
        if inverse.isOrdered { return false }
        return (relationship.entity.name, relationship.name) < (inverse.entity.name, inverse.name)
    }
}

extension ObjectID {
    /// How files of a dump name an object.
    var dumpName: String { "\(entity.name)/p\(reference)" }
}
