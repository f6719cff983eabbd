import CorestoneModel
import CorestoneValues

extension Entity {
    /// Adds a validator for the values of a property.
    ///
    /// A save runs the validator before the model's own validation. The validator returns the value or a replacement to
    /// be saved, or throws if the value is invalid. For a to-many relationship, the value is an array. Null values are
    /// also passed.
    ///
    /// The validator runs on the queue of the object's context, also for objects of subentities. It may read and change
    /// objects, but must not save or validate the context.
    ///
    /// - Throws: `.model` if the model is frozen.
    public func addValidator(
        forKey key: String, _ check: @escaping @Sendable (ManagedObject, PropertyValue) throws -> PropertyValue
    ) throws {
        try addValidator(forKey: key) { object, value, _ in try check(managed(object), value) }
    }

    /// Adds a validator for whole objects that are inserted, updated or deleted.
    ///
    /// The validator runs only if the validators of properties and the model's own validation accept the object.
    ///
    /// - Throws: `.model` if the model is frozen.
    public func addValidator(_ check: @escaping @Sendable (ManagedObject, ValidationPurpose) throws -> Void) throws {
        try addObjectValidator { object, purpose in try check(managed(object), purpose) }
    }
}

/// Returns the object as a managed object. The validators of entities are called with managed objects only.
package func managed(_ object: AnyObject) -> ManagedObject { unsafeDowncast(object, to: ManagedObject.self) }

extension ManagedObject {
    /// Runs the application's validators. A validator that validates the same object again does not run them again.
    ///
    /// - Parameter asksHook: Whether to run the lifecycle hook that validates whole objects.
    func runValidators(
        _ purpose: ValidationPurpose, asksHook: Bool = true, into failures: inout ValidationFailures
    ) throws {
        let validators = entity.allValidators
        guard !validators.isEmpty, state.insert(.validating).inserted else { return }
        defer { state.remove(.validating) }
        if try purpose == .update && isRowMissing() { return }
        if purpose != .delete {
            for validator in validators.values { try run(validator, purpose, into: &failures) }
        }
        let hook = asksHook ? validators.hook : nil
        if validators.objects.isEmpty && hook == nil
            || failures.errors.contains(where: { $0.objectURI == objectID.uri })
        {
            return
        }
        var own = ValidationFailures()
        try validateByModel(purpose, into: &own)
        guard own.errors.isEmpty else { return }
        for check in validators.objects + (hook.map { [$0] } ?? []) {
            do { try asHook { try check(self, purpose) } } catch {
                failures.append(validatorError(error, purpose: purpose))
            }
        }
    }

    private func run(
        _ validator: (key: String, check: EntityValidators.ValueCheck), _ purpose: ValidationPurpose,
        into failures: inout ValidationFailures
    ) throws {
        guard !state.contains(.detached), let property = entity.property(named: validator.key) else { return }
        let layout = entity.layout.slots[Int(property.slot)]
        // Like the model's rules, validators skip unchanged to-many relationships.
        if layout.role == .toMany, purpose != .insert, toMany(ordinal: Int(layout.ordinal))?.hasChanges != true {
            return
        }
        let value = try self.value(slot: Int(property.slot))
        do {
            let checked = try asHook { try validator.check(self, value, purpose) }
            if checked != value, !state.contains(.detached) { try setValue(checked, forKey: property.name) }
        } catch { failures.append(validatorError(error, property, value)) }
    }

    /// Runs a validator under the rules of a lifecycle hook.
    private func asHook<Result>(_ body: () throws -> Result) throws -> Result {
        guard let context else { return try body() }
        return try context.whileHookRuns(of: self, body)
    }

    /// Returns a proposed value after the application's validators may have replaced it.
    func validated(_ proposed: PropertyValue, _ property: Property, into failures: inout ValidationFailures)
        -> PropertyValue
    {
        guard state.insert(.validating).inserted else { return proposed }
        defer { state.remove(.validating) }
        var value = proposed
        for validator in entity.allValidators.values where validator.key == property.name {
            do { value = try asHook { try validator.check(self, value, nil) } } catch {
                failures.append(validatorError(error, property, value))
            }
        }
        return value
    }
}
