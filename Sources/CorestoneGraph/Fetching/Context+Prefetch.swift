import CorestoneModel
import CorestoneValues

extension Context {
    /// Loads the member lists of a to-many relationship for all objects together.
    ///
    /// Members that were not registered before are faults.
    public func loadMembers(of name: String, of objects: [ManagedObject], entity: Entity) throws {
        try checkQueue()
        let property = try entity.requireProperty(named: name)
        guard let relationship = property as? Relationship, relationship.isToMany else {
            let remedy =
                property is Relationship
                ? "prefetch it in the fetch of \(entity.name) with cst_fetch_request_set_prefetch (prefetch, "
                    + "relationshipKeyPathsForPrefetching)"
                : "pass a to-many relationship"
            throw CoreError(
                .typeMismatch,
                "\(entity.name).\(name) is \(property.kindPhrase), not a to-many relationship; \(remedy)",
                entity: entity.name, key: name)
        }
        try faultLoader.loadMembers(
            of: relationship, owners: objects.filter { $0.entity.isKind(of: relationship.entity) })
    }
}
