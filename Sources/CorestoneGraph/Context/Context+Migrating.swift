import CorestoneModel
import CorestoneValues

// What a migration manager needs of its contexts. It saves objects before they are complete, and validates all of them at the end.
extension Context {
    /// Whether saves skip validation.
    package var savesUnvalidated: Bool {
        get { settings.savesUnvalidated }
        set { settings.savesUnvalidated = newValue }
    }

    /// Ends every object and forgets the rows that were read for them, so that memory does not grow with the store.
    package func resetWithRows() throws {
        try reset()
        for store in coordinator.stores { store.rowCache.forgetAll() }
    }

    /// Validates stored objects by the model's conditions, as an insertion does.
    ///
    /// - Throws: the failure, or several as the children of one error with code 1560.
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
    /// The value of a slot as the store has it: a transformable attribute's bytes, the members of a relationship.
    package func storedValue(slot: Int) throws -> PropertyValue { try value(slot: slot) }

    /// Sets a slot of an attribute or a to-one relationship; the value is checked and converted as by any setter.
    package func setStoredValue(_ value: PropertyValue, slot: Int) throws { try set(value, slot: slot) }
}
