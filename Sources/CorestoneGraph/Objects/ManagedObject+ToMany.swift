import CorestoneModel
import CorestoneValues

extension ManagedObject {
    /// Returns the targets of a to-one or to-many relationship.
    func targets(of relationship: Relationship) throws -> [ManagedObject] {
        if relationship.isToMany { return try toMany(relationship).all() }
        return try target(of: relationship).map { [$0] } ?? []
    }

    func toMany(ordinal: Int) -> ToManyRelationship? {
        toManyBlock?[ordinal]
    }

    /// Returns the `ToManyRelationship` at an ordinal without retaining it; nil before the first access.
    @inline(__always)
    func nearToMany(ordinal: Int) -> Unmanaged<ToManyRelationship>? {
        guard let toManyBlock else { return nil }
        return UnsafeRawPointer(toManyBlock + ordinal).load(as: Unmanaged<ToManyRelationship>?.self)
    }

    /// Returns the `ToManyRelationship` of a to-many relationship, created at the first access.
    func toMany(_ relationship: Relationship) throws -> ToManyRelationship {
        if state.contains(.detached) { throw detachedError() }
        let ordinal = Int(entity.layout.slots[Int(relationship.slot)].ordinal)
        return toMany(ordinal: ordinal) ?? makeToMany(relationship, ordinal).takeUnretainedValue()
    }

    /// Whether the members are not loaded. Creates the `ToManyRelationship` if necessary.
    @inline(__always)
    func awaitsMembers(of relationship: Relationship) throws -> Bool {
        if state.contains(.detached) { throw detachedError() }
        let ordinal = Int(entity.layout.slots[Int(relationship.slot)].ordinal)
        let keeper = nearToMany(ordinal: ordinal) ?? makeToMany(relationship, ordinal)
        return !keeper._withUnsafeGuaranteedRef { $0.isLoaded }
    }

    private func makeToMany(_ relationship: Relationship, _ ordinal: Int) -> Unmanaged<ToManyRelationship> {
        let keeper = Unmanaged.passRetained(ToManyRelationship(owner: self, relationship: relationship))
        ((toManyBlock ?? allocateToManyBlock()) + ordinal).initialize(to: keeper.takeRetainedValue())
        return keeper
    }

    /// Returns a relationship with loaded members for a read access. If the owner is a fault, fires it.
    ///
    /// The members are loaded first, together with the owner's row, so that no separate query reads the row.
    func readToMany(_ relationship: Relationship) throws -> ToManyRelationship {
        try toMany(relationship).load()
        try fireIfNeeded(for: Int(relationship.slot))
        // A hook may have turned the object into a fault again.
        return try toMany(relationship)
    }

    /// Passes the relationship of a key to `body`. Loaded members are found without a lookup of the relationship.
    @inline(__always)
    private func withToMany<Result>(key: UInt32, _ body: (ToManyRelationship) throws -> Result) throws -> Result {
        let slot = Int(key & 0xFFF)
        if slot < Int(entity.slotCount), entity.slotKeys[slot] == key, loadedToMany(slot) != nil {
            try fireIfNeeded(for: slot)
            // A hook may have turned the object into a fault again.
            if !state.contains(.fault), let keeper = loadedToMany(slot) {
                return try keeper._withUnsafeGuaranteedRef(body)
            }
        }
        return try body(readToMany(toManyRelationship(key: key)))
    }

    /// Returns the `ToManyRelationship` at a slot if the members are loaded; otherwise nil.
    @inline(__always)
    private func loadedToMany(_ slot: Int) -> Unmanaged<ToManyRelationship>? {
        let layout = entity.layout.slots[slot]
        guard layout.role == .toMany, !state.contains(.detached), let keeper = nearToMany(ordinal: Int(layout.ordinal)),
            keeper._withUnsafeGuaranteedRef({ $0.isLoaded })
        else { return nil }
        return keeper
    }

    /// Returns the relationship of a key.
    ///
    /// - Parameter remedy: The remedy for another property; nil if the caller reads or sets the property.
    /// - Throws: `.typeMismatch` if the property is not a to-many relationship.
    ///   `.invalidArgument` for an unknown key.
    func toManyRelationship(key: UInt32, remedy: String? = nil) throws -> Relationship {
        let slot = try self.slot(of: key)
        let property = entity.properties[slot]
        guard let relationship = property as? Relationship, relationship.isToMany else {
            let name = property.path
            throw CoreError(
                .typeMismatch,
                "\(entity.name).\(name) is \(property.kindPhrase), not a to-many relationship; "
                    + (remedy ?? property.accessRemedy),
                entity: entity.name, key: name, objectURI: objectID.uri)
        }
        return relationship
    }

    func willChangeMembers() {
        willChange(ofRelationship: true)
        state.insert(.membersChanged)
    }
}

// MARK: - Reading

extension ManagedObject {
    package func memberCount(key: UInt32) throws -> Int { try withToMany(key: key) { try $0.count() } }
    /// Returns the current members, in order if the relationship is ordered.
    package func members(key: UInt32) throws -> [ManagedObject] { try withToMany(key: key) { try $0.all() } }
    /// Returns the current members and the destination entity. The model retains the entity.
    package func membersAndEntity(key: UInt32) throws -> (members: [ManagedObject], entity: Unmanaged<Entity>) {
        try withToMany(key: key) { (try $0.all(), Unmanaged.passUnretained($0.relationship.resolvedDestination)) }
    }
    package func hasMember(_ object: ManagedObject, key: UInt32) throws -> Bool {
        try withToMany(key: key) { try $0.contains(object) }
    }
}

// MARK: - Changing

extension ManagedObject {
    /// Adds a member, at the end if the relationship is ordered. Returns false if the object was already a member.
    @discardableResult
    package func addMember(_ member: ManagedObject, key: UInt32) throws -> Bool {
        let relationship = try toManyRelationship(key: key)
        return try together { try add(member, to: relationship) }
    }

    /// Adds several members. Existing members keep their position.
    package func addMembers(_ members: [ManagedObject], key: UInt32) throws {
        let relationship = try toManyRelationship(key: key)
        for member in members { try checkMember(member, relationship) }
        let keeper = try toMany(relationship)
        keeper.reserve(members.count)
        try together { for member in members { _ = try add(member, to: relationship, keeper) } }
    }

    func add(_ member: ManagedObject, to relationship: Relationship) throws -> Bool {
        try checkMember(member, relationship)
        return try add(member, to: relationship, try toMany(relationship))
    }

    private func add(
        _ member: ManagedObject, to relationship: Relationship, _ keeper: ToManyRelationship
    ) throws -> Bool {
        if keeper.isLoaded, let inverse = relationship.resolvedInverse, inverse.isToMany {
            // A single lookup tests whether the object is a member and adds it if not.
            let other = try member.toMany(inverse)
            if !keeper.add(member) { return false }
            if other !== keeper || member !== self { other.addMirrored(self) }
            return true
        }
        if try keeper.contains(member) { return false }
        try attach(member, relationship, keeper) { keeper.add(member) }
        return true
    }

    /// Runs `enter`, which adds `member` on this side, and updates the inverse.
    func attach(
        _ member: ManagedObject, _ relationship: Relationship, _ keeper: ToManyRelationship, enter: () throws -> Void
    ) throws {
        guard let inverse = relationship.resolvedInverse else { return try enter() }
        if inverse.isToMany {
            let other = try member.toMany(inverse)
            try enter()
            if other !== keeper || member !== self { other.addMirrored(self) }
        } else {
            // The member leaves its former owner.
            let previous = try member.target(of: inverse)
            let leaving = previous === self ? nil : try previous?.toMany(relationship)
            try member.writeTarget(self, inverse)
            leaving?.remove(member)
            try enter()
        }
    }

    /// Removes a member. Returns false if the object was not a member.
    @discardableResult
    package func removeMember(_ member: ManagedObject, key: UInt32) throws -> Bool {
        let relationship = try toManyRelationship(key: key)
        let keeper = try toMany(relationship)
        guard try keeper.contains(member) else { return false }
        try together { try detach(member, relationship, keeper) }
        return true
    }

    func detach(_ member: ManagedObject, _ relationship: Relationship, _ keeper: ToManyRelationship) throws {
        guard let inverse = relationship.resolvedInverse else { return keeper.remove(member) }
        if inverse.isToMany {
            let other = try member.toMany(inverse)
            keeper.remove(member)
            if other !== keeper || member !== self { other.remove(self) }
        } else {
            // A member whose inverse already has another target keeps that target.
            try member.unlessRowIsMissing {
                if try member.target(of: inverse) === self { try member.writeTarget(nil, inverse) }
            }
            keeper.remove(member)
        }
    }

    /// Replaces all members. The members of an ordered relationship are in the order of `objects`.
    package func setMembers(_ objects: [ManagedObject], key: UInt32) throws {
        let relationship = try toManyRelationship(key: key)
        for object in objects { try checkMember(object, relationship) }
        let keeper = try toMany(relationship)
        var wanted = ObjectList()
        for object in objects { _ = wanted.append(object) }
        try settingMembers(of: relationship) { try replaceMembers(of: keeper, by: &wanted) }
    }

    private func replaceMembers(of keeper: ToManyRelationship, by wanted: inout ObjectList) throws {
        let relationship = keeper.relationship
        for member in try keeper.all() where !wanted.contains(member) { try detach(member, relationship, keeper) }
        for object in wanted.objects where try !keeper.contains(object) {
            try attach(object, relationship, keeper) { keeper.add(object) }
        }
        if relationship.isOrdered, try !keeper.all().elementsEqual(wanted.objects, by: ===) {
            keeper.arrange(wanted.objects)
        }
    }

    /// Reverts the unsaved changes of the object's relationships on both sides.
    ///
    /// The inverses then stay consistent when the object's own changes are discarded.
    func revertRelationships() throws { try together { try revertBothSides() } }

    private func revertBothSides() throws {
        for slot in 0..<Int(entity.slotCount) where entity.layout.slots[slot].role == .toOne {
            try revertTarget(of: entity.relationship(slot))
        }
        for keeper in keptToManyRelationships where keeper.hasChanges {
            let relationship = keeper.relationship
            let removed = keeper.removedMembers.filter { !$0.isDeleted && !$0.isGone }
            if let inverse = relationship.resolvedInverse, !inverse.isToMany {
                for member in keeper.addedMembers + removed { try member.revertTarget(of: inverse) }
            } else {
                for member in keeper.addedMembers { try detach(member, relationship, keeper) }
                for member in removed { try restoreMember(member, relationship, keeper) }
            }
        }
    }

    private func restoreMember(
        _ member: ManagedObject, _ relationship: Relationship, _ keeper: ToManyRelationship
    ) throws {
        guard let inverse = relationship.resolvedInverse else { return _ = keeper.add(member) }
        try member.toMany(inverse).restoringPosition { try attach(member, relationship, keeper) { keeper.add(member) } }
    }

    /// Sets a changed to-one relationship to its last fetched or saved target; null if the target's row is missing.
    func revertTarget(of relationship: Relationship) throws {
        guard let overlay, overlay.isChanged(Int(relationship.slot)), let context else { return }
        var saved: ManagedObject?
        if case .object(let reference as ObjectIDReference) = try committedValue(slot: Int(relationship.slot)) {
            saved = try context.object(with: reference.id)
        }
        guard let saved, try saved.unlessRowIsMissing({ try reconnect(to: saved, relationship) }) != nil else {
            return try setTarget(nil, of: relationship)
        }
        if saved.isDeleted { context.changeTracker.noteReconnected(saved) }
    }

    private func reconnect(to target: ManagedObject, _ relationship: Relationship) throws {
        guard let inverse = relationship.resolvedInverse, inverse.isOrdered else {
            return try setTarget(target, of: relationship)
        }
        try target.toMany(inverse).restoringPosition { try setTarget(target, of: relationship) }
    }
}

extension Property {
    /// The kind of property with its article, for messages: "a to-one relationship".
    var kindPhrase: String {
        if let relationship = self as? Relationship {
            return relationship.isToMany ? "a to-many relationship" : "a to-one relationship"
        }
        return self is FetchedProperty ? "a fetched property" : "an attribute"
    }

    /// The functions that read and set the property, as the remedy in a message.
    var accessRemedy: String {
        (self as? Relationship)?.isToMany == true
            ? "read the members with cst_object_copy_members (members), and set them with cst_object_set_members "
                + "(setMembers)"
            : "read it with cst_object_get (get), and set it with cst_object_set (set)"
    }
}
