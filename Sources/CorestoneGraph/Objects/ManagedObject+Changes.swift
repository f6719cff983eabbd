import CorestoneModel
import CorestoneValues

// How an object differs from what was last fetched or saved: by value, so that what was set and set back is no change. No fault
// of a relationship fires for it.
extension ManagedObject {
    /// Whether a save would write something for the object: persistent properties differ from what was last fetched or saved.
    /// `hasChanges` asks less: whether anything was set at all.
    public var hasPersistentChangedValues: Bool {
        hasChanges && (0..<Int(entity.slotCount)).contains { isDifferent($0) }
    }

    /// The keys of the persistent properties that differ; of a composite attribute its own.
    package var changedKeys: [UInt32] {
        if !hasChanges { return [] }
        return (0..<Int(entity.slotCount)).filter { isDifferent($0) }.map { entity.slotKeys[$0] }
    }

    /// The new values of the persistent properties that differ, by name. The members of a to-many relationship are an array;
    /// null where nobody loaded them yet, which this does not change.
    public func changedValues() throws -> [String: PropertyValue] {
        try checkQueue()
        var values: [String: PropertyValue] = [:]
        for key in changedKeys { values[propertyName(key: key) ?? ""] = try primitiveValue(key: key) }
        return values
    }

    /// The values that persistent properties had when the event began that runs, by name, of those that it changed: an event is
    /// what happens between two calls of `processPendingChanges`. Values are as in `changedValues`.
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

    /// The values as last fetched or saved: to-one targets as IDs, members as arrays of IDs, null for what an unsaved object
    /// has. Transient properties have none and are left out. nil asks for all persistent properties but to-many relationships
    /// that nobody loaded yet.
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

    /// Whether the value of a persistent property is another than the one last fetched or saved.
    func isDifferent(_ slot: Int) -> Bool {
        let layout = entity.layout.slots[slot]
        let property = entity.properties[slot]
        // An element counts as its composite attribute.
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
        // What lies in a file is compared by being asked for at all: another value was set.
        if layout.role == .external, Record(record).fileName(slot, layout) != nil { return true }
        return Record(record).view(slot, layout).propertyValue != value
    }
}

// MARK: - The state of faults

extension ManagedObject {
    /// 0 for an object with its values, 1 for a fault.
    public var faultingState: Int { isFault ? 1 : 0 }

    /// Whether a relationship would have to be read from the store, or its target would: its members were not asked for, or its
    /// target is a fault. Reads nothing.
    package func hasFault(key: UInt32) throws -> Bool {
        let relationship = try requireRelationship(key: key)
        if state.contains(.gone) { throw gone() }
        let (slot, layout) = (Int(relationship.slot), entity.layout.slots[Int(relationship.slot)])
        if relationship.isToMany {
            return toMany(ordinal: Int(layout.ordinal)).map { !$0.isLoaded } ?? !state.contains(.inserted)
        }
        if let overlay, overlay.isChanged(slot) {
            return changedTarget(overlay, slot)?.isFault ?? false
        }
        if isFault { return true }
        guard let record, let (target, index) = Record(record).target(slot, layout), let context else { return false }
        return context.registered(store: store, root: context.entity(at: index).root, primaryKey: target)?.isFault
            ?? true
    }

    /// The IDs that a relationship leads to, unsaved changes included: none or one where it is to-one, in order where it is
    /// ordered. Reads the store where it must, but makes no object and fires no fault.
    package func objectIDs(key: UInt32) throws -> [ObjectID] {
        let relationship = try requireRelationship(key: key)
        if relationship.isToMany {
            let keeper = try toMany(relationship)
            if keeper.isLoaded { return try keeper.all().map(\.objectID) }
            let removed = Set(keeper.removedMembers.map(\.objectID))
            let stored = try storedMembers(of: relationship)
            let known = Set(stored)
            return stored.filter { !removed.contains($0) }
                + keeper.addedMembers.map(\.objectID).filter { !known.contains($0) }
        }
        let (slot, layout) = (Int(relationship.slot), entity.layout.slots[Int(relationship.slot)])
        if state.contains(.gone) { throw gone() }
        if let overlay, overlay.isChanged(slot) {
            return changedTarget(overlay, slot).map { [$0.objectID] } ?? []
        }
        if record == nil, !state.contains(.inserted), let context { try context.loadRow(of: self) }
        guard let record, let (target, index) = Record(record).target(slot, layout), let context else { return [] }
        return [ObjectID(store: store, entity: context.entity(at: index), reference: target)]
    }

    /// The members as the store has them.
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
            "\(entity.name).\(name) is \(property.kindPhrase), not a relationship; read its value instead",
            entity: entity.name, key: name, objectURI: objectID.uri)
    }
}

extension Attribute {
    /// The composite attribute that an element belongs to, at last; else the attribute itself.
    fileprivate var outermost: Attribute { composite?.outermost ?? self }
}
