import CorestoneModel
import CorestoneValues

/// The state of objects before hooks for null run. It is restored if the call that runs the hooks fails.
///
/// The restoration covers the attributes and relationships of these objects, including the inverses, and the targets
/// that other objects have lost to these objects. Other changes that the hooks made remain: changed attributes of other
/// objects, relationships between other objects, insertions and deletions. Another object without remaining changes
/// is unchanged again. In an unsaved ordered list of another object, a restored member is at the end. An ordered list
/// that was not loaded before and had unsaved members keeps the order that a hook has set.
final class HookRestoration {
    private let objects: [ObjectState]
    private let identifiers: Set<ObjectIdentifier>
    /// The restoration of the call that runs the hook in which this call was made; otherwise nil.
    private let outer: HookRestoration?
    private var lostTargets: [LostTarget] = []
    private var recorded: Set<PropertyOfObject> = []
    /// The saved objects that were changed during the call and did not have unsaved changes before.
    private var updated: [ManagedObject] = []
    private var isRestoring = false

    /// The former target of another object that was connected to an object of the call; nil if it did not have one.
    private struct LostTarget {
        let object: ManagedObject
        let relationship: Relationship
        let target: ManagedObject?
    }

    private init(of objects: [ManagedObject], outer: HookRestoration?) {
        var identifiers: Set<ObjectIdentifier> = []
        self.objects = objects.filter { identifiers.insert(ObjectIdentifier($0)).inserted }.map { ObjectState($0) }
        self.identifiers = identifiers
        self.outer = outer
    }

    /// Runs `body`, which runs hooks of objects of one context, and restores the state of the objects if it throws.
    static func restoring<Result>(
        _ objects: [ManagedObject], afterFailureOf body: () throws -> Result
    ) throws -> Result {
        let context = objects.first?.context
        let restoration = HookRestoration(of: objects, outer: context?.hookState.restoration)
        defer { context?.hookState.restoration = restoration.outer }
        do {
            context?.hookState.restoration = restoration
            return try body()
        } catch {
            restoration.restore()
            throw error
        }
    }

    /// Records the former target of an object that is about to be connected to `winner`.
    ///
    /// Only the first target of another object counts. The objects of the call have their own state. The connections
    /// of the restoration itself are not recorded, in this and in outer calls.
    fileprivate func recordLostTarget(
        _ target: ManagedObject?, _ relationship: Relationship, of object: ManagedObject, to winner: ManagedObject
    ) {
        if isRestoring { return }
        let property = PropertyOfObject(object: ObjectIdentifier(object), slot: Int(relationship.slot))
        if identifiers.contains(ObjectIdentifier(winner)), !identifiers.contains(property.object),
            recorded.insert(property).inserted
        {
            lostTargets.append(LostTarget(object: object, relationship: relationship, target: target))
        }
        outer?.recordLostTarget(target, relationship, of: object, to: winner)
    }

    /// Records an object that is about to get its first unsaved change.
    func noteUpdated(_ object: ManagedObject) {
        updated.append(object)
        outer?.noteUpdated(object)
    }

    /// Restores the state as far as possible. The caller throws the error of `body`.
    private func restore() {
        isRestoring = true
        for state in objects.reversed() { state.restore() }
        for lost in lostTargets { try? restore(lost) }
        for state in objects { state.restoreCleanness() }
        // Other objects whose only changes were those of the relationships are unchanged again.
        for object in updated where !object.isDeleted && !identifiers.contains(ObjectIdentifier(object)) {
            object.discardEqualChanges(wasClean: false, restored: [])
        }
    }

    /// Restores a lost target, unless the object or the target has another partner by now.
    private func restore(_ lost: LostTarget) throws {
        let (object, relationship) = (lost.object, lost.relationship)
        guard let target = lost.target, !object.isGone, !object.isDeleted, !target.isGone, !target.isDeleted,
            try object.target(of: relationship) == nil
        else { return }
        if let inverse = relationship.resolvedInverse, !inverse.isToMany, try target.target(of: inverse) != nil {
            return
        }
        try object.reconnect(to: target, relationship)
    }
}

/// A property of one object, as a key of sets and dictionaries.
struct PropertyOfObject: Hashable {
    let object: ObjectIdentifier
    let slot: Int
}

extension ManagedObject {
    /// Records the target that the object is about to lose to `winner`, for the calls whose hooks for null are running.
    @inline(__always)
    func recordLostTarget(_ target: ManagedObject?, _ relationship: Relationship, to winner: ManagedObject) {
        contextReference?._withUnsafeGuaranteedRef { $0.hookState.restoration }?
            .recordLostTarget(target, relationship, of: self, to: winner)
    }
}

/// The unsaved changes of an object before hooks ran.
private struct ObjectState {
    private let object: ManagedObject
    private let wasClean: Bool
    private let values: [SlotValue]
    /// The accessed to-many relationships. The others did not have unsaved changes.
    private let collections: [CollectionState]

    init(_ object: ManagedObject) {
        self.object = object
        wasClean = !object.hasChanges
        values = object.changedSlotValues()
        collections = object.keptToManyRelationships.map { CollectionState($0) }
    }

    /// Restores the values and members.
    func restore() {
        guard object.state.isDisjoint(with: [.fault, .detached, .inaccessible]) else { return }
        for slot in 0..<Int(object.entity.slotCount) {
            let former = values.first { $0.slot == slot }?.value
            if currentChange(slot) == former { continue }
            if object.entity.layout.slots[slot].role == .toOne {
                try? restoreTarget(former, object.entity.relationship(slot))
            } else {
                object.restoreChange(former, slot)
            }
        }
        // The delete rules have already removed the object from its relationships.
        if object.state.contains(.propagated) { return }
        try? object.together {
            for collection in object.keptToManyRelationships {
                let relationship = collection.relationship
                let former = collections.first { $0.relationship === relationship } ?? CollectionState(relationship)
                former.restore(collection)
            }
        }
    }

    /// Makes an object unchanged that did not have unsaved changes and now has the values of its row.
    func restoreCleanness() { if wasClean { object.discardEqualChanges(wasClean: true, restored: []) } }

    private func currentChange(_ slot: Int) -> PropertyValue? {
        guard let overlay = object.overlay, overlay.isChanged(slot) else { return nil }
        return overlay[slot]
    }

    /// Restores the changed target of a relationship; nil restores the target of the row.
    ///
    /// A target that was deleted in the meantime is replaced by null.
    private func restoreTarget(_ former: PropertyValue?, _ relationship: Relationship) throws {
        if object.state.contains(.propagated) { return }
        let slot = Int(relationship.slot)
        var target: ManagedObject?
        if case .object(let known as ManagedObject) = former ?? object.storedValue(slot) { target = known }
        let isDeleted = target.map { !$0.state.isDisjoint(with: [.detached, .propagated]) } ?? false
        if isDeleted { target = nil }
        let isConnected =
            try target.map { target in
                try target.unlessRowIsMissing { try object.reconnect(to: target, relationship) } != nil
            } ?? false
        if !isConnected { try object.setTarget(nil, of: relationship) }
        // The row's target applies again, even if its own row is missing.
        if former == nil, !isDeleted { object.clearChange(slot) }
    }
}

/// The unsaved changes of a to-many relationship before hooks ran.
private struct CollectionState {
    let relationship: Relationship
    private var added: [ManagedObject] = []
    private var removed: [ManagedObject] = []
    private var isOrderChanged = false
    /// The order of loaded members of an ordered relationship.
    private var order: [ManagedObject]?

    init(_ relationship: Relationship) { self.relationship = relationship }

    init(_ collection: ToManyRelationship) {
        relationship = collection.relationship
        added = collection.addedMembers
        removed = collection.removedMembers
        isOrderChanged = collection.isOrderChanged
        if relationship.isOrdered, collection.isLoaded { order = collection.knownMembers }
    }

    func restore(_ collection: ToManyRelationship) {
        let owner = collection.owner
        var (formerlyAdded, formerlyRemoved) = (ObjectList(added), ObjectList(removed))
        var (nowAdded, nowRemoved) = (ObjectList(collection.addedMembers), ObjectList(collection.removedMembers))
        let entered =
            nowAdded.objects.filter { !formerlyAdded.contains($0) } + removed.filter { !nowRemoved.contains($0) }
        let left = added.filter { !nowAdded.contains($0) } + nowRemoved.objects.filter { !formerlyRemoved.contains($0) }
        for member in entered where (try? collection.contains(member)) == true {
            try? owner.detach(member, relationship, collection)
        }
        for member in left where member.state.isDisjoint(with: [.detached, .deleted]) { try? enter(member, collection) }
        if relationship.isOrdered { restoreOrder(collection) }
    }

    private func enter(_ member: ManagedObject, _ collection: ToManyRelationship) throws {
        let owner = collection.owner
        guard try collection.hasRemoved(member) || !collection.contains(member) else { return }
        if let inverse = relationship.resolvedInverse, !inverse.isToMany {
            try owner.attach(member, relationship, collection) { collection.add(member) }
        } else {
            try owner.restoreMember(member, relationship, collection)
        }
    }

    private func restoreOrder(_ collection: ToManyRelationship) {
        if let order {
            collection.restore(order: order)
        } else if added.isEmpty, removed.isEmpty, !isOrderChanged {
            collection.restoreSavedOrder()
        }
        if !isOrderChanged { collection.clearOrderChange() }
    }
}
