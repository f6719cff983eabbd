import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// The cached target of a to-one relationship, and the slot of the host for its borrowed reference; see `HostBridge`.
@usableFromInline
struct ToOneTarget {
    @usableFromInline var object: Unmanaged<ManagedObject>?
    @usableFromInline var hostSlot: UInt
}

extension ManagedObject {
    /// Returns the target in the record and caches it. The caller has checked the overlay before.
    @usableFromInline
    func toOneTarget(_ slot: Int, _ layout: SlotLayout) throws -> Unmanaged<ManagedObject>? {
        if let kept = toOneTargets?[Int(layout.ordinal)].object { return kept }
        guard let record, let (key, index) = Record(record).target(slot, layout) else { return nil }
        guard let context else { throw detachedError() }
        guard let store, key >= 0 else {
            guard let target = try context.unsavedTarget(of: self, slot, key: key, entity: index) else { return nil }
            return keep(.passRetained(target), layout)
        }
        let target = context.identityMap.retainedObject(store: store, entityIndex: index, primaryKey: key)
        if let watch = context.faultState.watch {
            target._withUnsafeGuaranteedRef { watch.note($0, reachedBy: entity.relationship(slot)) }
        }
        return keep(target, layout)
    }

    /// Caches and returns the target in the record if it is registered in the passed table.
    @inline(__always)
    func keepRegisteredTarget(
        _ slot: Int, _ layout: SlotLayout, _ table: KeyTable, _ context: Context
    ) -> Unmanaged<ManagedObject>? {
        if let kept = toOneTargets?[Int(layout.ordinal)].object { return kept }
        guard let record, let (key, index) = Record(record).target(slot, layout),
            let target = context.identityMap.registered(in: table, key, entityIndex: index)
        else { return nil }
        return keep(Unmanaged.passRetained(target), layout)
    }

    /// Caches a target that the caller has retained.
    @inline(__always)
    private func keep(_ target: Unmanaged<ManagedObject>, _ layout: SlotLayout) -> Unmanaged<ManagedObject> {
        (toOneTargets ?? allocateTargets())[Int(layout.ordinal)].object = target
        return target
    }

    func keepTarget(_ target: ManagedObject, ordinal: Int) {
        let targets = toOneTargets ?? allocateTargets()
        let old = targets[ordinal].object
        // The slot of the host stays valid, because it was created for this target after the last change.
        targets[ordinal].object = Unmanaged.passRetained(target)
        old?.release()
    }

    func allocateTargets() -> UnsafeMutablePointer<ToOneTarget> {
        let count = entity.layout.toOneCount
        let targets = allocate(toOneTargetsSize).bindMemory(to: ToOneTarget.self, capacity: count)
        targets.initialize(repeating: ToOneTarget(object: nil, hostSlot: 0), count: count)
        toOneTargets = targets
        return targets
    }

    func dropTarget(_ ordinal: Int) {
        guard let targets = toOneTargets else { return }
        releaseTargetSlot(ordinal: ordinal)
        targets[ordinal].object?.release()
        targets[ordinal] = ToOneTarget(object: nil, hostSlot: 0)
    }

    func dropToOneTargets() {
        guard let targets = toOneTargets else { return }
        for ordinal in 0..<entity.layout.toOneCount { dropTarget(ordinal) }
        toOneTargets = nil
        free(targets, toOneTargetsSize)
    }

    /// Returns the changed target of a to-one relationship.
    ///
    /// Returns nil for null, or if the target has left the context without an update of the relationship.
    func changedTarget(_ overlay: Overlay, _ slot: Int) -> ManagedObject? {
        guard case .object(let value) = overlay[slot] else { return nil }
        // The value of a to-one relationship in the overlay is always a managed object.
        let target = unsafeDowncast(value as AnyObject, to: ManagedObject.self)
        return target.state.contains(.detached) ? nil : target
    }

    /// Releases cached targets that leave the context. The next read resolves the primary key in the record again.
    ///
    /// - Parameter withChanges: Whether other writers deleted the targets. A changed relationship with an inverse is
    ///   then set to null. A changed relationship without an inverse is kept, because the row may be inserted again.
    func releaseTargets(withChanges: Bool, where isGone: (ObjectIdentifier) -> Bool) {
        if withChanges { clearChangedTargets(withInverse: true, where: isGone) }
        guard let targets = toOneTargets else { return }
        for ordinal in 0..<entity.layout.toOneCount {
            if let target = targets[ordinal].object, isGone(ObjectIdentifier(target.takeUnretainedValue())) {
                dropTarget(ordinal)
            }
        }
    }

    /// Sets to null the changed to-one relationships whose targets leave the context.
    ///
    /// - Parameter withInverse: Whether only relationships with an inverse are set to null.
    func clearChangedTargets(withInverse: Bool, where isGone: (ObjectIdentifier) -> Bool) {
        overlay?.forEachChanged { slot in
            if entity.layout.slots[slot].role == .toOne, case .object(let target as ManagedObject)? = overlay?[slot],
                isGone(ObjectIdentifier(target)), !withInverse || entity.relationship(slot).inverse != nil
            {
                change(slot) { placeTarget(nil, entity.relationship(slot)) }
            }
        }
    }

    /// Returns the current target of a to-one relationship.
    func target(of relationship: Relationship) throws -> ManagedObject? {
        try fireIfNeeded()
        let view = try view(key: relationship.key)
        guard view.type == .object, let pointer = UnsafeRawPointer(bitPattern: UInt(view.low)) else { return nil }
        return Unmanaged<ManagedObject>.fromOpaque(pointer).takeUnretainedValue()
    }

    /// Checks a value for a relationship, and returns its object as the target or member; nil for null.
    func acceptTarget(_ value: PropertyValue, _ relationship: Relationship) throws -> ManagedObject? {
        switch value {
        case .null: return nil
        case .object(let object as ManagedObject):
            try checkMember(object, relationship)
            return object
        default: throw unsuitableTarget(value, relationship)
        }
    }

    func unsuitableTarget(_ value: PropertyValue, _ relationship: Relationship) -> CoreError {
        let found =
            if case .object(let reference as ObjectIDReference) = value {
                "the ID \(reference.id.uri); get the object with cst_context_object_with_id (get, object)"
            } else {
                value.kindPhrase
            }
        return CoreError(
            .typeMismatch,
            "\(entity.name).\(relationship.name) takes \(relationship.isToMany ? "objects" : "an object") of "
                + "\(relationship.destination.name), not \(found)",
            entity: entity.name, key: relationship.name, value: value, objectURI: objectID.uri)
    }

    func unsuitableMembers(_ value: PropertyValue, _ relationship: Relationship) -> CoreError {
        CoreError(
            .typeMismatch,
            "\(entity.name).\(relationship.name) takes a list or a set of \(relationship.destination.name) objects, not "
                + value.kindPhrase,
            entity: entity.name, key: relationship.name, value: value, objectURI: objectID.uri)
    }

    /// Whether a member does not need a further check, which is the usual case.
    ///
    /// Such a member is in the same context, of exactly the destination entity, and not in another store, and its
    /// delete rules were not applied. The function runs once per member, so it compares pointers and indexes without
    /// retaining objects.
    @inline(__always)
    private func isPlainMember(_ member: ManagedObject, _ relationship: Relationship) -> Bool {
        // Equal owners mean the same context, except for objects without a context. The index identifies the entity
        // within the context's model.
        let ownStore = storeReference?.toOpaque(), otherStore = member.storeReference?.toOpaque()
        return owner == member.owner && state.isDisjoint(with: [.detached, .unattached, .propagated])
            && member.state.isDisjoint(with: [.detached, .unattached, .propagated])
            && member.entityIndex == relationship.destinationIndex
            && (ownStore == otherStore || ownStore == nil || otherStore == nil)
    }

    @inline(__always)
    private var entityIndex: UInt32 { Unmanaged.passUnretained(entity)._withUnsafeGuaranteedRef { $0.index } }

    /// Checks that an object may be a target or a member of a relationship of this object.
    func checkMember(_ member: ManagedObject, _ relationship: Relationship) throws {
        if isPlainMember(member, relationship) { return }
        if member.state.contains(.detached) { throw member.detachedError() }
        // The delete rules of one of the objects have already been applied, so the new reference would not be removed.
        guard !state.contains(.propagated) else {
            throw CoreError(
                .invalidArgument,
                "\(entity.name).\(relationship.name) of \(objectID.uri) cannot be changed, because the object is "
                    + "deleted; \(deletionRemedy)",
                entity: entity.name, key: relationship.name, value: .object(member), objectURI: objectID.uri)
        }
        guard !member.state.contains(.propagated) else {
            throw CoreError(
                .invalidArgument,
                "\(entity.name).\(relationship.name) cannot refer to \(member.entity.name) \(member.objectID.uri), "
                    + "which is deleted; \(member.deletionRemedy)",
                entity: entity.name, key: relationship.name, value: .object(member), objectURI: objectID.uri)
        }
        guard member.entity.isKind(of: relationship.destination) else {
            let origin = member.entity.model === entity.model ? "" : " in another model"
            throw CoreError(
                .typeMismatch,
                "\(entity.name).\(relationship.name) takes an object of \(relationship.destination.name), not of "
                    + "\(member.entity.name)\(origin)",
                entity: entity.name, key: relationship.name, value: .object(member), objectURI: objectID.uri)
        }
        guard member.context === context else { throw refersOutside(member, relationship) }
        if let store, let other = member.store, store !== other {
            throw crossStoreError(relationship, from: store, to: member, in: other)
        }
    }

    /// The remedy in a message about the use of a deleted object.
    ///
    /// A rollback does not restore an object that was never saved, or whose row another writer deleted.
    var deletionRemedy: String {
        if state.contains(.inserted) { return "insert a new object with cst_context_insert (insert)" }
        return context?.changeMerger.isDeletedElsewhere(self) == true
            ? "fetch the objects again with cst_context_fetch (fetch)" : "call cst_context_rollback (rollback) first"
    }

    private func refersOutside(_ member: ManagedObject, _ relationship: Relationship) -> CoreError {
        let target = "\(member.entity.name) \(member.objectID.uri)"
        let isNested = member.context?.parent != nil
        let obstacle =
            if member.context == nil {
                "\(target), which is not in a context; insert it with "
                    + "cst_context_insert_object (insert_object, insert) first"
            } else if context == nil {
                "\(target), because \(entity.name) \(objectID.uri) is not in a context; insert the \(entity.name) "
                    + "with cst_context_insert_object (insert_object, insert) first"
            } else if !mayReach(member) {
                "\(target), which belongs to a context of another coordinator; insert a copy in this context with "
                    + "cst_context_insert (insert)"
            } else {
                "\(target), which belongs to another context; "
                    + (member.hasTemporaryID
                        ? "save the object there\(isNested ? " and in each parent context" : "") "
                            + "with cst_context_save (save), and get it " : "get the object ")
                    + "in this context with cst_context_object_with_id (get, object)"
            }
        return CoreError(
            .invalidArgument, "\(entity.name).\(relationship.name) cannot refer to \(obstacle)", entity: entity.name,
            key: relationship.name, value: .object(member), objectURI: objectID.uri)
    }

    /// Whether this object's coordinator has the store of another context's object, or one to which it may be saved.
    private func mayReach(_ member: ManagedObject) -> Bool {
        guard let context, let other = member.context?.coordinator else { return false }
        let stores = member.store.map { [$0] } ?? other.stores
        return other === context.coordinator || stores.contains { context.store(like: $0) != nil }
    }

    /// Sets a to-one relationship and updates the inverses of the old target and of the new target.
    ///
    /// In a one-to-one relationship, the former partner of the new target loses its reference.
    func setTarget(_ target: ManagedObject?, of relationship: Relationship) throws {
        try together { try connect(target, relationship) }
    }

    private func connect(_ target: ManagedObject?, _ relationship: Relationship) throws {
        let old = try self.target(of: relationship)
        if old === target { return }
        guard let inverse = relationship.resolvedInverse else {
            return try writeTarget(target, relationship)
        }
        // Both sides are loaded before the first change, so that a failure does not change objects.
        if inverse.isToMany {
            let leaving = try old?.toMany(inverse)
            let entering = try target?.toMany(inverse)
            if let target { recordLostTarget(old, relationship, to: target) }
            try writeTarget(target, relationship)
            leaving?.remove(self)
            entering?.addMirrored(self)
        } else {
            let partner = try target?.target(of: inverse)
            let losing = partner === self ? nil : try partner?.loadedUnlessRowIsMissing()
            let leaving = old === self && inverse === relationship ? nil : try old?.loadedUnlessRowIsMissing()
            if let target {
                recordLostTarget(old, relationship, to: target)
                target.recordLostTarget(partner, inverse, to: self)
            }
            try writeTarget(target, relationship)
            try losing?.writeTarget(nil, relationship)
            try leaving?.writeTarget(nil, inverse)
            if let target, target !== self || inverse !== relationship { try target.writeTarget(self, inverse) }
        }
    }

    /// Loads the objects that `setTarget` changes, so that it cannot fail afterwards.
    func loadPartners(of relationship: Relationship, _ target: ManagedObject?) throws {
        // Fails where `setTarget` would fail, in an observer that runs before a change.
        try together {
            let old = try self.target(of: relationship)
            guard old !== target, let inverse = relationship.resolvedInverse, !inverse.isToMany else { return }
            _ = try target?.target(of: inverse)?.loadedUnlessRowIsMissing()
            _ = try old?.loadedUnlessRowIsMissing()
        }
    }

    /// Sets one side of a relationship without its inverse.
    func writeTarget(_ target: ManagedObject?, _ relationship: Relationship) throws {
        try fireIfNeeded()
        if state.intersection([.touched, .observed]) == .touched { return placeTarget(target, relationship) }
        change(Int(relationship.slot)) { placeTarget(target, relationship) }
    }

    /// Sets one side without change tracking.
    func placeTarget(_ target: ManagedObject?, _ relationship: Relationship) {
        let slot = Int(relationship.slot)
        setChange(target.map { .object($0) } ?? .null, slot)
        releaseTargetSlot(ordinal: Int(entity.layout.slots[slot].ordinal))
    }
}
