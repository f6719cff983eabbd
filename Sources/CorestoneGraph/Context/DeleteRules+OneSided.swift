import CorestoneModel
import CorestoneValues

// One-sided references, which delete rules do not remove: those of relationships without an inverse, and of
// relationships whose inverse has the rule No Action. References to an object that is discarded before its first save
// are searched only in unsaved changes, because no row can refer to it.
extension DeleteRules {
    /// Removes references of changed objects to objects that are discarded before their first save.
    ///
    /// To-one references become nil, and lists lose a member. The removals belong to the current event and are undone
    /// with the deletion.
    func clearOneSidedReferences(of ending: [ManagedObject]) throws {
        try forEachOneSidedReference(
            to: ending, target: { holder, relationship in try holder.writeTarget(nil, relationship) },
            member: { _, collection, member in collection.remove(member) })
    }

    /// Redirects the one-sided references to an unsaved object to the object that replaces it.
    func redirectOneSided(from former: ManagedObject, to other: ManagedObject) throws {
        try forEachOneSidedReference(
            to: [former], target: { holder, relationship in try holder.writeTarget(other, relationship) },
            member: { holder, collection, member in
                collection.remove(member)
                _ = try holder.add(other, to: collection.relationship)
            })
    }

    /// Calls the closures for each reference of a one-sided relationship to new objects.
    ///
    /// - Parameters:
    ///   - target: Called with each holder and to-one relationship that refers to one of the objects.
    ///   - member: Called with each holder, the list to which an object was added, and that object.
    private func forEachOneSidedReference(
        to objects: [ManagedObject], target: (ManagedObject, Relationship) throws -> Void,
        member: (ManagedObject, ToManyRelationship, ManagedObject) throws -> Void
    ) throws {
        let relationships = oneSidedRelationships(to: objects)
        if relationships.isEmpty { return }
        let sought = Set(objects.map(ObjectIdentifier.init))
        for holder in context.changeTracker.inserted + context.changeTracker.updated
        where holder.state.isDisjoint(with: [.detached, .propagated]) {
            // A holder whose row was deleted is not saved, so it is skipped.
            for relationship in relationships[ObjectIdentifier(holder.entity)] ?? [] {
                try holder.unlessRowIsMissing {
                    if holder.hasUnsavedReference(by: relationship, to: sought) { try target(holder, relationship) }
                    guard let collection = holder.keptMembers(relationship) else { return }
                    for found in collection.addedMembers where sought.contains(ObjectIdentifier(found)) {
                        try member(holder, collection, found)
                    }
                }
            }
        }
    }

    /// Returns the one-sided relationships that can refer to one of the objects, by entity.
    private func oneSidedRelationships(to objects: [ManagedObject]) -> [ObjectIdentifier: [Relationship]] {
        if objects.isEmpty { return [:] }
        var found: [ObjectIdentifier: [Relationship]] = [:]
        for entity in context.coordinator.model.entities {
            let referring = entity.relationships.filter { relationship in
                relationship.isOneSided && objects.contains { $0.entity.isKind(of: relationship.destination) }
            }
            if !referring.isEmpty { found[ObjectIdentifier(entity)] = referring }
        }
        return found
    }
}

extension Relationship {
    /// Whether no delete rule removes a reference of the relationship when the target is deleted.
    var isOneSided: Bool { resolvedInverse.map { $0.deleteRule == .noAction } ?? true }
}

extension ManagedObject {
    /// Whether an unsaved change of a to-one relationship refers to one of the objects.
    fileprivate func hasUnsavedReference(by relationship: Relationship, to sought: Set<ObjectIdentifier>) -> Bool {
        let slot = Int(relationship.slot)
        guard !relationship.isToMany, let overlay, overlay.isChanged(slot),
            case .object(let target as ManagedObject) = overlay[slot]
        else { return false }
        return sought.contains(ObjectIdentifier(target))
    }

    /// Returns the members of a to-many relationship, if it was accessed before.
    fileprivate func keptMembers(_ relationship: Relationship) -> ToManyRelationship? {
        guard relationship.isToMany else { return nil }
        return toMany(ordinal: Int(entity.layout.slots[Int(relationship.slot)].ordinal))
    }
}
