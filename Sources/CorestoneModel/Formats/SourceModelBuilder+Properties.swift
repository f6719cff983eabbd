import CorestonePredicate
import CorestoneValues

/// Reading of attributes, relationships and fetched properties of a source model.
extension SourceModelBuilder {
    /// Reads the settings that all properties share. The rest of the element is kept as extras.
    private func finish(_ property: Property, _ element: inout SourceElement, _ original: [String: String]) throws {
        element.take("name")
        try property.setOptional(element.takeFlag("optional"))
        if element.takeFlag("transient") { try property.setTransient(true) }
        if element.takeFlag("spotlightIndexingEnabled") { try property.setIndexedBySpotlight(true) }
        if element.takeFlag("storedInTruthFile") { try property.setStoredInExternalRecord(true) }
        if let identifier = element.take("elementID"), identifier != property.name {
            try property.setRenamingIdentifier(identifier)
        }
        if let modifier = element.take("versionHashModifier") { try property.setVersionHashModifier(modifier) }
        var extras = SourceExtras()
        extras.attributes = element.attributes
        for child in element.elements {
            let isUnderstood =
                try child.name == "userInfo"
                && readUserInfo(child, isKnown: { property.userInfoText($0) != nil }) {
                    try property.setUserInfo($1, forKey: $0)
                }
            if !isUnderstood { extras.elements.append(child) }
        }
        if !extras.isEmpty { try property.setExtras(extras) }
        property.sourceForm.place = element.place
        property.sourceForm.note(original, extras, instead: property.sourceAttributes)
        if element.name != "fetchedProperty" {
            property.sourceForm.note(element.elements, extras, instead: property.sourceElements)
        }
    }

    func describe(_ attribute: Attribute, _ element: inout SourceElement) throws {
        let original = element.attributes
        element.take("attributeType")
        // An element of a composite attribute cannot be indexed, so its flag is kept in the extras.
        if attribute.composite == nil { _ = element.takeFlag("indexed") }
        if element.takeFlag("allowsExternalBinaryDataStorage") { try attribute.setAllowsExternalStorage(true) }
        if element.takeFlag("preserveAfterDeletion") { try attribute.setPreservesValueInHistory(true) }
        if element.takeFlag("allowsCloudEncryption") { try attribute.setAllowsCloudEncryption(true) }
        if let name = element.take("valueTransformerName"), !name.isEmpty {
            try attribute.setValueTransformerName(name)
        }
        if let name = element.take("customClassName") { try attribute.setValueClassName(name) }
        if let type = element.take("composite") {
            try attribute.setCompositeName(type)
            compositeAttributes.append((attribute, type))
        }
        if element.flag("derived"), let text = element.take("derivationExpression") {
            element.take("derived")
            try attribute.setDerivation(Derivation(ExpressionText(text)))
        }
        if let value = element.takeDefault(of: attribute.type) { try attribute.setDefaultValue(value) }
        let rules = element.takeRules(of: attribute.type)
        if !rules.isEmpty { try attribute.setValidationRules(rules) }
        try finish(attribute, &element, original)
    }

    func addElements(to attribute: Attribute, of type: String) throws {
        guard let composite = composites[type] else {
            let near = nearestName(to: type, among: Array(composites.keys)).map { "did you mean \"\($0)\"?" }
            throw modelError(
                "\(attribute.entity.name).\(attribute.path) has the composite type \"\(type)\", which is not defined in "
                    + "the model; " + (near ?? "define it, or set another composite type"),
                entity: attribute.entity.name, key: attribute.path, value: .string(type))
        }
        usedComposites.insert(type)
        let first = compositeAttributes.count
        for var element in composite.elements where element.name == "attribute" {
            compositeElementCount += 1
            guard compositeElementCount <= SourceModelBuilder.maximumCompositeElements else {
                throw modelError(
                    "composite attributes have more than \(SourceModelBuilder.maximumCompositeElements) elements "
                        + "in total, which is the limit; split the model", entity: attribute.entity.name,
                    key: attribute.path)
            }
            let child = try attribute.addElement(
                named: try element.required("name", of: attribute.entity, in: "the composite type \"\(type)\""),
                type: try element.attributeType(of: attribute.entity, in: attribute))
            try describe(child, &element)
        }
        let nested = compositeAttributes[first...]
        compositeAttributes.removeSubrange(first...)
        for (child, type) in nested { try addElements(to: child, of: type) }
    }

    func addRelationships() throws {
        var inverses = PendingInverses()
        var all: [(Relationship, SourceElement)] = []
        for (entity, element) in relationships {
            try attempt {
                let relationship = try addRelationship(to: entity, element)
                if let inverse = element.attributes["inverseName"], relationship.missingDestination == nil {
                    inverses.add(relationship, inverse: inverse)
                }
                all.append((relationship, element))
            }
        }
        try inverses.connect()
        // If the two sides do not name each other, the name of the inverse is kept in the extras.
        for (relationship, element) in all {
            guard let inverse = relationship.inverse else { continue }
            var extras = relationship.extras
            if extras.attributes["inverseEntity"] == relationship.destination.name {
                extras.attributes["inverseEntity"] = nil
            }
            if extras.attributes["inverseName"] == inverse.name { extras.attributes["inverseName"] = nil }
            try relationship.setExtras(extras)
            relationship.sourceForm.spellings["inverseName"] = nil
            relationship.sourceForm.spellings["inverseEntity"] = nil
            relationship.sourceForm.note(
                element.attributes.filter { $0.key == "inverseName" || $0.key == "inverseEntity" }, extras,
                instead: relationship.sourceAttributes)
        }
    }

    private func addRelationship(to entity: Entity, _ element: SourceElement) throws -> Relationship {
        let original = element.attributes
        var element = element
        let name = try element.required("name", of: entity)
        let target = element.take("destinationEntity")
        let found = target.flatMap { model.entity(named: $0) }
        if found == nil {
            let problem =
                target.map { target in
                    let names = model.entities.map(\.name)
                    let near = nearestName(to: target, among: names).map { "did you mean \"\($0)\"?" }
                    return "has the destination \"\(target)\", which is not an entity of the model; "
                        + (near ?? "add the entity, or set another destination")
                }
                ?? "does not have a destination; set one"
            try note(
                modelError(
                    "\(entity.name).\(name) \(problem)", entity: entity.name, key: name,
                    value: target.map { .string($0) }))
        }
        let destination = found ?? entity
        let maximum = element.takeCount("maxCount")
        let minimum = element.takeCount("minCount") ?? 0
        let isToMany = element.takeFlag("toMany") || maximum.map { $0 != 1 } ?? false
        let relationship = try entity.addRelationship(
            named: name, destination: destination, isToMany: isToMany,
            isOrdered: isToMany && element.takeFlag("ordered"))
        if found == nil { relationship.missingDestination = target ?? "" }
        try relationship.setCounts(minimum: minimum, maximum: isToMany ? maximum ?? 0 : 1)
        if let rule = element.attributes["deletionRule"].flatMap(DeleteRule.init(source:)) {
            element.take("deletionRule")
            try relationship.setDeleteRule(rule)
        }
        try finish(relationship, &element, original)
        return relationship
    }

    func addFetchedProperty(to entity: Entity, _ element: inout SourceElement) throws {
        let original = element
        let name = try element.required("name", of: entity)
        guard let place = element.elements.firstIndex(where: { $0.name == "fetchRequest" }) else {
            throw modelError(
                "the fetched property \(entity.name).\(name) does not have a fetch request; add a <fetchRequest>",
                entity: entity.name,
                key: name)
        }
        let request = FetchRequestTemplate(element.elements[place])
        if element.elements[place].isPlainRequestOfProperty { element.elements.remove(at: place) }
        let property = try entity.addFetchedProperty(named: name, fetchRequest: request)
        try finish(property, &element, original.attributes)
        property.sourceForm.note(original.elements, property.extras, instead: property.sourceElements)
    }
}
