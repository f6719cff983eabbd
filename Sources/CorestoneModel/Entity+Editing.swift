import CorestonePredicate
import CorestoneValues

/// Changes of what is there already. The model must not be frozen; extras of a source model stay with what they belong to.
extension Entity {
    /// Gives the entity another name. What names it follows: configurations, fetch requests, the localisation.
    public func rename(to newName: String) throws {
        try edit {
            if newName == name { return }
            try model.checkFreeName(newName)
            let former = name
            name = newName
            model.follow(self, from: former)
        }
    }

    /// A property that the entity itself declares, of any kind.
    public func ownProperty(named name: String) -> Property? { ownByName[name] }

    /// A property of any kind by name, inherited and fetched ones included, whether the model is frozen or not.
    public func anyProperty(named name: String) -> Property? {
        sequence(first: self, next: \.parent).lazy.compactMap { $0.ownByName[name] }.first
    }

    /// The property of that name that the entity itself declares, or an error that says who declares it.
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

    /// Takes a property out. Indexes and unique constraints that name it go with it, also those of entities that inherit
    /// it, and so does what the localisation says of it; its inverse has no inverse any more. Predicates that name it stay.
    public func remove(_ property: Property) throws {
        try property.requireUnremoved()
        try property.edit {
            if let composite = (property as? Attribute)?.composite {
                throw modelError(
                    "\(property.entity.name).\(property.path) is an element of a composite attribute; remove it from "
                        + "\(property.entity.name).\(composite.path)", entity: property.entity.name, key: property.path)
            }
            guard ownByName[property.name] === property else {
                throw modelError(
                    "\(property.entity.name).\(property.name) "
                        + (property.entity.model === model
                            ? "is not declared by \(name); remove it from \(property.entity.name)"
                            : "belongs to another model; pass a property of \(name)"),
                    entity: name, key: property.name)
            }
            (property as? Relationship)?.letGoOfInverse()
            forget(property)
            model.forgetLocalization(of: property)
            ownByName[property.name] = nil
            ownAttributes.removeAll { $0 === property }
            ownRelationships.removeAll { $0 === property }
            ownFetchedProperties.removeAll { $0 === property }
            model.bury([property])
            model.uncountProperties(1)
        }
    }

    /// Lets go of what names an own property, also in the entities that inherit it.
    func forget(_ property: Property) {
        for entity in withDescendants {
            entity.indexes.removeAll { $0.names(property.name) }
            entity.uniqueConstraints.removeAll { $0.contains(property.name) }
            entity.validators.values.removeAll { $0.key == property.name }
        }
    }

    /// Removes the index of that name; false when there is none.
    @discardableResult
    public func removeIndex(named name: String) throws -> Bool {
        try edit {
            let count = indexes.count
            indexes.removeAll { $0.name == name }
            return indexes.count < count
        }
    }

    /// Removes the unique constraint of these attributes, in any order; false when there is none.
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
