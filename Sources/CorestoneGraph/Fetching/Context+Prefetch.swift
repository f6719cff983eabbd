import CorestoneModel
import CorestoneValues

extension Context {
    /// Reads who the members of a to-many relationship are, one query for all objects; members without rows stay faults.
    public func loadMembers(of name: String, of objects: [ManagedObject], entity: Entity) throws {
        try checkQueue()
        guard let relationship = try entity.requireProperty(named: name) as? Relationship, relationship.isToMany else {
            throw CoreError(
                .typeMismatch, "\(entity.name).\(name) is no to-many relationship and has no members",
                entity: entity.name, key: name)
        }
        try loadMembers(of: relationship, owners: objects.filter { $0.entity.isKind(of: relationship.entity) })
    }

    /// Reads the targets along each key path, one query for each relationship whatever the number of objects.
    func prefetch(_ keyPaths: [String], of objects: [ManagedObject], entity: Entity) throws {
        for keyPath in keyPaths {
            var (sources, current) = (objects, entity)
            for name in keyPath.split(separator: ".").map(String.init) {
                guard let relationship = try current.requireProperty(named: name) as? Relationship else {
                    throw CoreError(
                        .invalidArgument, "cannot prefetch \(keyPath): \(current.name).\(name) is no relationship",
                        entity: current.name, key: name)
                }
                sources = try prefetch(relationship, of: sources)
                current = relationship.destination
            }
        }
    }

    private func prefetch(_ relationship: Relationship, of objects: [ManagedObject]) throws -> [ManagedObject] {
        let source = relationship.entity
        let known =
            objects.allSatisfy { $0.entity === source } ? objects : objects.filter { $0.entity.isKind(of: source) }
        if relationship.isToMany {
            // A member of many owners would come with its row once for each of them.
            let isShared = relationship.inverse?.isToMany ?? true
            try loadMembers(of: relationship, owners: known, includingRows: !isShared)
            var members = DistinctObjects()
            defer { members.end() }
            for object in known { for member in try object.toMany(relationship).all() { members.take(member) } }
            if isShared { try loadRows(of: members.list) }
            return members.list
        }
        try loadRows(of: known)
        let targets = try prefetchedTargets(of: relationship, known)
        try loadRows(of: targets)
        return targets
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
        let table = tables[tableIndex(store: store, root: relationship.destination.root)].table
        var targets = DistinctObjects()
        defer { targets.end() }
        try objects.withUnsafeBufferPointer { buffer in
            try buffer.withMemoryRebound(to: Unmanaged<ManagedObject>.self) { references in
                for reference in references {
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
            }
        }
        return targets.list
    }
}

/// Objects, each once, in the order in which they came. Known by a mark on each, which `end` takes away.
private struct DistinctObjects {
    private(set) var list: [ManagedObject] = []

    mutating func take(_ object: ManagedObject) { take(Unmanaged.passUnretained(object)) }

    @inline(__always)
    mutating func take(_ object: Unmanaged<ManagedObject>) {
        if object._withUnsafeGuaranteedRef({ $0.state.insert(.collected).inserted }) {
            list.append(object.takeUnretainedValue())
        }
    }

    func end() { for object in list { object.state.remove(.collected) } }
}
