import CorestoneValues

/// The correspondence between two versions of a model, inferred from names and renaming identifiers.
///
/// Core Data's rules: an entity answers to its renaming identifier, or to its name if it has none, in both models; entities with
/// the same one correspond. Within a pair, properties correspond by the same rule, inherited ones included. Identifiers are
/// canonical: every later version keeps the first name.
///
/// Immutable; usable on any thread. Both models are frozen.
public struct ModelMapping: Sendable {
    public let source: Model
    public let destination: Model
    /// The entities of the destination in its preorder, then the removed ones in the preorder of the source.
    public let entities: [EntityPair]
    /// Renames that look chained, so that values are lost: text for users.
    public let warnings: [String]
    /// By the index of the destination's entity.
    private let byDestination: [Int]
    /// By the index of the source's entity.
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

    /// The pair of an entity of the destination.
    public func pair(to entity: Entity) -> EntityPair { entities[byDestination[Int(entity.index)]] }
    /// The pair of an entity of the source.
    public func pair(from entity: Entity) -> EntityPair { entities[bySource[Int(entity.index)]] }
    /// The entity of the source that became this one; nil for an added one.
    public func source(of entity: Entity) -> Entity? { pair(to: entity).source }
    /// The entity of the destination that this one became; nil for a removed one.
    public func destination(of entity: Entity) -> Entity? { pair(from: entity).destination }

    /// The entity of the destination that the rows of a tree of the source went to and that is the top there; nil if all were removed.
    public func destinationRoots(ofTree root: Entity) -> [Entity] {
        var roots: [Entity] = []
        for entity in root.withDescendants {
            if let top = destination(of: entity)?.root, !roots.contains(where: { $0 === top }) { roots.append(top) }
        }
        return roots
    }

    /// The root of the only tree of the source from which rows of a tree of the destination come; nil for an added tree.
    public func sourceRoot(ofTree root: Entity) -> Entity? {
        root.withDescendants.lazy.compactMap { source(of: $0)?.root }.first
    }

    /// Whether a migration has nothing to do but to replace the model in the store.
    public var isIdentity: Bool { entities.allSatisfy { $0.kind == .copy } }
}

/// An entity of one version of a model and the one that it became.
public struct EntityPair: Sendable {
    /// Core Data's kinds of entity mappings that an inferred one can have, with their numbers.
    public enum Kind: Int64, Sendable {
        case add = 2
        case remove = 3
        /// Both have the same version hash.
        case copy = 4
        case transform = 5
    }

    /// nil for an added entity.
    public let source: Entity?
    /// nil for a removed entity.
    public let destination: Entity?
    public let kind: Kind
    /// The stored properties that both have, inherited ones and the elements of composite attributes included, in the order of the
    /// destination's slots.
    public let properties: [PropertyPair]
    /// Stored properties of the destination without a source.
    public let added: [Property]
    /// Stored properties of the source without a destination.
    public let removed: [Property]

    /// The pair of a property of the destination; nil for an added one.
    public func pair(to property: Property) -> PropertyPair? { properties.first { $0.destination === property } }
    /// The pair of a property of the source; nil for a removed one.
    public func pair(from property: Property) -> PropertyPair? { properties.first { $0.source === property } }
}

/// A stored property of one version of an entity and the one that it became.
public struct PropertyPair: Sendable {
    public let source: Property
    public let destination: Property

    public var isRenamed: Bool { source.path != destination.path }
    /// The two attributes, if their types differ.
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
