import CorestoneValues

/// What an object is checked for.
public enum ValidationPurpose: UInt32, Sendable {
    case insert = 1
    case update, delete
}

/// Checks that a host wrote for the objects of an entity. Objects come as what the layer above knows them by.
package struct EntityValidators: Sendable {
    /// Gives the value back, or another one to be saved instead; throws when there is none. No purpose: the value is not about
    /// to be saved.
    package typealias ValueCheck =
        @Sendable (_ object: AnyObject, _ value: PropertyValue, _ purpose: ValidationPurpose?) throws -> PropertyValue
    package typealias ObjectCheck = @Sendable (_ object: AnyObject, _ purpose: ValidationPurpose) throws -> Void

    package var values: [(key: String, check: ValueCheck)] = []
    package var objects: [ObjectCheck] = []
    /// The check of whole objects among the hooks, asked last: what it stands for may ask all the others itself.
    package var hook: ObjectCheck?

    package init(
        values: [(key: String, check: ValueCheck)] = [], objects: [ObjectCheck] = [], hook: ObjectCheck? = nil
    ) {
        self.values = values
        self.objects = objects
        self.hook = hook
    }

    package var isEmpty: Bool { values.isEmpty && objects.isEmpty && hook == nil }

    /// These, and then those of an entity that inherits.
    func with(_ others: EntityValidators) -> EntityValidators {
        EntityValidators(
            values: values + others.values, objects: objects + others.objects, hook: others.hook ?? hook)
    }
}

extension Entity {
    /// Adds a check of a property's values, also of entities that inherit. The model must not be frozen.
    package func addValidator(forKey key: String, _ check: @escaping EntityValidators.ValueCheck) throws {
        try change { validators.values.append((key, check)) }
    }

    /// Adds a check of whole objects.
    package func addObjectValidator(_ check: @escaping EntityValidators.ObjectCheck) throws {
        try change { validators.objects.append(check) }
    }

    /// For a copy: the host's code of both kinds.
    func takeValidators(of other: Entity) throws {
        try change {
            validators = validators.with(other.validators)
            hooks = other.hooks
        }
    }

    /// Own validators and inherited ones, parents' first; then those among the hooks.
    func settleValidators() throws {
        let hooked = allHooks?.validators ?? EntityValidators()
        for (key, _) in validators.values + hooked.values
        where anyProperty(named: key).map({ $0 is FetchedProperty }) != false {
            let hint =
                nearestName(to: key, among: allProperties.map(\.name)).map { "; did you mean \"\($0)\"?" }
                ?? "; remove the validator, or correct its key"
            let fault =
                anyProperty(named: key) == nil
                ? "is not a property\(hint)" : "is a fetched property; remove the validator"
            throw modelError("\(name) has a validator for \"\(key)\", which \(fault)", entity: name, key: key)
        }
        allValidators = sequence(first: self, next: \.parent).reversed()
            .reduce(EntityValidators()) { $0.with($1.validators) }.with(hooked)
    }
}
