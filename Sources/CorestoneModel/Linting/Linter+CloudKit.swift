/// What CloudKit asks of the models that it mirrors: records come one by one and in any order, so nothing may depend on
/// another record being there.
extension Linter {
    mutating func lookForCloudKit(at entity: Entity) {
        for attribute in entity.ownAttributes where !attribute.isTransient {
            let shown = "\(entity.name).\(attribute.path)"
            if !attribute.isOptional, attribute.defaultValue.isNull, attribute.derivation == nil {
                add(
                    .cloudKitRequired, entity, attribute.name,
                    "\(shown) is required but does not have a default value, which CloudKit does not support",
                    "make it optional, or set a default value")
            }
            if attribute.type == .undefined || attribute.type == .objectID {
                add(
                    .cloudKitType, entity, attribute.name,
                    "\(shown) has the type \(attribute.type.displayName), which CloudKit does not support",
                    "set another type, or make it transient")
            }
        }
        for relationship in entity.ownRelationships where !relationship.isTransient {
            look(at: relationship, entity)
        }
        if !entity.uniqueConstraints.isEmpty {
            add(
                .cloudKitUnique, entity, nil, "\(entity.name) has unique constraints, which CloudKit does not support",
                "remove them, and merge duplicates after each import")
        }
    }

    private mutating func look(at relationship: Relationship, _ entity: Entity) {
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
                "store the order in an attribute of the members")
        }
        if relationship.deleteRule == .deny {
            add(
                .cloudKitDeny, entity, relationship.name,
                "\(shown) has the delete rule Deny, which CloudKit does not support",
                "set the delete rule to Nullify or Cascade")
        }
    }
}
