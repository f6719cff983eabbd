import CorestoneValues

/// The correspondence between two versions of a model, inferred from names and renaming identifiers.
///
/// The rules are those of Core Data. Each entity of both models has an identifier: its renaming identifier, or else its
/// name. Entities with the same identifier correspond. Within such a pair, properties correspond by the same rule,
/// including inherited ones, or by name if the entities have the same name and version hash. Identifiers are canonical:
/// every later version keeps the first name.
///
/// Immutable and thread-safe. Both models are frozen.
public struct ModelMapping: Sendable {
    public let source: Model
    public let destination: Model
    /// The entities of the destination in its preorder, then the removed ones in the preorder of the source.
    public let entities: [EntityPair]
    /// The warnings for users about renames that are probably chained and would lose values.
    public let warnings: [String]
    /// The index of the pair in `entities`, by the index of the destination's entity.
    private let byDestination: [Int]
    /// The index of the pair in `entities`, by the index of the source's entity.
    private let bySource: [Int]

    init(source: Model, destination: Model, entities: [EntityPair], warnings: [String]) {
        self.source = source
        self.destination = destination
        self.entities = entities
        self.warnings = warnings
        var (forward, backward) = ([Int](repeating: -1, count: source.entities.count), [Int]())
        backward = [Int](repeating: -1, count: destination.entities.count)
        for (place, pair) in entities.enumerated() {
            if let entity = pair.source { forward[Int(entity.index)] = place }
            if let entity = pair.destination { backward[Int(entity.index)] = place }
        }
        (bySource, byDestination) = (forward, backward)
    }

    /// Returns the pair of an entity of the destination.
    public func pair(to entity: Entity) -> EntityPair { entities[byDestination[Int(entity.index)]] }
    /// Returns the pair of an entity of the source.
    public func pair(from entity: Entity) -> EntityPair { entities[bySource[Int(entity.index)]] }
    /// Returns the source of an entity of the destination; nil for an added entity.
    public func source(of entity: Entity) -> Entity? { pair(to: entity).source }
    /// Returns the destination of an entity of the source; nil for a removed entity.
    public func destination(of entity: Entity) -> Entity? { pair(from: entity).destination }

    /// Returns the roots of the destination's entity trees that receive rows of a source tree.
    ///
    /// The list is empty if all entities of the tree were removed.
    public func destinationRoots(ofTree root: Entity) -> [Entity] {
        var roots: [Entity] = []
        for entity in root.withDescendants {
            if let top = destination(of: entity)?.root, !roots.contains(where: { $0 === top }) { roots.append(top) }
        }
        return roots
    }

    /// Returns the root of the only tree of the source whose rows a tree of the destination receives.
    ///
    /// Returns nil for an added tree.
    public func sourceRoot(ofTree root: Entity) -> Entity? {
        root.withDescendants.lazy.compactMap { source(of: $0)?.root }.first
    }

    /// Whether a migration only replaces the model in the store.
    public var isIdentity: Bool { entities.allSatisfy { $0.kind == .copy } }
}

/// An entity of one version of a model and its counterpart in the other one.
public struct EntityPair: Sendable {
    /// The kinds of entity mappings that can be inferred, with Core Data's numbers.
    public enum Kind: Int64, Sendable {
        case add = 2
        case remove = 3
        /// Both entities have the same name and version hash.
        case copy = 4
        case transform = 5
    }

    /// The source; nil for an added entity.
    public let source: Entity?
    /// The destination; nil for a removed entity.
    public let destination: Entity?
    public let kind: Kind
    /// The persistent properties of both entities, in the order of the destination's slots.
    ///
    /// Inherited properties and elements of composite attributes are included.
    public let properties: [PropertyPair]
    /// The persistent properties of the destination without a source.
    public let added: [Property]
    /// The persistent properties of the source without a destination.
    public let removed: [Property]

    /// Returns the pair of a property of the destination; nil for an added one.
    public func pair(to property: Property) -> PropertyPair? { properties.first { $0.destination === property } }
    /// Returns the pair of a property of the source; nil for a removed one.
    public func pair(from property: Property) -> PropertyPair? { properties.first { $0.source === property } }
}

/// A persistent property of one version of an entity and its counterpart in the other one.
public struct PropertyPair: Sendable {
    public let source: Property
    public let destination: Property

    public var isRenamed: Bool { source.path != destination.path }
    /// The types of the two attributes, if they differ; otherwise nil.
    public var typeChange: (from: AttributeType, to: AttributeType)? {
        guard let from = source as? Attribute, let to = destination as? Attribute, from.type != to.type else {
            return nil
        }
        return (from.type, to.type)
    }
}

extension Entity {
    /// The name by which entities of two versions correspond.
    package var canonicalName: String { renamingIdentifier.flatMap { $0.isEmpty ? nil : $0 } ?? name }
}

extension Property {
    /// The name by which properties of two versions correspond.
    package var canonicalName: String { renamingIdentifier.flatMap { $0.isEmpty ? nil : $0 } ?? name }
}
