import CorestoneModel
import CorestoneValues

/// Prepared values in memory of the caller, from which they are moved one by one.
package struct PreparedValues: ~Copyable {
    private let start: UnsafeMutablePointer<ManagedObject.Prepared>
    private var range = 0..<0

    /// - Parameter memory: Not initialised, with a place for each value.
    package init(_ memory: UnsafeMutableBufferPointer<ManagedObject.Prepared>) {
        // Memory without places may not have an address.
        start = memory.baseAddress ?? UnsafeMutablePointer(bitPattern: MemoryLayout<ManagedObject.Prepared>.alignment)!
    }

    deinit { (start + range.lowerBound).deinitialize(count: range.count) }

    fileprivate var remaining: UnsafeMutableBufferPointer<ManagedObject.Prepared> {
        UnsafeMutableBufferPointer(start: start + range.lowerBound, count: range.count)
    }

    package mutating func append(_ value: __owned ManagedObject.Prepared) {
        (start + range.upperBound).initialize(to: value)
        range = range.lowerBound..<range.upperBound + 1
    }

    fileprivate mutating func removeFirst() -> ManagedObject.Prepared? {
        guard !range.isEmpty else { return nil }
        defer { range = range.lowerBound + 1..<range.upperBound }
        return (start + range.lowerBound).move()
    }
}

// Sets several properties together, or none of them: values are prepared, and then applied.
extension ManagedObject {
    /// A value that is checked and converted but not set yet.
    ///
    /// With such values, several properties can be set together or not at all.
    package struct Prepared {
        let slot: Int
        let value: PropertyValue
    }

    /// Checks and converts a value, which `apply` can then set. Fires a fault.
    package func prepare(_ value: __owned PropertyValue, key: UInt32) throws -> Prepared {
        let slot = try self.slot(of: key)
        try fireIfNeeded()
        let layout = entity.layout.slots[slot]
        switch layout.role {
        case .attribute, .external, .transient, .composite:
            return Prepared(slot: slot, value: layout.holds(value) ? value : try accept(value, slot))
        case .toOne:
            _ = try acceptTarget(value, entity.relationship(slot))
            return Prepared(slot: slot, value: value)
        case .toMany: throw toManyError(slot, value)
        }
    }

    /// Sets several properties, or none of them.
    ///
    /// If the application's hook for null fails, `HookRestoration` restores the objects. If one of the properties is a
    /// relationship, observers are notified after all properties are set.
    ///
    /// - Throws: The error of the hook.
    ///   Errors of reading the objects that a relationship connects and disconnects.
    package func apply(_ values: inout PreparedValues) throws {
        if entity.has(.setNilValue) {
            return try ManagedObject.apply(values.remaining.map { (target: self, value: $0) })
        }
        guard values.remaining.count > 1, values.remaining.contains(where: { isRelationship($0.slot) }) else {
            return try applyEach(&values)
        }
        if entity.hasOneToOne { for value in values.remaining { try loadPartners(for: value) } }
        guard let observers = contextReference?._withUnsafeGuaranteedRef({ $0.observation.objects }) else {
            return try applyEach(&values)
        }
        try observers.together("change relationships of", of: self) { try applyEach(&values) }
    }

    private func applyEach(_ values: inout PreparedValues) throws {
        while let value = values.removeFirst() { try apply(value) }
    }

    private func isRelationship(_ slot: Int) -> Bool { entity.layout.slots[slot].role == .toOne }

    /// Sets properties of several objects, or none of them.
    ///
    /// - Throws: The errors of `apply`.
    package static func apply(_ values: [(target: ManagedObject, value: Prepared)]) throws {
        if values.contains(where: { $0.target.callsSetNil($0.value) }) { return try applyAfterHooks(values) }
        try applyTogether(values)
    }

    /// Loads the objects that setting the values changes, and sets the values.
    private static func applyTogether(_ values: [(target: ManagedObject, value: Prepared)]) throws {
        // A single value loads the objects itself.
        if values.count > 1 {
            for (target, value) in values { try target.loadPartners(for: value) }
        }
        func set() throws { for (target, value) in values { try target.apply(value) } }
        guard values.count > 1, let first = values.first(where: { $0.target.isRelationship($0.value.slot) }) else {
            return try set()
        }
        // An observer between two values could delete the target of the second one.
        try first.target.together { try set() }
    }

    /// Runs the hooks for null, which can fail, and then sets the other values.
    private static func applyAfterHooks(_ values: [(target: ManagedObject, value: Prepared)]) throws {
        let names = values.map { PropertyOfObject(object: ObjectIdentifier($0.target), slot: $0.value.slot) }
        // Only the last value of a property counts.
        let last = Dictionary(zip(names, names.indices), uniquingKeysWith: { _, place in place })
        let places = names.indices.filter { last[names[$0]] == $0 }
        try HookRestoration.restoring(values.map { $0.target }) {
            let unset = try places.filter { place in
                let (target, value) = values[place]
                guard target.callsSetNil(value) else { return true }
                try target.fireIfNeeded()
                return try !target.sendSetNil(value.slot)
            }
            try applyTogether(unset.map { values[$0] })
        }
    }

    /// Loads the objects that a one-to-one relationship connects and disconnects.
    ///
    /// Setting the relationship then cannot fail. Other relationships load both sides before the first change.
    private func loadPartners(for prepared: Prepared) throws {
        guard isRelationship(prepared.slot) else { return }
        let relationship = entity.relationship(prepared.slot)
        guard relationship.isOneToOne else { return }
        try loadPartners(of: relationship, try acceptTarget(prepared.value, relationship))
    }

    private func apply(_ prepared: __owned Prepared) throws {
        switch entity.layout.slots[prepared.slot].role {
        case .toOne:
            let relationship = entity.relationship(prepared.slot)
            try setTarget(try acceptTarget(prepared.value, relationship), of: relationship)
        case .composite: writeComposite(prepared.value, prepared.slot)
        case .attribute where !prepared.value.isNull: write(prepared.value, prepared.slot)
        default: try put(prepared.value, prepared.slot)
        }
    }
}
