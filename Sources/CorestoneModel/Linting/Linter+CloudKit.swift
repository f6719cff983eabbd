/// What CloudKit asks of the models that it mirrors: records come one by one and in any order, so nothing may depend on
/// another record being there.
extension Linter {
    mutating func lookForCloudKit(at entity: Entity) {
        for attribute in entity.ownAttributes where !attribute.isTransient {
            let shown = "\(entity.name).\(attribute.name)"
            if !attribute.isOptional, attribute.defaultValue.isNull, attribute.derivation == nil {
                add(
                    .cloudKitRequired, entity, attribute.name,
                    "\(shown) is required and has no default value, which CloudKit refuses",
                    "make it optional, or give it a default")
            }
            if attribute.type == .undefined || attribute.type == .objectID {
                add(
                    .cloudKitType, entity, attribute.name, "\(shown) has a type that CloudKit has no field for",
                    "give it a type, or make it transient")
            }
        }
        for relationship in entity.ownRelationships where !relationship.isTransient {
            look(at: relationship, entity)
        }
        if !entity.uniqueConstraints.isEmpty {
            add(
                .cloudKitUnique, entity, nil, "\(entity.name) has unique constraints, which CloudKit refuses",
                "remove them, and find duplicates after each import")
        }
    }

    private mutating func look(at relationship: Relationship, _ entity: Entity) {
        let shown = "\(entity.name).\(relationship.name)"
        if !relationship.isOptional || relationship.inverse == nil {
            add(
                .cloudKitRelationship, entity, relationship.name,
                "\(shown) is \(relationship.isOptional ? "without inverse" : "required"), which CloudKit refuses",
                "make it optional and give it an inverse")
        }
        if relationship.isOrdered {
            add(
                .cloudKitOrdered, entity, relationship.name, "\(shown) is ordered, which CloudKit refuses",
                "keep the order in an attribute of the members")
        }
        if relationship.deleteRule == .deny {
            add(
                .cloudKitDeny, entity, relationship.name,
                "\(shown) denies deletion, which CloudKit refuses: deletions on other devices are applied regardless",
                "set it to Nullify or Cascade")
        }
    }
}
