/// The requirements of CloudKit for models of mirrored stores.
///
/// Records arrive one by one and in any order, so an object must not depend on the presence of another object.
extension Linter {
    /// Checks the entities that are used with CloudKit.
    ///
    /// These are the entities of the configurations for CloudKit, or all entities if no configuration is for CloudKit.
    mutating func checkCloudKit(in model: Model) {
        let mirrored = model.configurations.filter(\.isUsedWithCloudKit)
        let names = Set(mirrored.flatMap(\.entityNames))
        for entity in model.entities where mirrored.isEmpty || names.contains(entity.name) {
            checkCloudKit(at: entity)
            for configuration in mirrored where configuration.entityNames.contains(entity.name) {
                lint(entity, in: configuration)
            }
        }
    }

    /// Checks the destinations of relationships.
    ///
    /// An object in a record zone cannot refer to an object of another store.
    private mutating func lint(_ entity: Entity, in configuration: ModelConfiguration) {
        for relationship in entity.ownRelationships where !relationship.isTransient {
            let name = relationship.destination.name
            if configuration.entityNames.contains(name) { continue }
            add(
                .cloudKitConfiguration, entity, relationship.name,
                "\(entity.name).\(relationship.name) has the destination \(name), which is not in the "
                    + "CloudKit configuration \"\(configuration.name)\"",
                "add \(name) to the configuration, or replace the relationship with a fetched property")
        }
    }

    private mutating func checkCloudKit(at entity: Entity) {
        for attribute in entity.ownAttributes.flatMap(\.leaves) where !attribute.isTransient {
            let shown = "\(entity.name).\(attribute.path)"
            if !attribute.isOptional, attribute.defaultValue.isNull, attribute.derivation == nil {
                add(
                    .cloudKitRequired, entity, attribute.path,
                    "\(shown) is required but does not have a default value, which CloudKit does not support",
                    "make it optional, or set a default value")
            }
            if attribute.type == .undefined || attribute.type == .objectID {
                add(
                    .cloudKitType, entity, attribute.path,
                    "\(shown) has the type \(attribute.type.displayName), which CloudKit does not support",
                    attribute.composite == nil ? "set another type, or make it transient" : "set another type")
            }
        }
        for relationship in entity.ownRelationships where !relationship.isTransient {
            lint(relationship, entity)
        }
        if !entity.uniqueConstraints.isEmpty {
            add(
                .cloudKitUnique, entity, nil, "\(entity.name) has unique constraints, which CloudKit does not support",
                "remove them, and merge duplicates after each import")
        }
    }

    private mutating func lint(_ relationship: Relationship, _ entity: Entity) {
        let shown = "\(entity.name).\(relationship.name)"
        if !relationship.isOptional || relationship.inverse == nil {
            let required: [String] = relationship.isOptional ? [] : ["is required"]
            let alone: [String] = relationship.inverse == nil ? ["does not have an inverse"] : []
            let remedies: [String] =
                (required.isEmpty ? [] : ["make it optional"]) + (alone.isEmpty ? [] : ["set an inverse"])
            add(
                .cloudKitRelationship, entity, relationship.name,
                "\(shown) \((required + alone).joined(separator: " and ")), which CloudKit does not support",
                remedies.joined(separator: ", and "))
        }
        if relationship.isOrdered {
            add(
                .cloudKitOrdered, entity, relationship.name, "\(shown) is ordered, which CloudKit does not support",
                "make it unordered, and store the order in an attribute of the members")
        }
        if relationship.deleteRule == .deny {
            add(
                .cloudKitDeny, entity, relationship.name,
                "\(shown) has the delete rule Deny, which CloudKit does not support",
                "set the delete rule to Nullify or Cascade")
        }
    }
}
