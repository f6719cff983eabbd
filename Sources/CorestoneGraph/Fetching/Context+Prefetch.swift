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
        let known = objects.filter { $0.entity.isKind(of: relationship.entity) }
        if relationship.isToMany {
            try loadMembers(of: relationship, owners: known, includingRows: true)
            return unique(try known.flatMap { try $0.toMany(relationship).all() })
        }
        try loadRows(of: known)
        let targets = unique(try known.compactMap { try prefetchedTarget(of: relationship, $0) })
        try loadRows(of: targets)
        return targets
    }

    /// The target of a to-one relationship, kept by its source, without making the source look accessed.
    private func prefetchedTarget(of relationship: Relationship, _ object: ManagedObject) throws -> ManagedObject? {
        let slot = Int(relationship.slot)
        if let overlay = object.overlay, overlay.isChanged(slot) { return try object.target(of: relationship) }
        return try object.toOneTarget(slot, object.entity.layout.slots[slot])?.takeUnretainedValue()
    }

    private func unique(_ objects: [ManagedObject]) -> [ManagedObject] {
        var list = ObjectList()
        for object in objects { _ = list.append(object) }
        return list.objects
    }
}
