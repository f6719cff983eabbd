import CorestoneModel
import CorestoneValues

extension Context {
    /// Finds new and changed objects that have the same values where a unique constraint allows one object only.
    ///
    /// A save leaves that to the store, which knows the other rows too, and gives code 133021; whoever asks before the save
    /// learns of what this context alone can tell, with code 1551. No value is like no other, as in the store.
    func validateUniqueness(_ plan: SavePlan, into failures: inout ValidationFailures) throws {
        var owners: [UniqueValues: ManagedObject] = [:]
        for object in plan.inserted + plan.updated {
            for (entity, constraint) in object.entity.allUniqueConstraints {
                let values = try constraint.map { try object.value(forKeyPath: $0) }
                if values.contains(where: \.isNull) { continue }
                let place = UniqueValues(entity: ObjectIdentifier(entity), keys: constraint, values: values)
                guard let owner = owners[place] else {
                    owners[place] = object
                    continue
                }
                failures.append(object.notUnique(constraint, values, owner))
            }
        }
    }
}

/// What only one object may have.
private struct UniqueValues: Hashable {
    let entity: ObjectIdentifier
    let keys: [String]
    let values: [PropertyValue]
}

extension Entity {
    /// The unique constraints that hold for its objects, with the entities that declare them.
    var allUniqueConstraints: [(entity: Entity, attributes: [String])] {
        var known: Set<Set<String>> = []
        return sequence(first: self, next: \.parent).reversed().flatMap { entity in
            entity.uniqueConstraints.filter { known.insert(Set($0)).inserted }.map { (entity, $0) }
        }
    }
}
