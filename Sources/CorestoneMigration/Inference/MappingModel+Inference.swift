import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension MappingModel {
    /// Infers the mapping model of a lightweight migration from names and renaming identifiers. Freezes both models.
    ///
    /// The mappings are in the order of the destination's entities, followed by the removed entities. They are named as
    /// Xcode's mapping model compiler names them (`CarToBus`), with a number if a name is used twice. A new property
    /// has a mapping without an expression, so that it keeps its default value. Transient properties and derived
    /// attributes do not have a mapping.
    ///
    /// - Parameter typeChanges: Whether an attribute may change its type. The expression of such an attribute is the
    ///   old value, which the migration must convert.
    /// - Throws: `.migration` (134190) for a change that cannot be inferred. If there are several, each is a child.
    ///   Errors of `Model.freeze`.
    public convenience init(
        inferredFrom source: Model, to destination: Model, typeChanges: TypeChanges = .refused
    ) throws {
        let mapping = try ModelMapping.inferred(from: source, to: destination, typeChanges: typeChanges)
        var names: Set<String> = []
        let mappings = mapping.entities.map { pair in
            let former = pair.source?.name
            let name = MappingModel.unusedName(EntityMapping.defaultName(former, pair.destination?.name), &names)
            return EntityMapping(
                name: name, kind: pair.kind.mappingKind, sourceName: former, destinationName: pair.destination?.name,
                attributeMappings: pair.attributeMappings, relationshipMappings: pair.relationshipMappings)
        }
        self.init(mappings, source: source, destination: destination)
    }

    /// Returns an unused name. Names can collide: `AToB` and `C` as well as `A` and `BToC` yield `AToBToC`.
    private static func unusedName(_ name: String, _ names: inout Set<String>) -> String {
        var (found, number) = (name, 2)
        while !names.insert(found).inserted {
            found = "\(name)\(number)"
            number += 1
        }
        return found
    }
}

extension EntityPair.Kind {
    fileprivate var mappingKind: EntityMapping.Kind {
        switch self {
        case .add: .add
        case .remove: .remove
        case .copy: .copy
        case .transform: .transform
        }
    }
}

extension EntityPair {
    fileprivate var attributeMappings: [PropertyMapping] {
        guard destination != nil else { return [] }
        var found: [PropertyMapping] = []
        var composites: [(former: Attribute, attribute: Attribute)] = []
        for pair in properties {
            guard let former = pair.source as? Attribute, let attribute = pair.destination as? Attribute,
                attribute.derivation == nil
            else { continue }
            let tops = (former: former.top, attribute: attribute.top)
            if isWhole(tops.former, tops.attribute) {
                if !composites.contains(where: { $0.attribute === tops.attribute }) { composites.append(tops) }
            } else {
                found.append(EntityPair.mapping(former, attribute))
            }
        }
        found += composites.map { EntityPair.mapping($0.former, $0.attribute) }
        found += added.compactMap { $0 as? Attribute }.filter { $0.derivation == nil }.map {
            PropertyMapping(name: $0.path)
        }
        return found.sorted { Text($0.name) < Text($1.name) }
    }

    private static func mapping(_ former: Attribute, _ attribute: Attribute) -> PropertyMapping {
        PropertyMapping(name: attribute.path, valueExpression: MappingExpressions.source(former.path))
    }

    /// Whether a composite attribute has the same elements as the former one, so that its value is copied as a whole.
    private func isWhole(_ former: Attribute, _ attribute: Attribute) -> Bool {
        guard former.type == .composite, attribute.type == .composite else { return false }
        func elements(_ top: Attribute) -> [Substring] { top.leaves.map { $0.path.dropFirst(top.path.count) } }
        return elements(former).sorted() == elements(attribute).sorted()
            && attribute.leaves.allSatisfy { leaf in
                guard let pair = pair(to: leaf), let source = pair.source as? Attribute else { return false }
                return source.top === former
                    && source.path.dropFirst(former.path.count) == leaf.path.dropFirst(attribute.path.count)
            }
    }

    fileprivate var relationshipMappings: [PropertyMapping] {
        guard destination != nil else { return [] }
        let mapped = properties.filter { $0.destination is Relationship }.map {
            PropertyMapping(
                name: $0.destination.name,
                valueExpression: MappingExpressions.destinations(ofRelationship: $0.source.name))
        }
        let new = added.filter { $0 is Relationship }.map { PropertyMapping(name: $0.name) }
        return (mapped + new).sorted { Text($0.name) < Text($1.name) }
    }
}

extension Attribute {
    /// The attribute, or the outermost composite attribute of which it is an element.
    fileprivate var top: Attribute {
        var top = self
        while let composite = top.composite { top = composite }
        return top
    }
}
