import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// An entity mapping with its resolved entities, attributes and relationships.
struct EntityPlan {
    /// The source of an attribute's value.
    enum ValueSource {
        case slot(Int)
        case expression(Expression)
    }

    /// The source of a relationship's members.
    enum MemberSource {
        /// The objects that one mapping created for the members of a source relationship.
        case results(ofSlot: Int, mapping: String)
        case expression(Expression)
    }

    let mapping: EntityMapping
    /// The index in the mapping model.
    let number: Int
    let source: Entity?
    let destination: Entity?
    let policy: EntityMigrationPolicy?
    /// The attributes with their values; `mapping` is the value of `$propertyMapping`.
    let attributes: [(mapping: PropertyValue, attribute: Attribute, value: ValueSource)]
    let relationships: [(mapping: PropertyValue, relationship: Relationship, members: MemberSource)]

    init(_ mapping: EntityMapping, number: Int, source model: Model, destination: Model) throws {
        (self.mapping, self.number) = (mapping, number)
        source = try EntityPlan.entity(mapping.sourceName, in: model, mapping, "source")
        self.destination = try EntityPlan.entity(mapping.destinationName, in: destination, mapping, "destination")
        policy = try EntityPlan.policy(of: mapping)
        guard let entity = self.destination else {
            (attributes, relationships) = ([], [])
            return
        }
        let source = self.source
        attributes = try mapping.attributeMappings.compactMap { property in
            guard let attribute: Attribute = try EntityPlan.property(property, of: entity, mapping),
                let expression = property.valueExpression
            else { return nil }
            // The store computes derived attributes and does not contain transient ones.
            if attribute.isTransient || attribute.derivation != nil { return nil }
            let value = source.flatMap { expression.sourceSlot(in: $0) }.map { ValueSource.slot($0) }
            return (.object(MappingValue(property)), attribute, value ?? .expression(expression))
        }
        relationships = try mapping.relationshipMappings.compactMap { property in
            guard let relationship: Relationship = try EntityPlan.property(property, of: entity, mapping),
                let expression = property.valueExpression
            else { return nil }
            let members = source.flatMap { expression.results(in: $0) } ?? .expression(expression)
            return (.object(MappingValue(property)), relationship, members)
        }
    }

    /// The remedy for an entity mapping of other models.
    private static let otherMapping =
        "; correct the name, or use the mapping model that was made for the source and the destination model"

    private static func entity(
        _ name: String?, in model: Model, _ mapping: EntityMapping, _ side: String
    ) throws -> Entity? {
        guard let name else { return nil }
        if let entity = model.entity(named: name) { return entity }
        let near = nearestName(to: name, among: model.entities.map(\.name)).map { "; did you mean \"\($0)\"?" }
        throw CoreError(
            .migration, code: .migrationMissingMappingModel,
            "the entity mapping \"\(mapping.name)\" does not fit: the \(side) model does not have an entity \"\(name)\""
                + (near ?? EntityPlan.otherMapping), entity: name)
    }

    private static func property<P: Property>(
        _ property: PropertyMapping, of entity: Entity, _ mapping: EntityMapping
    ) throws -> P? {
        if property.isUnreadable {
            throw CoreError(
                .migration, code: .migration,
                "the expression for \(entity.name).\(property.name) in the entity mapping \"\(mapping.name)\" cannot "
                    + "be read; replace the expression, or remove it and set the value in a migration policy",
                entity: entity.name, key: property.name)
        }
        // Only `anyProperty` finds fetched properties.
        let found = entity.property(named: property.name) ?? entity.anyProperty(named: property.name)
        if let found = found as? P { return found }
        let kind = P.self == Attribute.self ? "an attribute" : "a relationship"
        if let found {
            let (other, remedy) =
                found is Attribute
                ? ("an attribute", "move it to the attribute mappings")
                : found is Relationship
                    ? ("a relationship", "move it to the relationship mappings")
                    : ("a fetched property", "remove it from the mapping")
            throw CoreError(
                .migration, code: .migrationMissingMappingModel,
                "the entity mapping \"\(mapping.name)\" maps \(entity.name).\(property.name) as \(kind), but it is "
                    + "\(other); \(remedy)", entity: entity.name, key: property.name)
        }
        let names = entity.allProperties.compactMap { ($0 as? P)?.name }
        let near = nearestName(to: property.name, among: names).map { "; did you mean \"\($0)\"?" }
        throw CoreError(
            .migration, code: .migrationMissingMappingModel,
            "the entity mapping \"\(mapping.name)\" does not fit: \(entity.name) does not have \(kind) \"\(property.name)\""
                + (near ?? EntityPlan.otherMapping), entity: entity.name,
            key: property.name)
    }

    private static func policy(of mapping: EntityMapping) throws -> EntityMigrationPolicy? {
        guard let name = mapping.policyClassName else {
            guard mapping.kind == .custom else { return nil }
            throw CoreError(
                .migration, code: .entityMigrationPolicy,
                "the entity mapping \"\(mapping.name)\" has the kind custom, but does not have a policy class; set the policy "
                    + "class, or use another kind", entity: mapping.destinationName ?? mapping.sourceName,
                value: .string(mapping.kind.name))
        }
        guard !name.isEmpty else {
            throw CoreError(
                .migration, code: .entityMigrationPolicy,
                "the policy class of the entity mapping \"\(mapping.name)\" is empty; set it to the name of a policy, "
                    + "or remove it", entity: mapping.destinationName ?? mapping.sourceName, value: .string(name))
        }
        // Core Data's base class behaves like a mapping without a policy.
        if name == "NSEntityMigrationPolicy" { return nil }
        if let policy = try MigrationPolicies.policy(named: name) { return policy }
        let near = nearestName(to: name, among: MigrationPolicies.names).map { "; did you mean \"\($0)\"?" }
        throw CoreError(
            .migration, code: .entityMigrationPolicy,
            "the migration policy \"\(name)\" of the entity mapping \"\(mapping.name)\" is not registered"
                + (near ?? "; register it with cst_migration_policy_register (register_migration_policy, "
                    + "MigrationPolicies.register)"),
            entity: mapping.destinationName ?? mapping.sourceName, value: .string(name))
    }
}

extension Expression {
    /// Returns the slot of a stored attribute in `$source.attribute`, or nil for every other expression.
    fileprivate func sourceSlot(in entity: Entity) -> Int? {
        guard case .path(.variable("source"), let path) = self, path.keys.count == 1,
            let attribute = entity.property(named: path.keys[0].text) as? Attribute, !attribute.isTransient
        else { return nil }
        return Int(attribute.slot)
    }

    /// Returns the mapping and the relationship's slot in a call of the manager, or nil for every other expression.
    ///
    /// The call is `FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "mapping",
    /// $source.relationship)` with a stored relationship.
    fileprivate func results(in entity: Entity) -> EntityPlan.MemberSource? {
        let selector = MappingExpressions.destinationsByMapping
        guard let arguments = MappingExpressions.arguments(of: self, calling: selector), arguments.count == 2,
            case .constant(.text(let mapping)) = arguments[0],
            case .path(.variable("source"), let path) = arguments[1], path.keys.count == 1,
            let relationship = entity.property(named: path.keys[0].text) as? Relationship, !relationship.isTransient
        else { return nil }
        return .results(ofSlot: Int(relationship.slot), mapping: mapping.string)
    }
}
