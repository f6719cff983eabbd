import CorestoneValues

/// The change for which an object is validated.
public enum ValidationPurpose: UInt32, Sendable {
    case insert = 1
    case update, delete
}

/// The application's validators for the objects of an entity. The type of the objects is defined by the object graph.
package struct EntityValidators: Sendable {
    /// A function that returns the value or a replacement to be saved; throws if the value is invalid.
    ///
    /// Without a purpose, the value is validated outside a save.
    package typealias ValueCheck =
        @Sendable (_ object: AnyObject, _ value: PropertyValue, _ purpose: ValidationPurpose?) throws -> PropertyValue
    package typealias ObjectCheck = @Sendable (_ object: AnyObject, _ purpose: ValidationPurpose) throws -> Void

    package var values: [(key: String, check: ValueCheck)] = []
    package var objects: [ObjectCheck] = []
    /// The object validator of the hooks. It runs last, because it may call all other validators itself.
    package var hook: ObjectCheck?

    package init(
        values: [(key: String, check: ValueCheck)] = [], objects: [ObjectCheck] = [], hook: ObjectCheck? = nil
    ) {
        self.values = values
        self.objects = objects
        self.hook = hook
    }

    package var isEmpty: Bool { values.isEmpty && objects.isEmpty && hook == nil }

    /// Returns these validators, followed by those of a subentity.
    func with(_ others: EntityValidators) -> EntityValidators {
        EntityValidators(
            values: values + others.values, objects: objects + others.objects, hook: others.hook ?? hook)
    }
}

extension Entity {
    /// Adds a validator for the values of a property, including in subentities. The model must not be frozen.
    package func addValidator(forKey key: String, _ check: @escaping EntityValidators.ValueCheck) throws {
        try change { validators.values.append((key, check)) }
    }

    /// Adds a validator for whole objects.
    package func addObjectValidator(_ check: @escaping EntityValidators.ObjectCheck) throws {
        try change { validators.objects.append(check) }
    }

    /// Copies the validators and hooks of another entity.
    func copyValidators(of other: Entity) throws {
        try change {
            validators = validators.with(other.validators)
            hooks = other.hooks
        }
    }

    /// Combines the entity's validators with inherited ones.
    ///
    /// Those of superentities are first, and those of the hooks last.
    func resolveValidators() throws {
        let hooked = allHooks?.validators ?? EntityValidators()
        for (key, _) in validators.values + hooked.values
        where anyProperty(named: key).map({ $0 is FetchedProperty }) != false {
            let head = key.firstIndex(of: ".").map { String(key[..<$0]) }
            let fault: String
            if anyProperty(named: key) != nil {
                fault = "is a fetched property; remove the validator"
            } else if let head, let property = anyProperty(named: head), !(property is FetchedProperty) {
                fault = "is a key path, not a property; add the validator for \"\(head)\""
            } else {
                let names = allProperties.filter { !($0 is FetchedProperty) }.map(\.name)
                let near = nearestName(to: key, among: names).map { "did you mean \"\($0)\"?" }
                fault = "is not a property; \(near ?? "remove the validator, or correct its key")"
            }
            throw modelError("\(name) has a validator for \"\(key)\", which \(fault)", entity: name, key: key)
        }
        allValidators = sequence(first: self, next: \.parent).reversed()
            .reduce(EntityValidators()) { $0.with($1.validators) }.with(hooked)
    }
}
