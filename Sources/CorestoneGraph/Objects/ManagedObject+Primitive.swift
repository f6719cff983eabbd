import CorestoneModel
import CorestoneValues

// Values as they are kept, without a word to anybody: for accessors that hosts write by hand, who say before and after what
// they do (`willChange`, `didChange`).
extension ManagedObject {
    /// What the object keeps for a property. Fires no fault: null of a fault, and of a to-many relationship that nobody loaded.
    package func primitiveValue(key: UInt32) throws -> PropertyValue {
        let slot = try self.slot(of: key)
        if state.contains(.gone) { throw gone() }
        let layout = entity.layout.slots[slot]
        if layout.role == .toMany { return try primitiveMembers(key: key)?.asValue ?? .null }
        return isFault && overlay?.isChanged(slot) != true ? .null : try value(slot: slot)
    }

    /// The members of a to-many relationship; nil when nobody loaded them.
    package func primitiveMembers(key: UInt32) throws -> [ManagedObject]? {
        let relationship = try toManyRelationship(key: key)
        if state.contains(.gone) { throw gone() }
        let keeper = toMany(ordinal: Int(entity.layout.slots[Int(relationship.slot)].ordinal))
        // An object that was never saved has all that there is.
        if keeper == nil, state.contains(.inserted) { return [] }
        return try keeper.flatMap { $0.isLoaded ? try $0.all() : nil }
    }

    /// The same without a copy, of what is not to-many.
    package func primitiveView(key: UInt32) throws -> ValueView {
        let slot = try self.slot(of: key)
        if state.contains(.gone) { throw gone() }
        return isFault && overlay?.isChanged(slot) != true ? .null : try view(key: key)
    }

    /// Sets a property and nothing else: the object does not count as changed by it, and an inverse stays as it is. A save
    /// writes the value once another change makes the object one to save; a refresh drops it.
    ///
    /// For values that the host derives from others when an object comes in, and for setters of the host's own.
    package func setPrimitive(_ value: PropertyValue, key: UInt32) throws {
        let prepared = try prepare(value, key: key)
        switch entity.layout.slots[prepared.slot].role {
        case .toOne:
            let relationship = entity.relationship(prepared.slot)
            placeTarget(try acceptTarget(prepared.value, relationship), relationship)
        case .composite:
            for (leaf, part) in entity.attribute(prepared.slot).decomposed(prepared.value) {
                overlayForWriting().set(part, Int(leaf.slot))
            }
        default: overlayForWriting().set(prepared.value, prepared.slot)
        }
    }

    /// The same for the members of a to-many relationship.
    package func setPrimitiveMembers(_ objects: [ManagedObject], key: UInt32) throws {
        let relationship = try toManyRelationship(key: key)
        for object in objects { try checkMember(object, relationship) }
        var distinct = ObjectList()
        for object in objects { _ = distinct.append(object) }
        try toMany(relationship).keep(distinct.objects)
    }
}

// MARK: - What hosts say around their accessors

/// Which change of members a host is about to make by hand; Core Data's codes.
public enum SetMutation: UInt32, Sendable {
    /// Some come.
    case union = 1
    /// Some go.
    case minus
    /// Only some stay.
    case intersect
    /// Others take their place.
    case set
}

/// A change that a host makes by hand: what there was before.
private struct ManualChange {
    let slot: Int
    let formerTarget: ManagedObject?
    let formerMembers: [ManagedObject]
}

/// Begun and not ended ones; few objects ever have any.
private let manualChanges = Locked<[ObjectIdentifier: [ManualChange]]>([:])

extension ManagedObject {
    /// Before a host reads a primitive value: fires the fault, of a to-many relationship too. nil: the whole object's.
    package func willAccess(key: UInt32?) throws {
        let slot = try key.map { try self.slot(of: $0) }
        try fireIfNeeded()
        if let slot, let relationship = entity.properties[slot] as? Relationship, relationship.isToMany {
            try toMany(relationship).load()
        }
    }

    /// After it.
    package func didAccess(key: UInt32?) throws { if let key { _ = try slot(of: key) } }

    /// Before a host sets a primitive value: the object counts as changed, undo notes what there was, observers are told.
    /// `objects` are the members that the mutation is about.
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
            if mutation != nil { _ = try toManyRelationship(key: key) }
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

    /// After it: inverses follow, observers are told.
    /// - Throws: `.invalidArgument` when no `willChange` for the property came before.
    package func didChange(key: UInt32, _ mutation: SetMutation? = nil, _ objects: [ManagedObject] = []) throws {
        let slot = try self.slot(of: key)
        if mutation != nil { _ = try toManyRelationship(key: key) }
        guard let change = takeManualChange(slot) else {
            let name = entity.properties[slot].path
            throw CoreError(
                .invalidArgument,
                "\(entity.name).\(name) was not announced as changing; call cst_object_will_change (will_change, willChangeValue) "
                    + "before setting the primitive value",
                entity: entity.name, key: name, objectURI: objectID.uri)
        }
        try together {
            defer { if state.contains(.observed) { didChangeObserved(slot) } }
            try connect(after: change)
        }
        endObservation()
    }

    /// Gives the relationship its former value back, and sets it to what the host set, so that inverses follow.
    private func connect(after change: ManualChange) throws {
        guard let relationship = entity.properties[change.slot] as? Relationship else { return }
        if relationship.isToMany {
            let keeper = try toMany(relationship)
            let members = try keeper.all()
            try keeper.keep(change.formerMembers)
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

    /// Takes the mark of being observed away when nobody observes the object any more and no change by hand runs.
    func endObservation() {
        if context?.observation.objects?.isObserved(self) == true { return }
        if manualChanges.withLock({ $0[ObjectIdentifier(self)] == nil }) { state.remove(.observed) }
    }

    /// For the end of the object, or when it leaves its context.
    func dropObservers() {
        guard state.remove(.observed) != nil else { return }
        let former = manualChanges.withLock { $0.removeValue(forKey: ObjectIdentifier(self)) }
        // Outside the lock: they may be the last references to other objects.
        withExtendedLifetime(former) { context?.observation.objects?.forget(self) }
    }
}
