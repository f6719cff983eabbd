import CorestoneModel
import CorestoneValues

extension Context {
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
            try loadMembers(of: relationship, owners: known, includingRows: true)
            return unique(try known.flatMap { try $0.toMany(relationship).all() })
        }
        try loadRows(of: known)
        let targets = try prefetchedTargets(of: relationship, known)
        try loadRows(of: targets)
        return targets
    }

    /// The distinct targets of a to-one relationship, kept by their sources, without making the sources look accessed.
    private func prefetchedTargets(of relationship: Relationship, _ objects: [ManagedObject]) throws -> [ManagedObject]
    {
        let slot = Int(relationship.slot)
        var targets: [ManagedObject] = []
        defer { for target in targets { target.state.remove(.collected) } }
        // Most fetches have objects of one entity and one store, whose targets stand in one table: no reference is taken on
        // the way to a target but the one that its source keeps.
        guard let first = objects.first, let store = first.store else {
            return try prefetchedTargetsOneByOne(of: relationship, objects)
        }
        let entity = first.entity
        let layout = entity.layout.slots[slot]
        let table = tables[tableIndex(store: store, root: relationship.destination.root)].table
        try objects.withUnsafeBufferPointer { buffer in
            try buffer.withMemoryRebound(to: Unmanaged<ManagedObject>.self) { references in
                for reference in references {
                    let target = try reference._withUnsafeGuaranteedRef { object -> Unmanaged<ManagedObject>? in
                        if let overlay = object.overlay, overlay.isChanged(slot) {
                            return try object.target(of: relationship).map(Unmanaged.passUnretained)
                        }
                        // A subentity's records have another layout.
                        if object.entity === entity, let known = object.keepKnownTarget(slot, layout, table, store) {
                            return known
                        }
                        return try object.toOneTarget(slot, object.entity.layout.slots[slot])
                    }
                    guard let target else { continue }
                    let isFirst = target._withUnsafeGuaranteedRef { target in
                        target.state.insert(.collected).inserted
                    }
                    if isFirst { targets.append(target.takeUnretainedValue()) }
                }
            }
        }
        return targets
    }

    private func prefetchedTargetsOneByOne(
        of relationship: Relationship, _ objects: [ManagedObject]
    ) throws -> [ManagedObject] {
        unique(try objects.compactMap { try $0.target(of: relationship) })
    }

    private func unique(_ objects: [ManagedObject]) -> [ManagedObject] {
        var list = ObjectList()
        for object in objects { _ = list.append(object) }
        return list.objects
    }
}
