import CorestoneValues

extension Model {
    /// Returns a mutable copy. The original can be frozen.
    public func copy() throws -> Model {
        let copy = Model()
        try ModelCopier(copy).add(entities)
        for identifier in versionIdentifiers { try copy.addVersionIdentifier(identifier) }
        for (name, template) in fetchRequestTemplates { try copy.setFetchRequestTemplate(template, forName: name) }
        for configuration in configurations { try copy.upsertConfiguration(configuration) }
        for (key, text) in localization { try copy.setLocalization(text, forKey: key) }
        try copy.setExtras(extras)
        copy.sourceForm = sourceForm
        copy.draftProblems = draftProblems
        return copy
    }
}

/// A copier of entities from other models into one model.
struct ModelCopier {
    private let target: Model

    init(_ target: Model) { self.target = target }

    /// Adds copies of entities whose names do not exist in the target.
    ///
    /// The superentities and destinations must be among the entities, or exist by name in the target.
    func add(_ entities: [Entity]) throws {
        for entity in entities { try declare(entity) }
        for entity in entities {
            if let parent = entity.parent {
                let copy = try counterpart(of: parent, as: "the superentity of \(entity.name)")
                try counterpart(of: entity).setParent(copy)
            }
            try addProperties(of: entity)
        }
        for entity in entities { try connect(entity) }
    }

    private func counterpart(of entity: Entity) throws -> Entity { try target.requireEntity(named: entity.name) }

    /// Returns the copy of an entity to which another one refers.
    ///
    /// It is missing if the metadata of a store with a configuration do not list it.
    ///
    /// - Parameter role: the role of the entity, for errors.
    private func counterpart(of entity: Entity, as role: @autoclosure () -> String) throws -> Entity {
        if let copy = target.entity(named: entity.name) { return copy }
        throw CoreError(
            .invalidArgument,
            "\(entity.name), \(role()), is not among the entities of the store; merge the models without the store",
            entity: entity.name)
    }

    private func declare(_ entity: Entity) throws {
        let copy = try target.addEntity(named: entity.name)
        try copy.setAbstract(entity.isAbstract)
        try copy.setClassName(entity.className)
        try copy.setVersionHashModifier(entity.versionHashModifier)
        try copy.setRenamingIdentifier(entity.renamingIdentifier)
        try copy.setExtras(entity.extras)
        copy.sourceForm = entity.sourceForm
        for (key, value) in entity.userInfo { try copy.setUserInfo(value, forKey: key) }
        for index in entity.indexes { try copy.appendIndex(index) }
        try copy.copyValidators(of: entity)
        for constraint in entity.uniqueConstraints { try copy.addUniqueConstraint(constraint) }
    }

    /// Copies properties in the order of their creation, which determines slots and columns.
    private func addProperties(of entity: Entity) throws {
        let copy = try counterpart(of: entity)
        for property in entity.ownProperties {
            switch property {
            case let attribute as Attribute:
                let copied = try copy.addAttribute(
                    named: attribute.name, type: attribute.type, isTransient: attribute.isTransient)
                try fill(copied, from: attribute)
            case let relationship as Relationship:
                let destination = try counterpart(
                    of: relationship.destination, as: "the destination of \(entity.name).\(relationship.name)")
                let copied = try copy.addRelationship(
                    named: relationship.name, destination: destination, isToMany: relationship.isToMany,
                    isOrdered: relationship.isOrdered)
                try copied.setDeleteRule(relationship.deleteRule)
                copied.missingDestination = relationship.missingDestination
                try copied.setCounts(minimum: relationship.minimumCount, maximum: relationship.maximumCount)
                try describe(copied, as: relationship)
            default: break
            }
        }
        for property in entity.ownFetchedProperties {
            try describe(
                try copy.addFetchedProperty(named: property.name, fetchRequest: property.fetchRequest), as: property)
        }
    }

    private func fill(_ copy: Attribute, from attribute: Attribute) throws {
        try describe(copy, as: attribute)
        if !attribute.defaultValue.isNull { try copy.setDefaultValue(attribute.defaultValue) }
        try copy.setAllowsExternalStorage(attribute.allowsExternalStorage)
        try copy.setPreservesValueInHistory(attribute.preservesValueInHistory)
        try copy.setAllowsNaN(attribute.allowsNaN)
        try copy.setIgnoresChanges(attribute.ignoresChanges)
        try copy.setAllowsCloudEncryption(attribute.allowsCloudEncryption)
        try copy.setValueTransformerName(attribute.valueTransformerName)
        try copy.setValueClassName(attribute.valueClassName)
        try copy.setDerivation(attribute.derivation)
        try copy.setCompositeName(attribute.compositeName)
        for element in attribute.elements {
            try fill(try copy.addElement(named: element.name, type: element.type), from: element)
        }
    }

    private func describe(_ copy: Property, as property: Property) throws {
        try copy.setOptional(property.isOptional)
        try copy.setTransient(property.isTransient)
        try copy.setVersionHashModifier(property.versionHashModifier)
        try copy.setRenamingIdentifier(property.renamingIdentifier)
        try copy.setValidationRules(property.validationRules)
        try copy.setIndexedBySpotlight(property.isIndexedBySpotlight)
        try copy.setStoredInExternalRecord(property.isStoredInExternalRecord)
        try copy.setExtras(property.extras)
        copy.sourceForm = property.sourceForm
        for (key, value) in property.userInfo { try copy.setUserInfo(value, forKey: key) }
    }

    private func connect(_ entity: Entity) throws {
        let copy = try counterpart(of: entity)
        for relationship in entity.ownRelationships {
            guard let inverse = relationship.inverse,
                let copied = copy.ownRelationships.first(where: { $0.name == relationship.name }),
                copied.inverse == nil,
                let other = try counterpart(
                    of: inverse.entity,
                    as: "whose \(inverse.name) is the inverse of \(entity.name).\(relationship.name)"
                ).ownRelationships.first(where: { $0.name == inverse.name })
            else { continue }
            try copied.setInverse(other)
        }
    }
}
