import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// Key paths that lead from an entity's objects to others whose changes concern them.
struct DependencyPaths {
    private struct Path {
        /// From the entity on.
        let relationships: [Relationship]
        /// The property of the object that the last of them leads to; nil when any is meant.
        let last: Property?
        /// Whether a change of what it leads to is an update; else it may only change the place of the object.
        let isDeclared: Bool

        /// The slot of what matters of an object that some of the relationships lead to.
        func slot(after step: Int) -> Int? {
            step + 1 < relationships.count ? Int(relationships[step + 1].slot) : last.map { Int($0.slot) }
        }
    }

    private var paths: [Path] = []
    private let request: FetchRequest

    var isEmpty: Bool { paths.isEmpty }

    /// - Parameter declared: beside those that the predicate, the order and the sections of a request follow anyway.
    /// - Throws: `.invalidArgument` for a path that leads nowhere, or along a relationship without an inverse.
    init(_ declared: [String], of request: FetchRequest, _ naming: SectionNaming?) throws {
        self.request = request
        for path in declared { try add(KeyPath(path), isDeclared: true) }
        var own = request.sortDescriptors.map(\.path) + (request.predicate?.keyPaths ?? [])
        if let path = naming?.keyPath { own.append(KeyPath(path)) }
        // What cannot be followed back is no mistake of who wrote a predicate.
        for path in own { try? add(path, isDeclared: false) }
    }

    private mutating func add(_ keyPath: KeyPath, isDeclared: Bool) throws {
        let (relationships, last) = try DependencyPaths.relationships(of: keyPath, from: request.entity)
        if relationships.isEmpty { return }
        for relationship in relationships where relationship.inverse == nil {
            throw CoreError(
                .invalidArgument,
                "cannot observe changes along \(relationship.entity.name).\(relationship.name), which has no inverse "
                    + "relationship; add one in the model", entity: relationship.entity.name, key: relationship.name)
        }
        paths.append(Path(relationships: relationships, last: last, isDeclared: isDeclared))
    }

    private static func relationships(of path: KeyPath, from entity: Entity) throws -> ([Relationship], Property?) {
        var (found, entity) = ([Relationship](), entity)
        for key in path.keys where !key.isOperator {
            let property = try entity.property(named: key.text) ?? requireBelow(entity, key.text)
            guard let relationship = property as? Relationship else { return (found, property) }
            found.append(relationship)
            entity = relationship.destination
        }
        return (found, nil)
    }

    /// A property that only entities have that inherit from this one.
    private static func requireBelow(_ entity: Entity, _ name: String) throws -> Property {
        for heir in entity.withDescendants { if let property = heir.property(named: name) { return property } }
        return try entity.requireProperty(named: name)
    }

    func mayConcern(_ entity: Entity) -> Bool {
        paths.contains { $0.relationships.contains { entity.isKind(of: $0.destination) } }
    }

    /// Whether others deleted members of a to-many relationship of a path: whose they were, nothing tells for certain.
    func mayHaveLost(_ merged: [ChangedIDs]) -> Bool {
        let relationships = paths.flatMap(\.relationships).filter(\.isToMany)
        if relationships.isEmpty { return false }
        return merged.contains { ids in
            ids.deleted.contains { id in relationships.contains { id.entity.isKind(of: $0.destination) } }
        }
    }

    /// Every object of the request's entity from which a path leads to an object, or through it, and whether that is an update.
    /// - Parameter slots: the properties of the object that changed; nil when that is not known.
    func forEachOwner(
        of object: ManagedObject, _ slots: Set<Int>? = nil, _ body: (ManagedObject, _ isUpdate: Bool) -> Void
    ) throws {
        if !mayConcern(object.entity) || object.isGone || object.isDeleted { return }
        for path in paths {
            for (step, relationship) in path.relationships.enumerated()
            where object.entity.isKind(of: relationship.destination) {
                if let slots, let slot = path.slot(after: step), !slots.contains(slot) { continue }
                var owners = [object]
                for back in path.relationships[...step].reversed() {
                    guard let inverse = back.inverse, let context = object.context else { break }
                    owners = try owners.filter { $0.entity.isKind(of: inverse.entity) }.flatMap { owner in
                        try owner.unlessGhost { try context.targets(of: inverse, owner) } ?? []
                    }
                }
                for owner in owners where !owner.isDeleted && request.concerns(owner) { body(owner, path.isDeclared) }
            }
        }
    }
}
