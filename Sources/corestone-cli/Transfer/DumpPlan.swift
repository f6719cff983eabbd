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
        parts = DumpPlan.ordered(wanted, isWhole).map { entity in
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

    /// Each entity behind those that its objects lead to, as far as these do not lead back: what is required counts most.
    private static func ordered(_ entities: [Entity], _ isWhole: Bool) -> [Entity] {
        var rest = entities.sorted { $0.name < $1.name }
        var result: [Entity] = []
        while !rest.isEmpty {
            func weight(_ entity: Entity) -> Int {
                let others = rest.filter { $0 !== entity }
                return entity.relationships.reduce(0) { sum, relationship in
                    guard others.contains(where: { relationship.destination.withDescendants.contains($0) }) else {
                        return sum
                    }
                    if !relationship.isToMany { return sum + (relationship.isOptional ? 10 : 10_000) }
                    return sum + (tells(relationship, isWhole) ? 1 : 0)
                }
            }
            let weights = rest.map(weight)
            guard let least = weights.min(), let place = weights.firstIndex(of: least) else { break }
            result.append(rest.remove(at: place))
        }
        return result
    }
}

extension [Entity] {
    fileprivate func contains(_ entity: Entity) -> Bool { contains { $0 === entity } }
}

extension ObjectID {
    /// How files of a dump name an object.
    var dumpName: String { "\(entity.name)/p\(reference)" }
}
