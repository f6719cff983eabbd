import CorestoneValues

extension Entity {
    /// Entities that inherit from each other in a row, the root included.
    public static let maximumInheritance = 128

    /// The entity and those that it inherits from, the root first.
    private var lineage: [Entity] { sequence(first: self, next: \.parent).reversed() }

    /// Own and inherited attributes and relationships at any time, parents' first.
    public var allProperties: [Property] {
        lineage.flatMap(\.ownProperties)
    }

    /// Own attributes and relationships, in order of creation.
    var ownProperties: [Property] {
        (ownAttributes as [Property] + ownRelationships as [Property]).sorted { $0.ordinal < $1.ordinal }
    }

    /// Own and inherited relationships that lead to an entity itself, at any time.
    public func relationships(to destination: Entity) -> [Relationship] {
        allProperties.compactMap { $0 as? Relationship }.filter { $0.destination === destination }
    }

    /// Own and inherited fetched properties, parents' first.
    public var fetchedProperties: [FetchedProperty] { lineage.flatMap(\.ownFetchedProperties) }

    /// A fetched property by name, inherited ones included.
    public func fetchedProperty(named name: String) -> FetchedProperty? {
        fetchedProperties.first { $0.name == name }
    }

    /// Whether the entity is `other` or inherits from it.
    public func isKind(of other: Entity) -> Bool {
        var entity: Entity? = self
        while let current = entity {
            if current === other { return true }
            entity = current.parent
        }
        return false
    }

    /// The entity and all that inherit from it, parents first.
    public var withDescendants: [Entity] { [self] + children.flatMap(\.withDescendants) }

    /// Siblings are ordered by name without regard to case, then with it.
    static func sorted(_ siblings: [Entity]) -> [Entity] {
        guard siblings.count > 1 else { return siblings }
        let folded: [(name: Text, entity: Entity)] = siblings.map { (Text($0.name.lowercased()), $0) }
        let sorted = folded.sorted { a, b in a.name == b.name ? a.entity.name < b.entity.name : a.name < b.name }
        return sorted.map(\.entity)
    }
}

// MARK: - The limit

extension Entity {
    /// How many entities inherit from each other down to this one, as far as the limit reaches.
    var lineageCount: Int {
        var (count, entity) = (1, self)
        while let parent = entity.parent, count <= Entity.maximumInheritance { (count, entity) = (count + 1, parent) }
        return count
    }

    func checkInheritance() throws { if lineageCount > Entity.maximumInheritance { throw tooDeep() } }

    /// - Parameter newParent: the entity that would be one too many; nil if the entity has too many already.
    func tooDeep(below newParent: Entity? = nil) -> CoreError {
        let complaint =
            newParent.map { "\(name) cannot inherit from \($0.name), because it would have" } ?? "\(name) has"
        return modelError(
            "\(complaint) more than \(Entity.maximumInheritance - 1) superentities, which is the limit; flatten the "
                + "inheritance", entity: name)
    }
}
