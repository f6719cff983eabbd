import CorestoneValues

extension Entity {
    /// The maximum depth of an entity tree, counting the root.
    public static let maximumInheritance = 128

    /// The entity and its superentities, root first.
    private var lineage: [Entity] { sequence(first: self, next: \.parent).reversed() }

    /// The own and inherited attributes and relationships, those of superentities first.
    ///
    /// The model does not have to be frozen.
    public var allProperties: [Property] {
        lineage.flatMap(\.ownProperties)
    }

    /// The own attributes and relationships, in order of creation.
    var ownProperties: [Property] {
        (ownAttributes as [Property] + ownRelationships as [Property]).sorted { $0.ordinal < $1.ordinal }
    }

    /// Returns own and inherited relationships whose destination is exactly the given entity.
    ///
    /// The model does not have to be frozen.
    public func relationships(to destination: Entity) -> [Relationship] {
        allProperties.compactMap { $0 as? Relationship }.filter { $0.destination === destination }
    }

    /// The own and inherited fetched properties, those of superentities first.
    public var fetchedProperties: [FetchedProperty] { lineage.flatMap(\.ownFetchedProperties) }

    /// Returns a fetched property by name, own or inherited.
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

    /// The entity and all of its subentities, in preorder.
    public var withDescendants: [Entity] { [self] + children.flatMap(\.withDescendants) }

    /// Sorts siblings by name without regard to case, then by case.
    static func sorted(_ siblings: [Entity]) -> [Entity] {
        guard siblings.count > 1 else { return siblings }
        let folded: [(name: Text, entity: Entity)] = siblings.map { (Text($0.name.lowercased()), $0) }
        let sorted = folded.sorted { a, b in a.name == b.name ? a.entity.name < b.entity.name : a.name < b.name }
        return sorted.map(\.entity)
    }
}

// MARK: - The limit

extension Entity {
    /// The number of entities from the root to this one. Counting stops just beyond the limit.
    var lineageCount: Int {
        var (count, entity) = (1, self)
        while let parent = entity.parent, count <= Entity.maximumInheritance { (count, entity) = (count + 1, parent) }
        return count
    }

    func checkInheritance() throws { if lineageCount > Entity.maximumInheritance { throw tooDeep() } }

    /// Creates the error for an entity tree that is too deep.
    ///
    /// - Parameter newParent: the superentity that would exceed the limit; nil if the limit is already exceeded.
    func tooDeep(below newParent: Entity? = nil) -> CoreError {
        let complaint =
            newParent.map { "\(name) cannot inherit from \($0.name), because \(name) would have" } ?? "\(name) has"
        return modelError(
            "\(complaint) more than \(Entity.maximumInheritance - 1) superentities, which is the limit; flatten the "
                + "inheritance", entity: name)
    }
}
