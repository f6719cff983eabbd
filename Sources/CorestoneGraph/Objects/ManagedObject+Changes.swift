import CorestoneModel
import CorestoneValues

// Differences between an object and its last fetched or saved state. Values are compared, so a property that was set to
// its former value again is not changed, unless the row's value is in a backing file. Faults of related objects are not
// fired.
extension ManagedObject {
    /// Whether a persistent property of the object differs from its committed value.
    ///
    /// If it is false, the object does not have a changed value for a save to write. `hasChanges` is also true if only
    /// transient properties were changed, or if properties were set to equal values.
    public var hasPersistentChangedValues: Bool {
        hasChanges && (0..<Int(entity.slotCount)).contains { isDifferent($0) }
    }

    /// The keys of the persistent properties that differ from the committed values. A composite attribute is listed
    /// without its elements.
    package var changedKeys: [UInt32] {
        if !hasChanges { return [] }
        return (0..<Int(entity.slotCount)).filter { isDifferent($0) }.map { entity.slotKeys[$0] }
    }

    /// Returns the new values of the persistent properties that differ from the committed values, by name.
    ///
    /// The value of a to-many relationship is an array of its members, or null if they are not loaded. This function
    /// does not load members.
    public func changedValues() throws -> [String: PropertyValue] {
        try checkQueue()
        var values: [String: PropertyValue] = [:]
        for key in changedKeys { values[propertyName(key: key) ?? ""] = try primitiveValue(key: key) }
        return values
    }

    /// Returns the values of changed properties at the beginning of the current event, by name.
    ///
    /// Only persistent properties are included. An event is the time between two calls of `processPendingChanges`. The
    /// form of the values is that of `changedValues`.
    public func changedValuesForCurrentEvent() throws -> [String: PropertyValue] {
        try checkQueue()
        let former = try valuesAtEventStart(loading: false)
        var values: [String: PropertyValue] = [:]
        for (slot, value) in former where !entity.properties[slot].isTransient {
            if case .set(let members) = value {
                values[entity.properties[slot].path] = .array(Array(members))
            } else if let whole = (entity.properties[slot] as? Attribute)?.outermost, Int(whole.slot) != slot {
                values[whole.path] = try whole.composed { try former[Int($0.slot)] ?? self.value(slot: Int($0.slot)) }
            } else {
                values[entity.properties[slot].path] = value
            }
        }
        return values
    }

    /// Returns the last fetched or saved values.
    ///
    /// The value of a to-one relationship is an ID. The value of a to-many relationship is an array of IDs, which is
    /// read from the store. The values of an unsaved object are null, or empty arrays for to-many relationships.
    /// Transient properties are omitted.
    ///
    /// - Parameter names: The properties; nil for all persistent properties except elements of composite attributes and
    ///   to-many relationships that are not loaded.
    public func committedValues(forKeys names: [String]? = nil) throws -> [String: PropertyValue] {
        try checkQueue()
        try fireIfNeeded()
        let properties =
            try names?.map { try entity.requireProperty(named: $0) } ?? entity.properties.filter(isInMemory)
        var values: [String: PropertyValue] = [:]
        for property in properties where !property.isTransient && (names != nil || !isElement(property)) {
            if let relationship = property as? Relationship, relationship.isToMany {
                values[property.path] = .array(
                    try storedMembers(of: relationship).map { .object(ObjectIDReference($0)) })
            } else {
                values[property.path] = try committedValue(slot: Int(property.slot))
            }
        }
        return values
    }

    private func isElement(_ property: Property) -> Bool { (property as? Attribute)?.composite != nil }

    private func isInMemory(_ property: Property) -> Bool {
        guard let relationship = property as? Relationship, relationship.isToMany else { return true }
        return toMany(ordinal: Int(entity.layout.slots[Int(relationship.slot)].ordinal))?.isLoaded == true
    }

    /// Whether the value of a persistent property differs from its committed value.
    ///
    /// False for derived attributes, and for elements of composite attributes.
    func isDifferent(_ slot: Int) -> Bool {
        let layout = entity.layout.slots[slot]
        let property = entity.properties[slot]
        // The change of an element counts as a change of its outermost composite attribute.
        if layout.conditions.contains(.derived) || property.isTransient || isElement(property) { return false }
        switch layout.role {
        case .transient: return false
        case .toMany: return toMany(ordinal: Int(layout.ordinal))?.hasChanges ?? false
        case .composite: return entity.attribute(slot).leaves.contains { isValueDifferent(Int($0.slot)) }
        case .attribute, .external, .toOne: return isValueDifferent(slot)
        }
    }

    private func isValueDifferent(_ slot: Int) -> Bool {
        guard let overlay, overlay.isChanged(slot) else { return false }
        let (value, layout) = (overlay[slot], entity.layout.slots[slot])
        guard let record else { return !state.contains(.inserted) || !value.isNull }
        if layout.role == .toOne {
            let former = Record(record).target(slot, layout)
            let target = changedTarget(overlay, slot)
            guard let target, let former else { return (former == nil) != (target == nil) }
            return target.primaryKey != former.primaryKey
                || target.entity.root !== context?.entity(at: former.entity).root
        }
        // A value in a backing file is not read for the comparison, so a set value counts as different.
        if layout.role == .external, Record(record).fileName(slot, layout) != nil { return true }
        return Record(record).view(slot, layout).propertyValue != value
    }
}

// MARK: - Faulting state

extension ManagedObject {
    /// The faulting state: 1 for a fault or an object that has left its context, otherwise 0.
    public var faultingState: Int { isFault ? 1 : 0 }

    /// Whether a relationship is a fault: its members are not loaded, or the object or the target is a fault.
    ///
    /// This call does not read the store.
    package func hasFault(key: UInt32) throws -> Bool {
        let relationship = try requireRelationship(key: key)
        if state.contains(.detached) { throw detachedError() }
        let (slot, layout) = (Int(relationship.slot), entity.layout.slots[Int(relationship.slot)])
        if relationship.isToMany {
            return toMany(ordinal: Int(layout.ordinal)).map { !$0.isLoaded } ?? !state.contains(.inserted)
        }
        if let overlay, overlay.isChanged(slot) {
            return changedTarget(overlay, slot)?.isFault ?? false
        }
        if isFault { return true }
        guard let record, let (target, index) = Record(record).target(slot, layout), let context else { return false }
        return context.identityMap.registered(store: store, root: context.entity(at: index).root, primaryKey: target)?
            .isFault
            ?? true
    }

    /// Returns the IDs of a relationship's targets, including unsaved changes.
    ///
    /// The targets of an ordered relationship are in order. Reads the store if necessary, but does not create objects
    /// for the targets.
    package func objectIDs(key: UInt32) throws -> [ObjectID] {
        let relationship = try requireRelationship(key: key)
        if relationship.isToMany {
            let collection = try toMany(relationship)
            if collection.isLoaded { return try collection.all().map(\.objectID) }
            let removed = Set(collection.removedMembers.map(\.objectID))
            let stored = try storedMembers(of: relationship)
            let known = Set(stored)
            return stored.filter { !removed.contains($0) }
                + collection.addedMembers.map(\.objectID).filter { !known.contains($0) }
        }
        let (slot, layout) = (Int(relationship.slot), entity.layout.slots[Int(relationship.slot)])
        if state.contains(.detached) { throw detachedError() }
        if let overlay, overlay.isChanged(slot) {
            return changedTarget(overlay, slot).map { [$0.objectID] } ?? []
        }
        if record == nil, !state.contains(.inserted), let context { try context.faultLoader.loadRow(of: self) }
        guard let record, let (target, index) = Record(record).target(slot, layout), let context else { return [] }
        return [ObjectID(store: store, entity: context.entity(at: index), reference: target)]
    }

    /// Returns the IDs of the members in the store; empty for an object that was never saved.
    func storedMembers(of relationship: Relationship) throws -> [ObjectID] {
        guard let context, let store, !state.contains(.inserted) else { return [] }
        return try context.using(store) {
            let found = try context.reader(of: store).members(
                of: relationship, owners: [primaryKey], includingRows: false)
            return found.members.map {
                ObjectID(store: store, entity: context.entity(at: $0.entity), reference: $0.primaryKey)
            }
        }
    }

    private func requireRelationship(key: UInt32) throws -> Relationship {
        let slot = try self.slot(of: key)
        let property = entity.properties[slot]
        if let relationship = property as? Relationship { return relationship }
        let name = property.path
        throw CoreError(
            .typeMismatch,
            "\(entity.name).\(name) is \(property.kindPhrase), not a relationship; pass a relationship, or read "
                + "the value with cst_object_get (get)",
            entity: entity.name, key: name, objectURI: objectID.uri)
    }
}

extension Attribute {
    /// The outermost composite attribute of an element; otherwise the attribute itself.
    fileprivate var outermost: Attribute { composite?.outermost ?? self }
}
