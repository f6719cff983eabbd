import CorestoneModel
import CorestoneValues

/// Options of a clone: related objects and unique values.
public struct CloneOptions: Sendable {
    /// The maximum number of relationship steps to related objects that are cloned too.
    ///
    /// 0 clones only the object.
    public var depth: Int
    /// The relationships whose targets are cloned too; nil for all.
    ///
    /// They are key paths from the object ("lines", "lines.notes"). The prefixes of a path are included too.
    public var including: [String]?
    /// Whether clones have the same values of unique constraints as the originals.
    ///
    /// If not, the properties of a constraint have the initial values of a new object. A constraint that contains a
    /// relationship to another clone is an exception, because equal values do not violate it.
    public var keepsUnique: Bool

    public init(depth: Int = 0, including: [String]? = nil, keepsUnique: Bool = false) {
        self.depth = depth
        self.including = including
        self.keepsUnique = keepsUnique
    }
}

extension ManagedObject {
    /// Returns a new object of the same entity with the values of this one, in the same context.
    ///
    /// Related objects within `options` are cloned too, each only once. The clones refer to each other as the originals
    /// do, in the same order. A clone also refers to the original's other targets, unless the inverse is to-one,
    /// because the original would lose such a target. Derived values and deleted objects are omitted.
    ///
    /// - Throws: `.invalidArgument` if the object is deleted, or if a path of `options` contains an unknown property or
    ///   a property that is not a relationship.
    ///   The store's error if a row cannot be read.
    ///   After an error, the clones are deleted again.
    public func clone(_ options: CloneOptions = CloneOptions()) throws -> ManagedObject {
        try checkQueue()
        let cloning = Cloning(options)
        try cloning.collect(from: self)
        return try cloning.run()
    }
}

/// One clone operation, which proceeds level by level from its object.
private final class Cloning {
    private let options: CloneOptions
    private let included: Set<String>?
    private var originals = ObjectList()
    private var clones: [ManagedObject] = []

    init(_ options: CloneOptions) {
        self.options = options
        included = options.including.map { paths in
            var all = Set<String>()
            for path in paths {
                for end in path.indices where path[end] == "." { all.insert(String(path[..<end])) }
                all.insert(path)
            }
            return all
        }
    }

    // MARK: Finding the originals

    func collect(from object: ManagedObject) throws {
        if object.isDeleted {
            throw CoreError(
                .invalidArgument,
                "\(object.entity.name) \(object.objectID.uri) is deleted and cannot be cloned; "
                    + object.deletionRemedy,
                entity: object.entity.name, objectURI: object.objectID.uri)
        }
        for path in options.including ?? [] { try check(path, of: object) }
        _ = originals.append(object)
        var level = [(object: object, path: "")]
        var depth = included.map { $0.reduce(0) { max($0, $1.utf8.count { $0 == UInt8(ascii: ".") } + 1) } } ?? .max
        depth = min(depth, options.depth)
        while depth > 0, !level.isEmpty {
            level = try next(level)
            depth -= 1
        }
    }

    private func check(_ path: String, of object: ManagedObject) throws {
        var entity = object.entity
        for name in path.split(separator: ".", omittingEmptySubsequences: false) {
            let property = try entity.requireProperty(named: String(name))
            guard let relationship = property as? Relationship else {
                throw CoreError(
                    .invalidArgument,
                    "\(entity.name).\(name) in the key path \"\(path)\" is \(property.kindPhrase); leave the property out, "
                        + "because \"including\" takes relationships only", entity: entity.name, key: String(name),
                    value: .string(path), objectURI: object.objectID.uri)
            }
            entity = relationship.destination
        }
    }

    /// Returns the related objects of a level that were not found before, and adds them to the originals.
    private func next(_ level: [(object: ManagedObject, path: String)]) throws -> [(
        object: ManagedObject, path: String
    )] {
        try load(level.map(\.object))
        var found: [(object: ManagedObject, path: String)] = []
        for (object, path) in level {
            for relationship in object.entity.relationships {
                let path = path.isEmpty ? relationship.name : "\(path).\(relationship.name)"
                if included?.contains(path) == false { continue }
                for target in try object.related(relationship) where originals.append(target) {
                    found.append((target, path))
                }
            }
        }
        return found
    }

    /// Loads the rows of objects and the members of their relationships in batches.
    private func load(_ objects: [ManagedObject]) throws {
        guard let context = objects[0].context else { return }
        try context.faultLoader.loadRows(of: objects)
        for group in Dictionary(grouping: objects.filter({ !$0.isInserted }), by: { ObjectIdentifier($0.entity) })
            .values
        {
            for relationship in group[0].entity.relationships where relationship.isToMany {
                try context.faultLoader.loadMembers(of: relationship, owners: group)
            }
        }
    }

    // MARK: Making the clones

    func run() throws -> ManagedObject {
        do {
            for original in originals.objects { clones.append(try copyAttributes(of: original)) }
            for (original, clone) in zip(originals.objects, clones) { try connect(clone, like: original) }
        } catch {
            for clone in clones { deleteClone(clone) }
            throw error
        }
        return clones[0]
    }

    /// Deletes a clone after a failure.
    ///
    /// The clone's relationships are emptied first, so that no delete rule affects their targets.
    private func deleteClone(_ clone: ManagedObject) {
        for relationship in clone.entity.relationships {
            if relationship.isToMany {
                try? clone.setMembers([], key: relationship.key)
            } else {
                try? clone.setTarget(nil, of: relationship)
            }
        }
        try? clone.context?.delete(clone)
    }

    private func copyAttributes(of original: ManagedObject) throws -> ManagedObject {
        let entity = original.entity
        let clone = try original.context?.insert(entity) ?? ManagedObject(entity: entity)
        let unique = options.keepsUnique ? [] : uniqueNames(original)
        for slot in 0..<Int(entity.slotCount) {
            let layout = entity.layout.slots[slot]
            guard layout.role == .attribute || layout.role == .external || layout.role == .transient,
                !layout.conditions.contains(.derived), let attribute = entity.properties[slot] as? Attribute,
                !unique.contains(attribute.path), !unique.contains(attribute.composite?.path ?? "")
            else { continue }
            clone.write(try original.value(slot: slot), slot)
        }
        return clone
    }

    /// Returns the properties whose values a clone omits: those of constraints that equal values would violate.
    ///
    /// A constraint is not violated if it contains a relationship to another clone.
    private func uniqueNames(_ original: ManagedObject) -> Set<String> {
        var names = Set<String>()
        for (_, constraint) in original.entity.allUniqueConstraints {
            let refersElsewhere = constraint.contains { key in
                guard let relationship = original.entity.property(named: key) as? Relationship, !relationship.isToMany,
                    let target = try? original.target(of: relationship)
                else { return false }
                return originals.contains(target)
            }
            if !refersElsewhere { names.formUnion(constraint) }
        }
        return names
    }

    private func connect(_ clone: ManagedObject, like original: ManagedObject) throws {
        for relationship in original.entity.relationships {
            let targets = try original.related(relationship).compactMap { clonedOrShared($0, relationship) }
            if relationship.isToMany {
                if !targets.isEmpty { try clone.setMembers(targets, key: relationship.key) }
            } else if let target = targets.first {
                try clone.setTarget(target, of: relationship)
            }
        }
    }

    /// Returns the clone's target for a target of the original; nil if the original would lose the target.
    private func clonedOrShared(_ target: ManagedObject, _ relationship: Relationship) -> ManagedObject? {
        if let place = originals.place(of: target) { return clones[place] }
        guard let inverse = relationship.inverse else { return target }
        return inverse.isToMany ? target : nil
    }
}

extension ManagedObject {
    /// Returns the targets of a relationship that are not deleted.
    fileprivate func related(_ relationship: Relationship) throws -> [ManagedObject] {
        let targets =
            relationship.isToMany
            ? try toMany(relationship).all() : try target(of: relationship).map { [$0] } ?? []
        return targets.filter { !$0.isDeleted && !$0.isGone }
    }
}
