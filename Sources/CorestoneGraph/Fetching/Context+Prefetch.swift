import CorestoneModel
import CorestoneValues

extension Context {
    /// Reads who the members of a to-many relationship are, one query for all objects; members without rows stay faults.
    public func loadMembers(of name: String, of objects: [ManagedObject], entity: Entity) throws {
        try checkQueue()
        let property = try entity.requireProperty(named: name)
        guard let relationship = property as? Relationship, relationship.isToMany else {
            let remedy = property is Relationship ? "prefetch it in the fetch of its objects" : "read its value instead"
            throw CoreError(
                .typeMismatch,
                "\(entity.name).\(name) is \(property.kindPhrase), not a to-many relationship; \(remedy)",
                entity: entity.name, key: name)
        }
        try loadMembers(of: relationship, owners: objects.filter { $0.entity.isKind(of: relationship.entity) })
    }

    /// Reads the targets along each key path, one query for each relationship and a thousand objects.
    func prefetch(_ keyPaths: [String], of objects: [ManagedObject], entity: Entity) throws {
        for keyPath in keyPaths {
            var (sources, current) = (objects, entity)
            let names = keyPath.split(separator: ".").map(String.init)
            for (place, name) in names.enumerated() {
                let property = try current.requireProperty(named: name)
                guard let relationship = property as? Relationship else {
                    throw CoreError(
                        .invalidArgument,
                        "cannot prefetch \"\(keyPath)\": \(current.name).\(name) is \(property.kindPhrase), not a "
                            + "relationship; leave it out",
                        entity: current.name, key: name)
                }
                sources = try prefetch(relationship, of: sources, leadsOn: place < names.count - 1)
                current = relationship.destination
            }
        }
    }

    /// Returns the targets if the path leads on from them.
    private func prefetch(
        _ relationship: Relationship, of objects: [ManagedObject], leadsOn: Bool
    ) throws -> [ManagedObject] {
        let source = relationship.entity
        let known =
            objects.allUnretained { $0.entity === source } ? objects : objects.filter { $0.entity.isKind(of: source) }
        if relationship.isToMany {
            // A member of many owners would come with its row once for each of them.
            let isShared = relationship.inverse?.isToMany ?? true
            let isComplete = try loadMembers(of: relationship, owners: known, rows: isShared ? .apart : .joined)
            if !leadsOn && (isComplete || !isShared) { return [] }
            let members = prefetchedMembers(of: relationship, known)
            if isShared { try loadRows(of: members) }
            return members
        }
        try loadRows(of: known)
        let targets = try prefetchedTargets(of: relationship, known)
        try loadRows(of: targets)
        return targets
    }

    /// The distinct members of a to-many relationship that was loaded.
    private func prefetchedMembers(of relationship: Relationship, _ objects: [ManagedObject]) -> [ManagedObject] {
        let slot = Int(relationship.slot)
        var members = DistinctObjects()
        defer { members.end() }
        objects.forEachUnretained { reference in
            reference._withUnsafeGuaranteedRef { object in
                let keeper = object.nearToMany(ordinal: Int(object.entity.layout.slots[slot].ordinal))
                keeper?._withUnsafeGuaranteedRef { $0.knownMembers.forEachUnretained { members.take($0) } }
            }
        }
        return members.list
    }

    /// The distinct targets of a to-one relationship, kept by their sources, without making the sources look accessed.
    private func prefetchedTargets(of relationship: Relationship, _ objects: [ManagedObject]) throws -> [ManagedObject]
    {
        guard let first = objects.first else { return [] }
        let slot = Int(relationship.slot)
        // Most fetches have objects of one entity and one store, whose targets stand in one table: no reference is taken on
        // the way to a target but the one that its source keeps.
        let (entity, store) = (first.entity, first.store)
        let layout = entity.layout.slots[slot]
        let table = identityMap.table(store: store, root: relationship.destination.root)
        var targets = DistinctObjects()
        defer { targets.end() }
        try objects.forEachUnretained { reference in
            let target = try reference._withUnsafeGuaranteedRef { object -> Unmanaged<ManagedObject>? in
                if let overlay = object.overlay, overlay.isChanged(slot) {
                    return try object.target(of: relationship).map(Unmanaged.passUnretained)
                }
                // A subentity's records have another layout, and an object of another store has other targets.
                if object.entity === entity, object.store === store,
                    let known = object.keepRegisteredTarget(slot, layout, table, self)
                {
                    return known
                }
                return try object.toOneTarget(slot, object.entity.layout.slots[slot])
            }
            if let target { targets.take(target) }
        }
        return targets.list
    }
}
