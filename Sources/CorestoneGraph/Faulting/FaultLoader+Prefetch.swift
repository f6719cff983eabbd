import CorestoneModel
import CorestoneValues

extension FaultLoader {
    /// Loads the targets along each key path, for all objects together.
    func prefetch(_ keyPaths: [String], of objects: [ManagedObject], entity: Entity) throws {
        for keyPath in keyPaths {
            var (sources, current) = (objects, entity)
            let names = keyPath.split(separator: ".").map(String.init)
            for (place, name) in names.enumerated() {
                let property = try current.requireProperty(named: name)
                guard let relationship = property as? Relationship else {
                    let remedy = place == 0 ? "leave the key path out" : "end the key path before it"
                    throw CoreError(
                        .invalidArgument,
                        "cannot prefetch \"\(keyPath)\": \(current.name).\(name) is \(property.kindPhrase), not a "
                            + "relationship; \(remedy)",
                        entity: current.name, key: name)
                }
                sources = try prefetch(relationship, of: sources, pathContinues: place < names.count - 1)
                current = relationship.destination
            }
        }
    }

    /// Prefetches one relationship. Returns the targets if the key path continues.
    private func prefetch(
        _ relationship: Relationship, of objects: [ManagedObject], pathContinues: Bool
    ) throws -> [ManagedObject] {
        let source = relationship.entity
        let known =
            objects.allUnretained { $0.entity === source } ? objects : objects.filter { $0.entity.isKind(of: source) }
        if relationship.isToMany {
            // In a joined query, the row of a member with many owners would be repeated for each owner.
            let isShared = relationship.inverse?.isToMany ?? true
            let isComplete = try loadMembers(of: relationship, owners: known, rows: isShared ? .apart : .joined)
            if !pathContinues && (isComplete || !isShared) { return [] }
            let members = prefetchedMembers(of: relationship, known)
            if isShared { try loadRows(of: members) }
            return members
        }
        try loadRows(of: known)
        let targets = try prefetchedTargets(of: relationship, known)
        try loadRows(of: targets)
        return targets
    }

    /// Returns the distinct members of a loaded to-many relationship.
    private func prefetchedMembers(of relationship: Relationship, _ objects: [ManagedObject]) -> [ManagedObject] {
        let slot = Int(relationship.slot)
        var members = DistinctObjects()
        defer { members.end() }
        objects.forEachUnretained { reference in
            reference._withUnsafeGuaranteedRef { object in
                let collection = object.nearToMany(ordinal: Int(object.entity.layout.slots[slot].ordinal))
                collection?._withUnsafeGuaranteedRef { $0.knownMembers.forEachUnretained { members.insert($0) } }
            }
        }
        return members.list
    }

    /// Returns the distinct targets of a to-one relationship. The sources retain the targets.
    private func prefetchedTargets(of relationship: Relationship, _ objects: [ManagedObject]) throws -> [ManagedObject]
    {
        guard let first = objects.first else { return [] }
        let slot = Int(relationship.slot)
        // Most fetches return objects of one entity and one store, whose targets are in one table. For these, a target
        // is retained only once, by its source.
        let (entity, store) = (first.entity, first.store)
        let layout = entity.layout.slots[slot]
        let table = context.identityMap.table(store: store, root: relationship.destination.root)
        var targets = DistinctObjects()
        defer { targets.end() }
        try objects.forEachUnretained { reference in
            let target = try reference._withUnsafeGuaranteedRef { object -> Unmanaged<ManagedObject>? in
                if let overlay = object.overlay, overlay.isChanged(slot) {
                    return try object.target(of: relationship).map(Unmanaged.passUnretained)
                }
                // A subentity's records have another layout, and an object of another store has other targets.
                if object.entity === entity, object.store === store,
                    let known = object.keepRegisteredTarget(slot, layout, table, context)
                {
                    return known
                }
                return try object.toOneTarget(slot, object.entity.layout.slots[slot])
            }
            if let target { targets.insert(target) }
        }
        return targets.list
    }
}
