import CorestoneModel
import CorestoneValues

// Functions for the contexts of a migration manager, which saves incomplete objects and validates all of them at the
// end.
extension Context {
    /// Whether saves skip validation.
    package var savesUnvalidated: Bool {
        get { settings.savesUnvalidated }
        set { settings.savesUnvalidated = newValue }
    }

    /// Removes all objects and discards all cached rows, so that memory use does not grow with the store.
    package func resetWithRows() throws {
        try reset()
        for store in coordinator.stores { store.rowCache.forgetAll() }
    }

    /// Validates saved objects by the model's validation rules for insertions.
    ///
    /// - Throws: The validation error, or several as the children of one error with code 1560.
    package func validateStored(_ objects: [ManagedObject]) throws {
        var failures = ValidationFailures()
        for object in objects {
            try object.fireIfNeeded()
            try object.validateProperties(as: .insert, into: &failures)
        }
        try failures.check()
    }
}

extension ManagedObject {
    /// Returns the value of a slot in its stored form.
    ///
    /// For a transformable attribute, the value is its bytes; for a relationship, its target or members.
    package func storedValue(slot: Int) throws -> PropertyValue { try value(slot: slot) }

    /// Sets a slot of an attribute or a to-one relationship. The value is checked and converted as by every setter.
    package func setStoredValue(_ value: PropertyValue, slot: Int) throws { try set(value, slot: slot) }
}
