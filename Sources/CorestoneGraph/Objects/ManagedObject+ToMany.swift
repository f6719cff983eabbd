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
    func hasUnloadedMembers(of relationship: Relationship) throws -> Bool {
        if state.contains(.detached) { throw detachedError() }
        let ordinal = Int(entity.layout.slots[Int(relationship.slot)].ordinal)
        let collection = nearToMany(ordinal: ordinal) ?? makeToMany(relationship, ordinal)
        return !collection._withUnsafeGuaranteedRef { $0.isLoaded }
    }

    private func makeToMany(_ relationship: Relationship, _ ordinal: Int) -> Unmanaged<ToManyRelationship> {
        let collection = Unmanaged.passRetained(ToManyRelationship(owner: self, relationship: relationship))
        ((toManyBlock ?? allocateToManyBlock()) + ordinal).initialize(to: collection.takeRetainedValue())
        return collection
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
            if !state.contains(.fault), let collection = loadedToMany(slot) {
                return try collection._withUnsafeGuaranteedRef(body)
            }
        }
        return try body(readToMany(toManyRelationship(key: key)))
    }

    /// Returns the `ToManyRelationship` at a slot if the members are loaded; otherwise nil.
    @inline(__always)
    private func loadedToMany(_ slot: Int) -> Unmanaged<ToManyRelationship>? {
        let layout = entity.layout.slots[slot]
        guard layout.role == .toMany, !state.contains(.detached),
            let collection = nearToMany(ordinal: Int(layout.ordinal)),
            collection._withUnsafeGuaranteedRef({ $0.isLoaded })
        else { return nil }
        return collection
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
        let collection = try toMany(relationship)
        collection.reserve(members.count)
        try together { for member in members { _ = try add(member, to: relationship, collection) } }
    }

    func add(_ member: ManagedObject, to relationship: Relationship) throws -> Bool {
        try checkMember(member, relationship)
        return try add(member, to: relationship, try toMany(relationship))
    }

    private func add(
        _ member: ManagedObject, to relationship: Relationship, _ collection: ToManyRelationship
    ) throws -> Bool {
        if collection.isLoaded, let inverse = relationship.resolvedInverse, inverse.isToMany {
            // A single lookup tests whether the object is a member and adds it if not.
            let other = try member.toMany(inverse)
            if !collection.add(member) { return false }
            if other !== collection || member !== self { other.addMirrored(self) }
            return true
        }
        if try collection.contains(member) { return false }
        try attach(member, relationship, collection) { collection.add(member) }
        return true
    }

    /// Runs `enter`, which adds `member` on this side, and updates the inverse.
    func attach(
        _ member: ManagedObject, _ relationship: Relationship, _ collection: ToManyRelationship,
        enter: () throws -> Void
    ) throws {
        guard let inverse = relationship.resolvedInverse else { return try enter() }
        if inverse.isToMany {
            let other = try member.toMany(inverse)
            try enter()
            if other !== collection || member !== self { other.addMirrored(self) }
        } else {
            // The member leaves its former owner.
            let previous = try member.target(of: inverse)
            let leaving = previous === self ? nil : try previous?.toMany(relationship)
            if previous !== self { member.recordLostTarget(previous, inverse, to: self) }
            try member.writeTarget(self, inverse)
            leaving?.remove(member)
            try enter()
        }
    }

    /// Removes a member. Returns false if the object was not a member.
    @discardableResult
    package func removeMember(_ member: ManagedObject, key: UInt32) throws -> Bool {
        let relationship = try toManyRelationship(key: key)
        let collection = try toMany(relationship)
        guard try collection.contains(member) else { return false }
        try together { try detach(member, relationship, collection) }
        return true
    }

    func detach(_ member: ManagedObject, _ relationship: Relationship, _ collection: ToManyRelationship) throws {
        guard let inverse = relationship.resolvedInverse else { return collection.remove(member) }
        if inverse.isToMany {
            let other = try member.toMany(inverse)
            collection.remove(member)
            if other !== collection || member !== self { other.remove(self) }
        } else {
            // A member whose inverse already has another target keeps that target.
            try member.unlessRowIsMissing {
                if try member.target(of: inverse) === self { try member.writeTarget(nil, inverse) }
            }
            collection.remove(member)
        }
    }

    /// Replaces all members. The members of an ordered relationship are in the order of `objects`.
    package func setMembers(_ objects: [ManagedObject], key: UInt32) throws {
        let relationship = try toManyRelationship(key: key)
        for object in objects { try checkMember(object, relationship) }
        let collection = try toMany(relationship)
        var newMembers = ObjectList()
        for object in objects { _ = newMembers.append(object) }
        try settingMembers(of: relationship) { try replaceMembers(of: collection, by: &newMembers) }
    }

    private func replaceMembers(of collection: ToManyRelationship, by newMembers: inout ObjectList) throws {
        let relationship = collection.relationship
        for member in try collection.all() where !newMembers.contains(member) {
            try detach(member, relationship, collection)
        }
        for object in newMembers.objects where try !collection.contains(object) {
            try attach(object, relationship, collection) { collection.add(object) }
        }
        if relationship.isOrdered, try !collection.all().elementsEqual(newMembers.objects, by: ===) {
            collection.arrange(newMembers.objects)
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
        for collection in keptToManyRelationships where collection.hasChanges {
            let relationship = collection.relationship
            let removed = collection.removedMembers.filter { !$0.isDeleted && !$0.isGone }
            if let inverse = relationship.resolvedInverse, !inverse.isToMany {
                for member in collection.addedMembers + removed { try member.revertTarget(of: inverse) }
            } else {
                for member in collection.addedMembers { try detach(member, relationship, collection) }
                for member in removed { try restoreMember(member, relationship, collection) }
            }
        }
    }

    /// Adds a removed member again. The inverse must not be to-one.
    func restoreMember(
        _ member: ManagedObject, _ relationship: Relationship, _ collection: ToManyRelationship
    ) throws {
        guard let inverse = relationship.resolvedInverse else { return _ = collection.add(member) }
        try member.toMany(inverse).restoringPosition {
            try attach(member, relationship, collection) { collection.add(member) }
        }
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

    /// Sets a to-one relationship to a former target, in whose ordered list the object returns to its position.
    func reconnect(to target: ManagedObject, _ relationship: Relationship) throws {
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
        if (self as? Relationship)?.isToMany == true {
            return "read the members with cst_object_copy_members (members), and set them with cst_object_set_members "
                + "(setMembers)"
        }
        // The store computes a derived attribute, so it cannot be set.
        let isComputed = (self as? Attribute).map { $0.derivation != nil && !$0.isTransient } ?? false
        return "read it with cst_object_get (get)" + (isComputed ? "" : ", and set it with cst_object_set (set)")
    }
}
