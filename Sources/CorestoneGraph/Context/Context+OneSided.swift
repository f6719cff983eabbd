import CorestoneModel
import CorestoneValues

// References that no delete rule takes back: those without inverse, whose target does not know them, and those whose inverse has the
// rule No Action. An object that ends unsaved is looked for in the changes of the others. No row can name it, so those are the only
// place where it can be.
extension Context {
    /// Has changed objects let go of objects that end before they were ever saved: to-one references become nil, lists lose a member.
    /// Both are changes of the event that runs, and undone with the deletion.
    func letGoOneSided(of ending: [ManagedObject]) throws {
        try forEachOneSidedReference(
            to: ending, target: { holder, relationship in try holder.writeTarget(nil, relationship) },
            member: { _, keeper, member in keeper.drop(member) })
    }

    /// Has what leads to an unsaved object lead to another one, which stands for it from now on.
    func redirectOneSided(from former: ManagedObject, to other: ManagedObject) throws {
        try forEachOneSidedReference(
            to: [former], target: { holder, relationship in try holder.writeTarget(other, relationship) },
            member: { holder, keeper, member in
                keeper.drop(member)
                _ = try holder.add(other, to: keeper.relationship)
            })
    }

    /// - Parameters:
    ///   - target: called for each holder and to-one relationship that leads to one of the objects.
    ///   - member: called for each holder and list that one of them was added to.
    private func forEachOneSidedReference(
        to objects: [ManagedObject], target: (ManagedObject, Relationship) throws -> Void,
        member: (ManagedObject, ToManyRelationship, ManagedObject) throws -> Void
    ) throws {
        let relationships = oneSidedRelationships(to: objects)
        if relationships.isEmpty { return }
        let sought = Set(objects.map(ObjectIdentifier.init))
        for holder in changeTracker.inserted + changeTracker.updated
        where holder.state.isDisjoint(with: [.gone, .propagated]) {
            // A holder whose row is gone is not saved, and nothing is asked of it.
            for relationship in relationships[ObjectIdentifier(holder.entity)] ?? [] {
                try holder.unlessGhost {
                    if holder.wasLed(by: relationship, to: sought) { try target(holder, relationship) }
                    guard let keeper = holder.keptMembers(relationship) else { return }
                    for found in keeper.addedMembers where sought.contains(ObjectIdentifier(found)) {
                        try member(holder, keeper, found)
                    }
                }
            }
        }
    }

    /// By entity: those relationships that can lead to one of the objects.
    private func oneSidedRelationships(to objects: [ManagedObject]) -> [ObjectIdentifier: [Relationship]] {
        if objects.isEmpty { return [:] }
        var found: [ObjectIdentifier: [Relationship]] = [:]
        for entity in coordinator.model.entities {
            let leading = entity.relationships.filter { relationship in
                relationship.isTakenBackByNoRule && objects.contains { $0.entity.isKind(of: relationship.destination) }
            }
            if !leading.isEmpty { found[ObjectIdentifier(entity)] = leading }
        }
        return found
    }
}

extension Relationship {
    /// Whether the deletion of its target leaves the reference as it is.
    var isTakenBackByNoRule: Bool { settledInverse.map { $0.deleteRule == .noAction } ?? true }
}

extension ManagedObject {
    /// Whether an unsaved change of a to-one relationship leads to one of the objects.
    fileprivate func wasLed(by relationship: Relationship, to sought: Set<ObjectIdentifier>) -> Bool {
        let slot = Int(relationship.slot)
        guard !relationship.isToMany, let overlay, overlay.isChanged(slot),
            case .object(let target as ManagedObject) = overlay[slot]
        else { return false }
        return sought.contains(ObjectIdentifier(target))
    }

    /// The members of a to-many relationship, if they were ever asked for.
    fileprivate func keptMembers(_ relationship: Relationship) -> ToManyRelationship? {
        guard relationship.isToMany else { return nil }
        return toMany(ordinal: Int(entity.layout.slots[Int(relationship.slot)].ordinal))
    }
}
