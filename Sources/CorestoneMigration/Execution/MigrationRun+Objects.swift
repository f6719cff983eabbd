import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

// The work of a mapping on one object.
extension MigrationRun {
    /// Creates the destination object of a source object, sets its attributes, and associates the two.
    @discardableResult
    func createDestinationInstance(forSource source: ManagedObject, in plan: EntityPlan) throws -> ManagedObject? {
        guard let entity = plan.destination else { return nil }
        let object = try evaluating(plan, "create \(entity.name)", source) { try destinationContext.insert(entity) }
        for (property, attribute, value) in plan.attributes {
            try evaluating(plan, attribute, source) {
                let found: PropertyValue =
                    switch value {
                    case .slot(let slot): try source.storedValue(slot: slot)
                    case .expression(let expression):
                        try expression.value(
                            with: .object(source),
                            variables: variables(of: plan, property, source: source, destination: object))
                    }
                try object.setStoredValue(found.fitting(attribute.type), slot: Int(attribute.slot))
            }
        }
        try associations.add(source, object, mapping: plan.number)
        return object
    }

    /// Sets the relationships of an object that a mapping created, with the expressions of the mapping.
    func createRelationships(
        from source: ManagedObject?, to destination: ManagedObject, in plan: EntityPlan
    ) throws {
        for (property, relationship, members) in plan.relationships {
            currentRelationship = relationship
            defer { currentRelationship = nil }
            try evaluating(plan, relationship, source) {
                switch members {
                case .results(let slot, let mapping):
                    let sources = try source?.storedValue(slot: slot).managedObjects ?? []
                    try set(destinations(mapping: mapping, of: sources), relationship, of: destination)
                case .expression(let expression):
                    let found = try expression.value(
                        with: source.map { .object($0) } ?? .null,
                        variables: variables(of: plan, property, source: source, destination: destination))
                    try set(found, relationship, of: destination)
                }
            }
        }
    }

    private func set(_ value: PropertyValue, _ relationship: Relationship, of object: ManagedObject) throws {
        let targets = value.managedObjects
        if !relationship.isToMany, targets.isEmpty, !value.isNull, value.elements == nil {
            throw CoreError(
                .typeMismatch,
                "\(object.entity.name).\(relationship.name) takes an object, not \(value.excerpt)",
                entity: object.entity.name, key: relationship.name, value: value, objectURI: object.objectID.uri)
        }
        try set(targets, relationship, of: object)
    }

    /// Sets a relationship. A to-one relationship is set to the first target, or to nil without targets.
    private func set(_ targets: [ManagedObject], _ relationship: Relationship, of object: ManagedObject) throws {
        if relationship.isToMany {
            var seen: Set<ObjectIdentifier> = []
            let members = targets.filter { seen.insert(ObjectIdentifier($0)).inserted }
            return try object.setValue(.array(members.map { .object($0) }), forKey: relationship.name)
        }
        try object.setStoredValue(targets.first.map { .object($0) } ?? .null, slot: Int(relationship.slot))
    }
}

extension PropertyValue {
    /// Returns the value in the form for an attribute of a numeric type.
    ///
    /// A decimal is converted for a float or integer attribute, a Boolean for a float or decimal attribute. Other values
    /// are unchanged.
    fileprivate func fitting(_ type: AttributeType) -> PropertyValue {
        switch (self, type) {
        case (.decimal(let number), .double), (.decimal(let number), .float): .double(number.double)
        case (.decimal(let number), .integer16), (.decimal(let number), .integer32), (.decimal(let number), .integer64):
            number.integer.map { .int($0) } ?? .double(number.double)
        case (.bool(let flag), .double), (.bool(let flag), .float), (.bool(let flag), .decimal): .int(flag ? 1 : 0)
        default: self
        }
    }
}
