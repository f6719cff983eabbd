import CorestonePredicate
import CorestoneValues

/// Changes of existing entities, properties, indexes and unique constraints.
///
/// The model must not be frozen. The extras of a changed part are kept.
extension Entity {
    /// Renames the entity, including in configurations, fetch requests and the localisation.
    public func rename(to newName: String) throws {
        try edit {
            if newName == name { return }
            try model.checkFreeName(newName)
            let former = name
            name = newName
            model.follow(self, from: former)
        }
    }

    /// Returns a property of any kind that the entity itself declares.
    public func ownProperty(named name: String) -> Property? { ownByName[name] }

    /// Returns a property of any kind by name, including inherited and fetched ones.
    ///
    /// The model does not have to be frozen.
    public func anyProperty(named name: String) -> Property? {
        sequence(first: self, next: \.parent).lazy.compactMap { $0.ownByName[name] }.first
    }

    /// Returns a property that the entity itself declares.
    ///
    /// The error for an inherited property names the declaring entity.
    public func requireOwnProperty(named name: String) throws -> Property {
        if let property = ownByName[name] { return property }
        let hint: String
        if let inherited = anyProperty(named: name) {
            hint = " of its own; use \(inherited.entity.name).\(name)"
        } else {
            hint = nearestName(to: name, among: Array(ownByName.keys)).map { "; did you mean \"\($0)\"?" } ?? ""
        }
        throw CoreError(
            .invalidArgument, "\(self.name) has no property \"\(name)\"\(hint)", entity: self.name, key: name)
    }

    /// Removes a property.
    ///
    /// Validators of the property, and indexes and unique constraints that contain it, are removed too, including those
    /// of subentities, and so are its entries in the localisation. Its inverse relationship no longer has an inverse.
    /// Predicates that contain the property are not changed.
    public func remove(_ property: Property) throws {
        try property.requireUnremoved()
        try property.edit {
            if let composite = (property as? Attribute)?.composite {
                throw modelError(
                    "\(property.entity.name).\(property.path) is an element of a composite attribute; call "
                        + "removeElement(named:) of \(property.entity.name).\(composite.path)",
                    entity: property.entity.name, key: property.path)
            }
            guard ownByName[property.name] === property else {
                throw modelError(
                    "\(property.entity.name).\(property.name) "
                        + (property.entity.model === model
                            ? "is not declared by \(name); remove it from \(property.entity.name)"
                            : "belongs to another model; pass a property of \(name)"),
                    entity: name, key: property.name)
            }
            (property as? Relationship)?.clearInverse()
            forget(property)
            model.forgetLocalization(of: property)
            ownByName[property.name] = nil
            ownAttributes.removeAll { $0 === property }
            ownRelationships.removeAll { $0 === property }
            ownFetchedProperties.removeAll { $0 === property }
            model.registerRemoved([property])
            model.uncountProperties(1)
        }
    }

    /// Removes indexes, unique constraints and validators of an own property, including in subentities.
    func forget(_ property: Property) {
        for entity in withDescendants {
            entity.indexes.removeAll { $0.names(property.name) }
            entity.uniqueConstraints.removeAll { $0.contains(property.name) }
            entity.validators.values.removeAll { $0.key == property.name }
        }
    }

    /// Removes an index. Returns false if the name does not exist.
    @discardableResult
    public func removeIndex(named name: String) throws -> Bool {
        try edit {
            let count = indexes.count
            indexes.removeAll { $0.name == name }
            return indexes.count < count
        }
    }

    /// Removes the unique constraint of these attributes, in any order. Returns false if it does not exist.
    @discardableResult
    public func removeUniqueConstraint(_ attributes: [String]) throws -> Bool {
        try edit {
            let count = uniqueConstraints.count
            uniqueConstraints.removeAll { Set($0) == Set(attributes) }
            return uniqueConstraints.count < count
        }
    }
}

extension FetchIndex {
    fileprivate func names(_ property: String) -> Bool {
        let paths =
            elements.map { $0.expression?.expression?.keyPaths ?? [KeyPath($0.property)] }.flatMap(\.self)
            + (partialPredicate?.predicate?.keyPaths ?? [])
        return paths.contains { $0.keys.first?.text == property }
    }
}
