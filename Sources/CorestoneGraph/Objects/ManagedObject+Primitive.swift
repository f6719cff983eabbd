import CorestoneModel
import CorestoneValues

// Access to primitive values, without change tracking or notifications. Custom accessors of the application use it.
// They call `willAccess` and `didAccess` around a read, and `willChange` and `didChange` around a write.
extension ManagedObject {
    /// Returns the value of a property without firing a fault.
    ///
    /// Returns null for an unchanged property of a fault, and for a to-many relationship that is not loaded.
    package func primitiveValue(key: UInt32) throws -> PropertyValue {
        let slot = try self.slot(of: key)
        if state.contains(.detached) { throw detachedError() }
        let layout = entity.layout.slots[slot]
        if layout.role == .toMany { return try primitiveMembers(key: key)?.asValue ?? .null }
        return isFault && overlay?.isChanged(slot) != true ? .null : try value(slot: slot)
    }

    /// Returns the members of a to-many relationship; nil if they are not loaded.
    package func primitiveMembers(key: UInt32) throws -> [ManagedObject]? {
        let relationship = try toManyRelationship(key: key)
        if state.contains(.detached) { throw detachedError() }
        let collection = toMany(ordinal: Int(entity.layout.slots[Int(relationship.slot)].ordinal))
        // An object that was never saved does not have stored members.
        if collection == nil, state.contains(.inserted) { return [] }
        return try collection.flatMap { $0.isLoaded ? try $0.all() : nil }
    }

    /// Returns the value of an attribute or to-one relationship in memory, without a copy or firing a fault.
    package func primitiveView(key: UInt32) throws -> ValueView {
        let slot = try self.slot(of: key)
        if state.contains(.detached) { throw detachedError() }
        return isFault && overlay?.isChanged(slot) != true ? .null : try view(key: key)
    }

    /// Sets a property without further effects.
    ///
    /// The object is not marked as changed, and an inverse is not updated. A save writes the value if another change
    /// marks the object. A refresh discards the value. The function is for values that the application derives when an
    /// object is fetched, and for custom setters. Fires a fault.
    package func setPrimitive(_ value: PropertyValue, key: UInt32) throws {
        let prepared = try prepare(value, key: key)
        switch entity.layout.slots[prepared.slot].role {
        case .toOne:
            let relationship = entity.relationship(prepared.slot)
            placeTarget(try acceptTarget(prepared.value, relationship), relationship)
        case .composite:
            for (leaf, part) in entity.attribute(prepared.slot).decomposed(prepared.value) {
                setChange(part, Int(leaf.slot))
            }
        default: setChange(prepared.value, prepared.slot)
        }
    }

    /// Sets the members of a to-many relationship without further effects, like `setPrimitive`.
    package func setPrimitiveMembers(_ objects: [ManagedObject], key: UInt32) throws {
        let relationship = try toManyRelationship(key: key)
        for object in objects { try checkMember(object, relationship) }
        var distinct = ObjectList()
        for object in objects { _ = distinct.append(object) }
        try toMany(relationship).keep(distinct.objects)
    }
}

// MARK: - Manual change notification

/// The kind of a manual change of members, with Core Data's raw values.
public enum SetMutation: UInt32, Sendable {
    /// Members are added.
    case union = 1
    /// Members are removed.
    case minus
    /// All members except the passed ones are removed.
    case intersect
    /// The members are replaced.
    case set
}

/// A manual change by the application, with the former target or members of a relationship.
private struct ManualChange {
    let slot: Int
    let formerTarget: ManagedObject?
    let formerMembers: [ManagedObject]
}

/// The manual changes in progress, by object. They are not stored in the objects, because only few objects have any.
private let manualChanges = Locked<[ObjectIdentifier: [ManualChange]]>([:])

extension ManagedObject {
    /// Prepares a read of a primitive value.
    ///
    /// Fires the fault, and loads the members of a to-many relationship.
    ///
    /// - Parameter key: The property; nil for the whole object.
    package func willAccess(key: UInt32?) throws {
        let slot = try key.map { try self.slot(of: $0) }
        try fireIfNeeded()
        if let slot, let relationship = entity.properties[slot] as? Relationship, relationship.isToMany {
            try toMany(relationship).load()
        }
    }

    /// Ends a read of a primitive value.
    package func didAccess(key: UInt32?) throws { if let key { _ = try slot(of: key) } }

    /// Prepares a write of a primitive value.
    ///
    /// Marks the object as changed, records the former value for undo, and notifies observers. For an attribute that
    /// ignores changes, the object is not marked.
    ///
    /// - Parameters:
    ///   - mutation: The kind of change of a to-many relationship.
    ///   - objects: The members that the mutation adds, removes, keeps or sets.
    package func willChange(key: UInt32, _ mutation: SetMutation? = nil, _ objects: [ManagedObject] = []) throws {
        let slot = try self.slot(of: key)
        try fireIfNeeded()
        let relationship = entity.properties[slot] as? Relationship
        var change = ManualChange(slot: slot, formerTarget: nil, formerMembers: [])
        if let relationship, relationship.isToMany {
            for object in objects { try checkMember(object, relationship) }
            change = ManualChange(slot: slot, formerTarget: nil, formerMembers: try toMany(relationship).all())
            willChangeMembers()
        } else {
            if mutation != nil {
                _ = try toManyRelationship(
                    key: key, remedy: "call cst_object_will_change (will_change, willChangeValue) without a mutation")
            }
            if let relationship {
                change = ManualChange(slot: slot, formerTarget: try target(of: relationship), formerMembers: [])
            }
            if !entity.layout.slots[slot].conditions.contains(.ignored) {
                willChange(ofRelationship: relationship != nil)
            }
        }
        if state.contains(.observed) { willChangeObserved(slot) }
        manualChanges.withLock { $0[ObjectIdentifier(self), default: []].append(change) }
        state.insert(.observed)
    }

    /// Ends a write of a primitive value: updates inverses and notifies observers.
    ///
    /// - Throws: `.invalidArgument` if `willChange` was not called for the property before.
    package func didChange(key: UInt32, _ mutation: SetMutation? = nil, _ objects: [ManagedObject] = []) throws {
        let slot = try self.slot(of: key)
        if mutation != nil {
            _ = try toManyRelationship(
                key: key, remedy: "call cst_object_did_change (did_change, didChangeValue) without a mutation")
        }
        guard let change = takeManualChange(slot) else {
            let name = entity.properties[slot].path
            throw CoreError(
                .invalidArgument,
                "a change of \(entity.name).\(name) was not announced, or has already ended; call "
                    + "cst_object_will_change (will_change, willChangeValue) before setting the primitive value",
                entity: entity.name, key: name, objectURI: objectID.uri)
        }
        try together("call cst_object_did_change (did_change, didChangeValue) for") {
            defer { if state.contains(.observed) { didChangeObserved(slot) } }
            try connect(after: change)
        }
        endObservation()
    }

    /// Restores the former value of the relationship and then sets the new one, so that inverses are updated.
    private func connect(after change: ManualChange) throws {
        guard let relationship = entity.properties[change.slot] as? Relationship else { return }
        if relationship.isToMany {
            let collection = try toMany(relationship)
            let members = try collection.all()
            try collection.keep(change.formerMembers)
            try setMembers(members, key: relationship.key)
        } else {
            let target = try target(of: relationship)
            placeTarget(change.formerTarget, relationship)
            try setTarget(target, of: relationship)
        }
    }

    private func takeManualChange(_ slot: Int) -> ManualChange? {
        guard state.contains(.observed) else { return nil }
        return manualChanges.withLock { all in
            guard var changes = all[ObjectIdentifier(self)], let place = changes.lastIndex(where: { $0.slot == slot })
            else { return nil }
            let change = changes.remove(at: place)
            all[ObjectIdentifier(self)] = changes.isEmpty ? nil : changes
            return change
        }
    }

    /// Clears the `observed` flag if the object has neither observers nor manual changes in progress.
    func endObservation() {
        if context?.observation.objects?.isObserved(self) == true { return }
        if manualChanges.withLock({ $0[ObjectIdentifier(self)] == nil }) { state.remove(.observed) }
    }

    /// Removes observers and manual changes. Called when the object is deallocated or leaves its context.
    func dropObservers() {
        guard state.remove(.observed) != nil else { return }
        let former = manualChanges.withLock { $0.removeValue(forKey: ObjectIdentifier(self)) }
        // The changes are released outside the lock, because they may contain the last references to other objects.
        withExtendedLifetime(former) { context?.observation.objects?.forget(self) }
    }
}
