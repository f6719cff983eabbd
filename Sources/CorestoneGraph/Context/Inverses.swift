import CorestoneModel
import CorestoneValues

/// The maintenance of inverse relationships when an object's row or targets are replaced as a whole.
///
/// A merge, a refresh or an undo replaces them. Single changes update both sides themselves. The to-one side has
/// precedence, because it is stored in the row.
struct Inverses {
    let context: Context

    /// Updates the inverses of an object's to-one relationships, in the current and former targets.
    func updateInverses(of object: ManagedObject) throws {
        if object.state.contains(.detached) || object.isDeleted { return }
        for relationship in object.entity.relationships where !relationship.isToMany {
            if object.overlay?.isChanged(Int(relationship.slot)) == true {
                try updateInverse(of: relationship, object)
            } else {
                try updateStoredInverse(relationship, object)
            }
        }
    }

    /// Updates the inverse of a to-one relationship that was not changed since the row was read.
    ///
    /// If an unsaved change of a one-to-one target replaced the reference to the object, the relationship is cleared.
    private func updateStoredInverse(_ relationship: Relationship, _ object: ManagedObject) throws {
        guard let inverse = relationship.resolvedInverse, let target = try object.target(of: relationship),
            target.isUsable(in: context)
        else { return }
        if inverse.isToMany {
            let collection = target.toMany(ordinal: Int(target.entity.layout.slots[Int(inverse.slot)].ordinal))
            if let collection { updateMembership(of: object, in: collection, isMember: true, isStored: true) }
        } else if target.refersElsewhere(inverse, than: object) {
            try object.setOwnSide(to: nil, relationship)
        }
    }

    /// Makes the inverse of a to-one relationship consistent with the relationship.
    ///
    /// - Parameter former: Former targets in addition to the target in the object's row.
    func updateInverse(of relationship: Relationship, _ object: ManagedObject, _ former: [ManagedObject] = []) throws {
        guard let inverse = relationship.resolvedInverse else { return }
        let mine = try object.target(of: relationship)
        let stored = object.storedTarget(of: relationship)
        for partner in [stored] + former where partner !== mine {
            guard let partner, partner.isUsable(in: context) else { continue }
            try updatePartner(of: object, partner, inverse, refersBack: false, isStored: partner === stored)
        }
        guard let mine, mine.isUsable(in: context) else { return }
        try updatePartner(of: object, mine, inverse, refersBack: true, isStored: mine === stored)
    }

    private func updatePartner(
        of object: ManagedObject, _ partner: ManagedObject, _ inverse: Relationship, refersBack: Bool, isStored: Bool
    ) throws {
        if inverse.isToMany {
            updateMembership(of: object, in: try partner.toMany(inverse), isMember: refersBack, isStored: isStored)
            return
        }
        try partner.unlessRowIsMissing {
            let other = try partner.target(of: inverse)
            if (other === object) == refersBack { return }
            try partner.setOwnSide(to: refersBack ? object : nil, inverse)
            guard refersBack, let other, other.isUsable(in: context), let relationship = inverse.resolvedInverse else {
                return
            }
            try other.unlessRowIsMissing {
                if try other.target(of: relationship) === partner { try other.setOwnSide(to: nil, relationship) }
            }
        }
    }

    func updateMembership(
        of object: ManagedObject, in collection: ToManyRelationship, isMember: Bool, isStored: Bool,
        isLoading: Bool = false
    ) {
        if !collection.updateMembership(of: object, isMember: isMember, isStored: isStored, isLoading: isLoading) {
            return
        }
        if collection.hasChanges { collection.owner.willChangeMembers() } else { collection.owner.forgetIfUnchanged() }
    }
}

extension ManagedObject {
    fileprivate func isUsable(in context: Context) -> Bool {
        self.context === context && state.isDisjoint(with: [.detached, .deleted, .propagated])
    }

    /// Sets the target on this side only. If the row has the same target, the object is not marked as changed.
    fileprivate func setOwnSide(to target: ManagedObject?, _ relationship: Relationship) throws {
        try writeTarget(target, relationship)
        let slot = Int(relationship.slot)
        guard let overlay, !state.contains(.inserted), isStored(overlay[slot], slot) else { return }
        clearChange(slot)
        forgetIfUnchanged()
    }

    /// Whether an unsaved change set the target to nil or to an object that is not `owner`.
    func refersElsewhere(_ relationship: Relationship, than owner: ManagedObject) -> Bool {
        let slot = Int(relationship.slot)
        guard let overlay, overlay.isChanged(slot), state.isDisjoint(with: [.propagated, .detached]) else {
            return false
        }
        if case .object(let target as ManagedObject) = overlay[slot] { return target !== owner }
        return true
    }

    /// Returns the target of a to-one relationship in the object's row.
    func storedTarget(of relationship: Relationship) -> ManagedObject? {
        guard case .object(let target) = storedValue(Int(relationship.slot)) else { return nil }
        return target as? ManagedObject
    }
}

extension Inverses {
    /// Returns the current object of a row: the object itself, or the one that was registered for the row later.
    func present(_ object: ManagedObject) -> ManagedObject? {
        if object.context === context, !object.state.contains(.propagated) { return object }
        guard let store = object.store, store.isOpen, object.primaryKey >= 0,
            let other = context.identityMap.registered(
                store: store, root: object.entity, primaryKey: object.primaryKey),
            other !== object, !other.state.contains(.propagated)
        else { return nil }
        return other
    }

    /// Returns the to-one targets of each object, one for each of its relationships; nil for to-many relationships.
    func targets(of objects: [ManagedObject]) -> [[ManagedObject?]] {
        objects.map { object in
            object.entity.relationships.map { $0.isToMany ? nil : try? object.target(of: $0) }
        }
    }

    /// Updates all inverse relationships of an object that an undo restored, or that was merged late.
    ///
    /// - Parameter former: The object's former to-one targets, in the order of the relationships. Their inverses are
    ///   updated too.
    func updateAllInverses(_ object: ManagedObject, _ former: [ManagedObject?] = []) throws {
        if object.context !== context || object.isDeleted { return }
        try object.fireIfNeeded()
        for (place, relationship) in object.entity.relationships.enumerated() {
            guard let inverse = relationship.resolvedInverse else { continue }
            guard relationship.isToMany else {
                let former = place < former.count ? former[place] : nil
                try updateInverse(of: relationship, object, former.map { [$0] } ?? [])
                continue
            }
            let collection = try object.toMany(relationship)
            for member in try collection.all() where !member.isDeleted {
                if inverse.isToMany {
                    if try !member.toMany(inverse).contains(object) { try member.toMany(inverse).add(object) }
                } else if try member.target(of: inverse) !== object {
                    collection.forget { $0 === member }
                }
            }
        }
    }

    /// Removes `objects` from many-to-many lists whose owners are not members of the inverse lists.
    ///
    /// Otherwise an undo could restore one side after another context removed the pair.
    func removeOneSidedPairs(of objects: [ManagedObject]) throws {
        let objects = objects.filter { $0.context === context && !$0.isDeleted && $0.entity.hasPairs }
        if objects.isEmpty { return }
        for partner in context.everyObject where partner.isUsable(in: context) {
            for collection in partner.keptToManyRelationships {
                guard let inverse = collection.relationship.resolvedInverse, inverse.isToMany else { continue }
                for object in objects where object.entity.isKind(of: inverse.entity) && collection.lists(object) {
                    if try object.toMany(inverse).contains(partner) { continue }
                    updateMembership(of: object, in: collection, isMember: false, isStored: false)
                }
            }
        }
    }
}

extension Entity {
    fileprivate var hasPairs: Bool { relationships.contains { $0.isToMany && $0.resolvedInverse?.isToMany == true } }
}
