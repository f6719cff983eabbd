import CorestoneModel
import CorestoneValues

// References that no delete rule takes back: those without inverse, whose target does not know them, and those whose inverse has the
// rule No Action. An object that ends unsaved is looked for in the changes of the others. No row can name it, so those are the only
// place where it can be.
extension Context {
    /// Has changed objects let go of objects that end before they were ever saved: to-one references become nil, lists lose a member.
    /// Both are changes of the event that runs, and undone with the deletion.
    func letGoOneSided(of ending: [ManagedObject]) throws {
        try forEachOneSidedReference(to: ending) { holder, relationship, _ in
            try holder.writeTarget(nil, relationship)
        } member: {
            _, _, keeper, member in
            keeper.drop(member)
        }
    }

    /// Has what leads to an unsaved object lead to another one, which stands for it from now on.
    func redirectOneSided(from former: ManagedObject, to other: ManagedObject) throws {
        try forEachOneSidedReference(to: [former]) { holder, relationship, _ in
            try holder.writeTarget(other, relationship)
        } member: { holder, relationship, keeper, member in
            keeper.drop(member)
            _ = try holder.add(other, to: relationship)
        }
    }

    /// - Parameters:
    ///   - target: called for each holder and to-one relationship that leads to one of the objects.
    ///   - member: called for each holder and list that one of them was added to.
    private func forEachOneSidedReference(
        to objects: [ManagedObject], target: (ManagedObject, Relationship, ManagedObject) throws -> Void,
        member: (ManagedObject, Relationship, ToManyRelationship, ManagedObject) throws -> Void
    ) throws {
        if objects.isEmpty { return }
        var known: [ObjectIdentifier: [Relationship]] = [:]
        for entity in coordinator.model.entities {
            let leading = entity.relationships.filter { relationship in
                relationship.isTakenBackByNoRule && objects.contains { $0.entity.isKind(of: relationship.destination) }
            }
            if !leading.isEmpty { known[ObjectIdentifier(entity)] = leading }
        }
        if known.isEmpty { return }
        let sought = Set(objects.map(ObjectIdentifier.init))
        for holder in insertedList + updatedList where holder.state.isDisjoint(with: [.gone, .propagated]) {
            for relationship in known[ObjectIdentifier(holder.entity)] ?? [] {
                // A holder whose row is gone is not saved, and nothing is asked of it.
                _ = try holder.unlessGhost {
                    if let found = holder.changedReference(relationship, to: sought) {
                        try target(holder, relationship, found)
                    }
                    guard relationship.isToMany,
                        let keeper = holder.toMany(
                            ordinal: Int(holder.entity.layout.slots[Int(relationship.slot)].ordinal))
                    else { return }
                    for found in keeper.addedMembers where sought.contains(ObjectIdentifier(found)) {
                        try member(holder, relationship, keeper, found)
                    }
                }
            }
        }
    }
}

extension Relationship {
    /// Whether the deletion of its target leaves the reference as it is.
    var isTakenBackByNoRule: Bool { settledInverse.map { $0.deleteRule == .noAction } ?? true }
}

extension ManagedObject {
    fileprivate func changedReference(_ relationship: Relationship, to sought: Set<ObjectIdentifier>) -> ManagedObject?
    {
        let slot = Int(relationship.slot)
        guard !relationship.isToMany, let overlay, overlay.isChanged(slot),
            case .object(let target as ManagedObject) = overlay[slot], sought.contains(ObjectIdentifier(target))
        else { return nil }
        return target
    }
}
