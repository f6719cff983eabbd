import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// Key paths from the objects of an entity to related objects whose changes affect the results.
struct DependencyPaths {
    /// A key path as a list of relationships and a final property.
    private struct Path {
        /// The relationships of the path, beginning at the entity.
        let relationships: [Relationship]
        /// The property after the last relationship; nil if any property of the target counts.
        let last: Property?
        /// Whether the application declared the path, so that a change of the target counts as an update of the object.
        ///
        /// Otherwise, such a change can only insert, delete or move the object.
        let isDeclared: Bool

        /// Returns the slot of the property that follows a relationship of the path; nil if any property counts.
        func slot(after step: Int) -> Int? {
            step + 1 < relationships.count ? Int(relationships[step + 1].slot) : last.map { Int($0.slot) }
        }
    }

    private var paths: [Path] = []
    private let request: FetchRequest

    var isEmpty: Bool { paths.isEmpty }

    /// Creates the paths.
    ///
    /// - Parameter declared: Paths in addition to those of the predicate, the order and the sections of the request.
    /// - Throws: `.invalidArgument` for a declared path with an unknown property, or with a relationship without an
    ///   inverse.
    init(_ declared: [String], of request: FetchRequest, _ naming: SectionNaming?) throws {
        self.request = request
        for path in declared { try add(KeyPath(path), isDeclared: true) }
        var own = request.sortDescriptors.map(\.path) + (request.predicate?.keyPaths ?? [])
        if let path = naming?.keyPath { own.append(KeyPath(path)) }
        // An undeclared path that cannot be observed, for example because a relationship does not have an inverse, is
        // ignored.
        for path in own { try? add(path, isDeclared: false) }
    }

    private mutating func add(_ keyPath: KeyPath, isDeclared: Bool) throws {
        let (relationships, last) = try DependencyPaths.relationships(of: keyPath, from: request.entity)
        if relationships.isEmpty { return }
        for relationship in relationships where relationship.inverse == nil {
            throw CoreError(
                .invalidArgument,
                "cannot observe changes along \(relationship.entity.name).\(relationship.name), which does not have an "
                    + "inverse relationship; add one in the model", entity: relationship.entity.name,
                key: relationship.name, value: .string(keyPath.text))
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

    /// Returns the property that a subentity has under a name.
    private static func requireBelow(_ entity: Entity, _ name: String) throws -> Property {
        for subentity in entity.withDescendants {
            if let property = subentity.property(named: name) { return property }
        }
        return try entity.requireProperty(named: name)
    }

    func mayDependOn(_ entity: Entity) -> Bool {
        paths.contains { $0.relationships.contains { entity.isKind(of: $0.destination) } }
    }

    /// Whether merged saves deleted objects that may have been members of a to-many relationship of a path.
    ///
    /// The former owners of these members cannot be determined reliably.
    func mayHaveLost(_ merged: [ChangedIDs]) -> Bool {
        let relationships = paths.flatMap(\.relationships).filter(\.isToMany)
        if relationships.isEmpty { return false }
        return merged.contains { ids in
            ids.deleted.contains { id in relationships.contains { id.entity.isKind(of: $0.destination) } }
        }
    }

    /// Calls `body` with each object of the request's entity that has a path to or through an object.
    ///
    /// The second argument is whether the change of `object` counts as an update of the owner.
    ///
    /// - Parameter slots: The slots of the object's changed properties; nil if they are not known.
    func forEachOwner(
        of object: ManagedObject, _ slots: Set<Int>? = nil, _ body: (ManagedObject, _ isUpdate: Bool) -> Void
    ) throws {
        if !mayDependOn(object.entity) || object.isGone || object.isDeleted { return }
        for path in paths {
            for (step, relationship) in path.relationships.enumerated()
            where object.entity.isKind(of: relationship.destination) {
                if let slots, let slot = path.slot(after: step), !slots.contains(slot) { continue }
                var owners = [object]
                for back in path.relationships[...step].reversed() {
                    guard let inverse = back.inverse else { break }
                    owners = try owners.filter { $0.entity.isKind(of: inverse.entity) }.flatMap { owner in
                        try owner.unlessRowIsMissing { try owner.targets(of: inverse) } ?? []
                    }
                }
                for owner in owners where !owner.isDeleted && request.concerns(owner) { body(owner, path.isDeclared) }
            }
        }
    }
}
