import CorestoneFormats
import CorestoneValues

/// The changes of types that an inferred migration supports.
public enum TypeChanges: Sendable {
    /// No changes, as in Core Data.
    case refused
    /// The changes that `AttributeType.converts(to:)` supports.
    ///
    /// If a value cannot be converted exactly, the migration fails.
    case exact
}

extension ModelMapping {
    /// Infers the mapping from `source` to `destination`. Freezes both models.
    ///
    /// - Throws: `.migration` (134190) if a change cannot be inferred. The message states the change and a remedy. If
    ///   there are several changes, each is a child.
    ///   Errors of `Model.freeze`.
    public static func inferred(
        from source: Model, to destination: Model, typeChanges: TypeChanges = .refused
    ) throws -> ModelMapping {
        let outcome = try outcome(from: source, to: destination, typeChanges: typeChanges)
        guard outcome.refusals.isEmpty else { throw MappingInference.failure(outcome.refusals.map(\.error)) }
        return outcome.mapping
    }

    /// Returns the mapping as far as it can be inferred, and each change that cannot be inferred.
    ///
    /// - Throws: errors of `Model.freeze`.
    static func outcome(
        from source: Model, to destination: Model, typeChanges: TypeChanges
    ) throws -> (mapping: ModelMapping, refusals: [MappingRefusal]) {
        try source.freeze()
        try destination.freeze()
        var inference = MappingInference(source: source, destination: destination, typeChanges: typeChanges)
        return inference.run()
    }
}

/// A change that cannot be inferred.
struct MappingRefusal {
    enum Kind {
        /// Several parts of a model have the same identifier.
        case ambiguousIdentifier
        case typeChange
        /// Other changes.
        ///
        /// Examples: merged entity trees, a to-many relationship that becomes to-one, another destination.
        case other
    }

    let kind: Kind
    let error: CoreError
}

/// The inference of a mapping: the pairs of entities and properties, and the changes that cannot be inferred.
private struct MappingInference {
    let source: Model
    let destination: Model
    let typeChanges: TypeChanges
    private var refusals: [MappingRefusal] = []
    private var warnings: [String] = []
    /// The paired entities, by the index of the entity in the other model.
    private var sources: [Entity?] = []
    private var destinations: [Entity?] = []
    /// The pairs of properties that were already checked.
    private var comparedPairs: Set<[ObjectIdentifier]> = []

    init(source: Model, destination: Model, typeChanges: TypeChanges) {
        (self.source, self.destination, self.typeChanges) = (source, destination, typeChanges)
        sources = Array(repeating: nil, count: destination.entities.count)
        destinations = Array(repeating: nil, count: source.entities.count)
    }

    mutating func run() -> (mapping: ModelMapping, refusals: [MappingRefusal]) {
        pairEntities()
        checkTrees()
        let hashes = (entityVersionHashes(of: source), entityVersionHashes(of: destination))
        var pairs = destination.preorder.map { entity -> EntityPair in
            guard let former = sources[Int(entity.index)] else {
                return EntityPair(
                    source: nil, destination: entity, kind: .add, properties: [], added: entity.storedProperties,
                    removed: [])
            }
            let isEqual = former.name == entity.name && hashes.0[former.name] == hashes.1[entity.name]
            return pairProperties(former, entity, isEqual: isEqual)
        }
        pairs += source.preorder.filter { destinations[Int($0.index)] == nil }.map { entity in
            EntityPair(
                source: entity, destination: nil, kind: .remove, properties: [], added: [],
                removed: entity.storedProperties)
        }
        let mapping = ModelMapping(source: source, destination: destination, entities: pairs, warnings: warnings)
        return (mapping, refusals)
    }

    static func failure(_ refusals: [CoreError]) -> CoreError {
        let first = refusals[0]
        let message =
            refusals.count == 1
            ? first.message
            : "\(refusals.count) changes of the model, which the details list, cannot be inferred. The first: "
                + "\(first.message)"
        return CoreError(
            .migration, code: .inferredMappingModel, message, entity: first.entity, key: first.key,
            children: refusals.count == 1 ? [] : refusals)
    }

    /// Returns the names as a list for an error message: "a, b and c".
    private static func listed(_ names: [String]) -> String {
        let sorted = sortedByBytes(names)
        return sorted.dropLast().joined(separator: ", ") + " and " + (sorted.last ?? "")
    }

    private mutating func refuse(
        _ message: String, _ entity: String?, _ key: String? = nil, kind: MappingRefusal.Kind = .other
    ) {
        let error = CoreError(.migration, code: .inferredMappingModel, message, entity: entity, key: key)
        refusals.append(MappingRefusal(kind: kind, error: error))
    }
}

// MARK: - Entities

extension MappingInference {
    private mutating func pairEntities() {
        let former = Dictionary(grouping: source.preorder, by: \.canonicalName)
        let wanted = Dictionary(grouping: destination.preorder, by: \.canonicalName)
        for (identifier, entities) in wanted where entities.count > 1 {
            refuse(
                "the entities \(MappingInference.listed(entities.map(\.name))) of the new model have the same identifier "
                    + "\"\(identifier)\" (the renaming identifier, or else the name); change it for all but one of them",
                entities[0].name, kind: .ambiguousIdentifier)
        }
        for entity in destination.preorder {
            guard let candidates = former[entity.canonicalName] else {
                warnIfChained(entity)
                continue
            }
            guard candidates.count == 1 else {
                refuse(
                    "\(MappingInference.listed(candidates.map(\.name))) of the store's model have the same identifier "
                        + "\"\(entity.canonicalName)\" as \(entity.name) in the new model; \(MappingInference.byHand)",
                    entity.name, kind: .ambiguousIdentifier)
                continue
            }
            sources[Int(entity.index)] = candidates[0]
            destinations[Int(candidates[0].index)] = entity
        }
    }

    /// Adds a warning if the entity probably does not have a source because of its identifier.
    ///
    /// An identifier must be the name in the first version. The name in the previous version does not match, and
    /// neither does a changed or missing identifier.
    private mutating func warnIfChained(_ entity: Entity) {
        if let identifier = entity.renamingIdentifier, let named = source.entity(named: identifier) {
            warnings.append(
                "\(entity.name) has the renaming identifier \"\(identifier)\", but \(named.name) has the "
                    + "identifier \"\(named.canonicalName)\", so the objects of \(named.name) are lost; use "
                    + "\"\(named.canonicalName)\"")
        } else if let former = source.entity(named: entity.name), former.canonicalName != entity.canonicalName {
            warnings.append(
                "\(entity.name) has the identifier \"\(former.canonicalName)\" in the store's model, but "
                    + "\"\(entity.canonicalName)\" in the new one, so its objects are lost; use the renaming "
                    + "identifier \"\(former.canonicalName)\"")
        }
    }

    /// Rejects merged entity trees, because primary keys are unique only within a tree.
    private mutating func checkTrees() {
        for root in destination.preorder where root.parent == nil {
            let former = root.withDescendants.compactMap { entity in
                sources[Int(entity.index)].map { (entity, $0.root) }
            }
            guard let first = former.first, let other = former.first(where: { $0.1 !== first.1 }) else { continue }
            refuse(
                "\(first.0.name) and \(other.0.name) belong to the entity tree of \(root.name), but do not have a common superentity "
                    + "in the store's model; \(MappingInference.byHand)", other.0.name)
        }
    }
}

// MARK: - Properties

extension MappingInference {
    /// The remedy for a change that cannot be inferred, for an error message.
    fileprivate static let byHand = "copy the objects into a new store (corestone dump, corestone load)"

    private mutating func pairProperties(_ former: Entity, _ entity: Entity, isEqual: Bool) -> EntityPair {
        var pairs: [PropertyPair] = []
        var added: [Property] = []
        let name = { (property: Property) in isEqual ? property.name : property.canonicalName }
        let candidates = Dictionary(grouping: former.storedTopProperties, by: name)
        let wanted = entity.storedTopProperties
        for (identifier, properties) in Dictionary(grouping: wanted, by: name) where properties.count > 1 {
            refuse(
                "the properties \(MappingInference.listed(properties.map(\.name))) of \(entity.name) have the same identifier "
                    + "\"\(identifier)\" (the renaming identifier, or else the name); change it for all but one of them",
                entity.name, properties[0].name, kind: .ambiguousIdentifier)
        }
        for property in wanted {
            guard let found = candidates[name(property)]?.first else {
                added += property.storedLeaves
                warnIfChained(property, of: entity, former)
                continue
            }
            pair(found, property, of: entity, &pairs, &added)
        }
        let mapped = Set(pairs.map { ObjectIdentifier($0.source) })
        let removed = former.storedTopProperties.flatMap(\.storedLeaves).filter {
            !mapped.contains(ObjectIdentifier($0))
        }
        return EntityPair(
            source: former, destination: entity, kind: isEqual ? .copy : .transform, properties: pairs, added: added,
            removed: removed)
    }

    private mutating func pair(
        _ former: Property, _ property: Property, of entity: Entity, _ pairs: inout [PropertyPair],
        _ added: inout [Property]
    ) {
        // Subentities inherit the pair, which is checked once.
        let isNew = comparedPairs.insert([ObjectIdentifier(former), ObjectIdentifier(property)]).inserted
        switch (former, property) {
        case (let from as Attribute, let to as Attribute) where from.type == .composite && to.type == .composite:
            let elements = Dictionary(
                from.elements.map { ($0.canonicalName, $0) }, uniquingKeysWith: { first, _ in first })
            for element in to.elements {
                if let found = elements[element.canonicalName] {
                    pair(found, element, of: entity, &pairs, &added)
                } else {
                    added += element.storedLeaves
                }
            }
            return
        case (let from as Attribute, let to as Attribute): if isNew { checkType(from, to, entity) }
        case (let from as Relationship, let to as Relationship): if isNew { check(from, to, entity) }
        default:
            if isNew {
                refuse(
                    "\(entity.name).\(property.path) is \(former.kindName) in the store, but \(property.kindName) in the model; rename "
                        + "the property, or \(MappingInference.byHand)", entity.name, property.path)
            }
        }
        pairs.append(PropertyPair(source: former, destination: property))
    }

    private mutating func checkType(_ from: Attribute, _ to: Attribute, _ entity: Entity) {
        guard from.type != to.type else { return }
        let change =
            "\(entity.name).\(to.path) is of type \(from.type.displayName) in the store, but \(to.type.displayName) in "
            + "the model"
        guard from.type.converts(to: to.type) else {
            return refuse(
                "\(change); rename the attribute, or \(MappingInference.byHand)", entity.name, to.path,
                kind: .typeChange)
        }
        guard typeChanges == .exact else {
            return refuse(
                "\(change); set CST_STORE_ALLOW_TYPE_CHANGES or CST_MAPPING_ALLOW_TYPE_CHANGES "
                    + "(allow_type_changes, allowsTypeChanges, --allow-casts), or " + MappingInference.byHand,
                entity.name, to.path, kind: .typeChange)
        }
    }

    private mutating func check(_ from: Relationship, _ to: Relationship, _ entity: Entity) {
        if from.isToMany, !to.isToMany {
            refuse(
                "\(entity.name).\(to.name) is to-many in the store, but to-one in the model; rename the relationship, or "
                    + MappingInference.byHand, entity.name, to.name)
        }
        guard let target = destinations[Int(from.destination.index)] else {
            let hasTargets = from.destination.withDescendants.contains { destinations[Int($0.index)] != nil }
            if hasTargets { return }
            let isAdded = sources[Int(to.destination.index)] == nil
            return refuse(
                "\(entity.name).\(to.name) has the destination \(from.destination.name) in the store, but "
                    + "\(to.destination.name) in the model, which does not contain \(from.destination.name); rename the "
                    + "relationship, or "
                    + (isAdded
                        ? "set the renaming identifier of \(to.destination.name) to \"\(from.destination.canonicalName)\""
                        : MappingInference.byHand),
                entity.name, to.name)
        }
        guard
            target.isKind(of: to.destination) || to.destination.isKind(of: target)
                || target.root === to.destination.root
        else {
            return refuse(
                "\(entity.name).\(to.name) has the destination \(from.destination.name) in the store, but the unrelated "
                    + "\(to.destination.name) in the model; rename the relationship, or "
                    + MappingInference.byHand,
                entity.name, to.name)
        }
    }

    private mutating func warnIfChained(_ property: Property, of entity: Entity, _ former: Entity) {
        // Inherited properties are reported once.
        guard property.entity === entity else { return }
        let stored = former.storedTopProperties
        if let identifier = property.renamingIdentifier, let named = stored.first(where: { $0.name == identifier }) {
            warnings.append(
                "\(entity.name).\(property.name) has the renaming identifier \"\(identifier)\", but \(former.name).\(named.name) has "
                    + "the identifier \"\(named.canonicalName)\", so the values of \(former.name).\(named.name) are lost; "
                    + "use \"\(named.canonicalName)\""
            )
        } else if let same = stored.first(where: { $0.name == property.name }) {
            warnings.append(
                "\(entity.name).\(property.name) has the identifier \"\(same.canonicalName)\" in the store's model, but "
                    + "\"\(property.canonicalName)\" in the new one, so its values are lost; use the renaming "
                    + "identifier \"\(same.canonicalName)\"")
        }
    }
}

extension Entity {
    /// The persistent attributes and relationships, inherited ones first; composite attributes without their elements.
    var storedTopProperties: [Property] {
        allProperties.filter { !$0.isTransient && !($0 is FetchedProperty) && ($0 as? Attribute)?.composite == nil }
    }
    /// The persistent attributes and relationships; for a composite attribute, its leaves.
    package var storedProperties: [Property] { storedTopProperties.flatMap(\.storedLeaves) }
}

extension Property {
    /// The property itself, or the leaves of a composite attribute.
    fileprivate var storedLeaves: [Property] { (self as? Attribute)?.leaves ?? [self] }
    fileprivate var kindName: String { self is Relationship ? "a relationship" : "an attribute" }
}
