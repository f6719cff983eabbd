import CorestoneModel
import CorestoneValues

// Both sides of a relationship agree. A change keeps them so by itself; here is what follows where an object has got another row
// or other targets at once: by a merge, a refresh or an undo. A to-one side of an object decides, since that is what its row has.
extension Context {
    /// Has those that an object leads to, or led to, agree with it.
    func settleInverses(of object: ManagedObject) throws {
        if object.state.contains(.gone) || object.isDeleted { return }
        for relationship in object.entity.relationships where !relationship.isToMany {
            if object.overlay?.isChanged(Int(relationship.slot)) == true {
                try settleInverse(of: relationship, object)
            } else {
                try settleStored(relationship, object)
            }
        }
    }

    /// The object leads where its row does: into the list of that one, unless a change leads that one elsewhere.
    private func settleStored(_ relationship: Relationship, _ object: ManagedObject) throws {
        guard let inverse = relationship.settledInverse, let target = try object.target(of: relationship),
            target.isSettled(in: self)
        else { return }
        if inverse.isToMany {
            let keeper = target.toMany(ordinal: Int(target.entity.layout.slots[Int(inverse.slot)].ordinal))
            if let keeper { settle(object, in: keeper, isMember: true, isStored: true) }
        } else if target.leadsElsewhere(inverse, than: object) {
            try object.lead(to: nil, relationship)
        }
    }

    /// - Parameter former: whom it may have led to besides those of its row.
    func settleInverse(of relationship: Relationship, _ object: ManagedObject, _ former: [ManagedObject] = []) throws {
        guard let inverse = relationship.settledInverse else { return }
        let mine = try object.target(of: relationship)
        let stored = object.storedTarget(of: relationship)
        for partner in [stored] + former where partner !== mine {
            guard let partner, partner.isSettled(in: self) else { continue }
            try settle(object, with: partner, inverse, leadsThere: false, isStored: partner === stored)
        }
        guard let mine, mine.isSettled(in: self) else { return }
        try settle(object, with: mine, inverse, leadsThere: true, isStored: mine === stored)
    }

    private func settle(
        _ object: ManagedObject, with partner: ManagedObject, _ inverse: Relationship, leadsThere: Bool, isStored: Bool
    ) throws {
        if inverse.isToMany {
            settle(object, in: try partner.toMany(inverse), isMember: leadsThere, isStored: isStored)
            return
        }
        try partner.unlessGhost {
            let other = try partner.target(of: inverse)
            if (other === object) == leadsThere { return }
            try partner.lead(to: leadsThere ? object : nil, inverse)
            guard leadsThere, let other, other.isSettled(in: self), let relationship = inverse.settledInverse else {
                return
            }
            try other.unlessGhost {
                if try other.target(of: relationship) === partner { try other.lead(to: nil, relationship) }
            }
        }
    }

    func settle(
        _ object: ManagedObject, in keeper: ToManyRelationship, isMember: Bool, isStored: Bool, isLoading: Bool = false
    ) {
        if !keeper.settle(object, isMember: isMember, isStored: isStored, isLoading: isLoading) { return }
        if keeper.hasChanges { keeper.owner.willChangeMembers() } else { keeper.owner.forgetIfUnchanged() }
    }
}

extension ManagedObject {
    fileprivate func isSettled(in context: Context) -> Bool {
        self.context === context && state.isDisjoint(with: [.gone, .deleted, .propagated])
    }

    /// Leads to a target on this side alone; where the row does, that is no change.
    fileprivate func lead(to target: ManagedObject?, _ relationship: Relationship) throws {
        try writeTarget(target, relationship)
        let slot = Int(relationship.slot)
        guard let overlay, !state.contains(.inserted), isStored(overlay[slot], slot) else { return }
        overlay.clear(slot)
        forgetIfUnchanged()
    }

    /// Whether a change leads the object elsewhere.
    func leadsElsewhere(_ relationship: Relationship, than owner: ManagedObject) -> Bool {
        let slot = Int(relationship.slot)
        guard let overlay, overlay.isChanged(slot), state.isDisjoint(with: [.propagated, .gone]) else { return false }
        if case .object(let target as ManagedObject) = overlay[slot] { return target !== owner }
        return true
    }

    /// Whom the object's row leads to.
    func storedTarget(of relationship: Relationship) -> ManagedObject? {
        guard case .object(let target) = storedValue(Int(relationship.slot)) else { return nil }
        return target as? ManagedObject
    }
}

extension Context {
    /// The object that stands for what an object was: the object itself, or one that came for its row.
    func present(_ object: ManagedObject) -> ManagedObject? {
        if object.context === self, !object.state.contains(.propagated) { return object }
        guard let store = object.store, store.isOpen, object.primaryKey >= 0,
            let other = registered(store: store, root: object.entity, primaryKey: object.primaryKey),
            other !== object, !other.state.contains(.propagated)
        else { return nil }
        return other
    }

    /// Whom the to-one relationships of objects lead to.
    func targets(of objects: [ManagedObject]) -> [[ManagedObject?]] {
        objects.map { object in
            object.entity.relationships.map { $0.isToMany ? nil : try? object.target(of: $0) }
        }
    }

    /// The same for an object that came back by an undo, or got a row of which others have told long ago. Those that it led to may
    /// lead elsewhere by now.
    /// - Parameter former: whom its relationships led to, in their order.
    func settleWhole(_ object: ManagedObject, _ former: [ManagedObject?] = []) throws {
        if object.context !== self || object.isDeleted { return }
        try object.fireIfNeeded()
        for (place, relationship) in object.entity.relationships.enumerated() {
            guard let inverse = relationship.settledInverse else { continue }
            guard relationship.isToMany else {
                let former = place < former.count ? former[place] : nil
                try settleInverse(of: relationship, object, former.map { [$0] } ?? [])
                continue
            }
            let keeper = try object.toMany(relationship)
            for member in try keeper.all() where !member.isDeleted {
                if inverse.isToMany {
                    if try !member.toMany(inverse).contains(object) { try member.toMany(inverse).take(object) }
                } else if try member.target(of: inverse) !== object {
                    keeper.forget { $0 === member }
                }
            }
        }
    }

    /// Has those that list one of `objects` in a many-to-many relationship let go of it where its own list lacks them: an undo may have
    /// put it back there, while others ended the pair.
    func settlePartners(of objects: [ManagedObject]) throws {
        let objects = objects.filter { $0.context === self && !$0.isDeleted && $0.entity.hasPairs }
        if objects.isEmpty { return }
        for partner in everyObject where partner.isSettled(in: self) {
            for keeper in partner.keptToManyRelationships {
                guard let inverse = keeper.relationship.settledInverse, inverse.isToMany else { continue }
                for object in objects where object.entity.isKind(of: inverse.entity) && keeper.lists(object) {
                    if try object.toMany(inverse).contains(partner) { continue }
                    settle(object, in: keeper, isMember: false, isStored: false)
                }
            }
        }
    }
}

extension Entity {
    fileprivate var hasPairs: Bool { relationships.contains { $0.isToMany && $0.settledInverse?.isToMany == true } }
}
