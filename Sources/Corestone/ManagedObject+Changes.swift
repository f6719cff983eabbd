import CorestoneGraph
import CorestoneModel
import CorestoneValues

// Notifications that handwritten accessors send around accesses to primitive values:
//
//     try line.willChangeValue(forKey: "price")
//     try line.setPrimitive("price", cents)
//     try line.didChangeValue(forKey: "price")
extension ManagedObject {
    /// Prepares for reading a primitive value: fires the fault of the object and of a to-many relationship.
    ///
    /// Call it before reading the value. If `name` is nil, only the object's fault is fired.
    public func willAccessValue(forKey name: String?) throws { try willAccess(key: name.map(key)) }

    /// Ends reading a primitive value. Call it after reading the value.
    public func didAccessValue(forKey name: String?) throws { try didAccess(key: name.map(key)) }

    /// Prepares for setting a primitive value. Call it before setting the value.
    ///
    /// It marks the object as changed, records the old value for undo, and notifies observers.
    public func willChangeValue(forKey name: String) throws { try willChange(key: key(name)) }

    /// Updates the inverse and notifies observers after a primitive value was set.
    ///
    /// - Throws: `.invalidArgument` if `willChangeValue` was not called for the property before.
    public func didChangeValue(forKey name: String) throws { try didChange(key: key(name)) }

    /// Prepares for setting primitive members. `objects` are the objects that the mutation adds, removes or sets.
    public func willChangeValue(
        forKey name: String, withSetMutation mutation: SetMutation, using objects: [ManagedObject]
    ) throws {
        try willChange(key: key(name), mutation, objects)
    }

    /// Updates the inverse and notifies observers after primitive members were set.
    public func didChangeValue(
        forKey name: String, withSetMutation mutation: SetMutation, using objects: [ManagedObject]
    ) throws {
        try didChange(key: key(name), mutation, objects)
    }

    /// Returns the IDs of a relationship's targets, including unsaved targets.
    ///
    /// A to-one relationship has at most one ID. The IDs of an ordered relationship are in its order. The store is read
    /// if necessary, but objects are not created and faults are not fired.
    public func objectIDs(forRelationship name: String) throws -> [ObjectID] { try objectIDs(key: key(name)) }

    /// Whether a relationship's members are not loaded or its target is a fault; does not read the store.
    public func hasFault(forRelationship name: String) throws -> Bool { try hasFault(key: key(name)) }

    /// Returns the members of a to-many relationship, to be changed in place. Members that are not loaded are loaded.
    public func mutableMembers(_ name: String) throws -> MutableMembers {
        let key = try key(name)
        _ = try memberCount(key: key)
        return MutableMembers(owner: self, key: key)
    }
}

/// A mutable view of a to-many relationship: each change is applied to the owner, and the inverse is updated.
public struct MutableMembers {
    public let owner: ManagedObject
    let key: UInt32

    /// A snapshot of the members, in order if the relationship is ordered.
    public var all: [ManagedObject] { get throws { try owner.members(key: key) } }
    public var count: Int { get throws { try owner.memberCount(key: key) } }

    public func contains(_ object: ManagedObject) throws -> Bool { try owner.hasMember(object, key: key) }

    /// Adds a member. Returns false if the object already was a member.
    @discardableResult
    public func insert(_ object: ManagedObject) throws -> Bool { try owner.addMember(object, key: key) }

    /// Removes a member. Returns false if the object was not a member.
    @discardableResult
    public func remove(_ object: ManagedObject) throws -> Bool { try owner.removeMember(object, key: key) }

    public func removeAll() throws { try owner.setMembers([], key: key) }

    /// Inserts a member of an ordered relationship at an index.
    public func insert(_ object: ManagedObject, at index: Int) throws {
        try owner.insertMember(object, at: index, key: key)
    }
}
