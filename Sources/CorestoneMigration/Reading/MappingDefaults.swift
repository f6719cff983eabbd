import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// A generator of the expressions that an `.xcmappingmodel` omits.
///
/// Xcode's mapping model compiler generates the same expressions for properties that do not have an expression.
struct MappingDefaults {
    /// The longest key path that is followed, because a file may be untrusted.
    private static let maximumKeys = 100

    private let source: Model?
    /// The names of the mappings, by source entity.
    private let mappingNames: [String: [String]]

    /// Creates a generator for one mapping model.
    ///
    /// - Parameter mappings: The source entity and the name of each entity mapping.
    init(source: Model?, mappings: [(sourceName: String?, name: String)]) {
        self.source = source
        var names: [String: [String]] = [:]
        for mapping in mappings {
            if let entity = mapping.sourceName { names[entity, default: []].append(mapping.name) }
        }
        mappingNames = names
    }

    /// Returns an expression for the source's property with an attribute's name; nil without such a property.
    func attribute(_ name: String, from entityName: String?) -> Expression? {
        guard property(name, of: entityName) != nil else { return nil }
        return MappingExpressions.source(name)
    }

    /// Returns the expression of a relationship.
    ///
    /// - Parameters:
    ///   - path: The key path of the source objects; nil for the source's relationship with the same name.
    ///   - mapping: The name of the entity mapping that migrates the source objects; nil for the compiler's choice.
    /// - Returns: nil if `path` is nil and the source does not have a relationship with the name.
    func relationship(
        _ name: String, from entityName: String?, path: Expression? = nil, mapping: String? = nil
    ) -> Expression? {
        let path = path ?? (property(name, of: entityName) is Relationship ? MappingExpressions.source(name) : nil)
        guard let path else { return nil }
        if let mapping { return MappingExpressions.destinations(of: path, byMapping: mapping) }
        guard case .path(.variable("source"), let keys) = path else {
            return MappingExpressions.destinations(ofRelationship: name, path: path)
        }
        let names = keys.text.split(separator: ".").map(String.init)
        if let target = destination(of: names, from: entityName), let only = onlyMapping(of: target) {
            return MappingExpressions.destinations(of: path, byMapping: only)
        }
        return MappingExpressions.destinations(
            ofRelationship: names.last { !$0.hasPrefix("@") } ?? name, path: path)
    }

    private func property(_ name: String, of entityName: String?) -> Property? {
        entityName.flatMap { source?.entity(named: $0) }?.allProperties.first { $0.name == name }
    }

    /// Returns the entity at the end of a path of relationships.
    private func destination(of keys: [String], from entityName: String?) -> Entity? {
        guard keys.count <= MappingDefaults.maximumKeys else { return nil }
        var entity = entityName.flatMap { source?.entity(named: $0) }
        for key in keys where !key.hasPrefix("@") {
            entity = (property(key, of: entity?.name) as? Relationship)?.destination
        }
        return entity
    }

    /// Returns the only mapping of an entity and its subentities; nil if there are others, or if it is of a subentity.
    private func onlyMapping(of entity: Entity) -> String? {
        let names = entity.withDescendants.flatMap { mappingNames[$0.name] ?? [] }
        return names.count == 1 && mappingNames[entity.name] == names ? names[0] : nil
    }
}
