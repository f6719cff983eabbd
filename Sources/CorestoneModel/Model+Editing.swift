import CorestoneValues

extension Model {
    /// Removes an entity and the parts that depend on it.
    ///
    /// Relationships to the entity, fetched properties and fetch requests that fetch it, and its entries in
    /// configurations and in the localisation are removed too. Its subentities then inherit from its superentity.
    public func remove(_ entity: Entity) throws {
        guard !entity.isRemoved else {
            throw modelError("cannot remove \(entity.name): it was already removed from its model", entity: entity.name)
        }
        try entity.edit {
            guard entity.model === self else {
                throw modelError(
                    "cannot remove \(entity.name): it belongs to another model; pass an entity of this model",
                    entity: entity.name)
            }
            for other in entities where other !== entity {
                for relationship in other.ownRelationships where relationship.destination === entity {
                    try other.remove(relationship)
                }
                for property in other.ownFetchedProperties where property.fetchRequest.entityName == entity.name {
                    try other.remove(property)
                }
            }
            for property in entity.ownByName.values { entity.forget(property) }
            for child in entity.children { try child.setParent(entity.parent) }
            for relationship in entity.ownRelationships { relationship.clearInverse() }
            entity.detachFromParent()
            fetchRequestTemplates = fetchRequestTemplates.filter { $0.value.entityName != entity.name }
            configurations = configurations.map { configuration in
                configuration.mapNames { $0 == entity.name ? nil : $0 }
            }
            for property in entity.ownByName.values { forgetLocalization(of: property) }
            localizationTexts["Entity/" + entity.name] = nil
            mapDrawing { $0 == entity.name ? nil : $0 }
            uncountProperties(entity.ownByName.count)
            entities.removeAll { $0 === entity }
            entitiesByName[entity.name] = nil
            entity.isRemoved = true
            removedEntities.append(entity)
        }
    }

    /// Removes a configuration. Returns false if the name does not exist.
    @discardableResult
    public func removeConfiguration(named name: String) throws -> Bool {
        try edit(key: name) {
            guard let place = configurationPlaces[name] else { return false }
            configurations.remove(at: place)
            configurationPlaces = Dictionary(
                configurations.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
            return true
        }
    }

    /// Removes a version identifier. Returns false if it does not exist.
    @discardableResult
    public func removeVersionIdentifier(_ identifier: String) throws -> Bool {
        try edit {
            versionIdentifiers.removeAll { $0 == identifier }
            return knownIdentifiers.remove(identifier) != nil
        }
    }
}

// MARK: - References by name

extension Model {
    /// Replaces the former name of an entity in all references to the entity.
    func follow(_ entity: Entity, from former: String) {
        let name = entity.name
        entitiesByName[former] = nil
        entitiesByName[name] = entity
        configurations = configurations.map { configuration in
            configuration.mapNames { $0 == former ? name : $0 }
        }
        fetchRequestTemplates = fetchRequestTemplates.mapValues { $0.following(former, name) }
        for property in entities.flatMap(\.ownFetchedProperties) {
            property.fetchRequest = property.fetchRequest.following(former, name)
        }
        mapLocalization { $0 == "Entity/" + former ? "Entity/" + name : nil }
        let ending = "/Entity/" + former
        mapLocalization { key in
            key.hasPrefix("Property/") && key.hasSuffix(ending) ? String(key.dropLast(former.count)) + name : nil
        }
        mapDrawing { $0 == former ? name : $0 }
    }

    /// Renames keys of the localisation; nil keeps a key.
    func mapLocalization(_ newKey: (String) -> String?) {
        for (key, text) in localizationTexts {
            guard let renamed = newKey(key) else { continue }
            localizationTexts[key] = nil
            localizationTexts[renamed] = text
        }
    }

    /// Removes the localisation of a property.
    ///
    /// An entry for all entities is kept if another entity has a property of that name.
    func forgetLocalization(of property: Property) {
        for entity in property.entity.withDescendants {
            localizationTexts["Property/\(property.name)/Entity/\(entity.name)"] = nil
        }
        if !isNameShared(property) { localizationTexts["Property/" + property.name] = nil }
    }

    func isNameShared(_ property: Property) -> Bool {
        entities.contains { $0 !== property.entity && $0.ownByName[property.name] != nil }
    }

    /// Renames entities in Xcode's diagram of the model; nil removes an entity.
    private func mapDrawing(_ newName: (String) -> String?) {
        for place in extras.elements.indices where extras.elements[place].name == "elements" {
            extras.elements[place].elements = extras.elements[place].elements.compactMap { element in
                guard let name = element.attributes["name"] else { return element }
                guard let renamed = newName(name) else { return nil }
                var element = element
                element.attributes["name"] = renamed
                return element
            }
        }
    }
}

extension ModelConfiguration {
    fileprivate func mapNames(_ newName: (String) -> String?) -> ModelConfiguration {
        ModelConfiguration(
            name: name, entityNames: entityNames.compactMap(newName), isUsedWithCloudKit: isUsedWithCloudKit)
    }
}

extension FetchRequestTemplate {
    fileprivate func following(_ former: String, _ name: String) -> FetchRequestTemplate {
        var request = self
        if entityName == former { request.entityName = name }
        return request
    }
}
