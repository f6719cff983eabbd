import CorestoneGraph
import CorestoneModel
import CorestoneValues

// What accessors say that a host writes by hand, around primitive values:
//
//     try line.willChangeValue(forKey: "price")
//     try line.setPrimitive("price", cents)
//     try line.didChangeValue(forKey: "price")
extension ManagedObject {
    /// Before a primitive value is read: fires the fault, of a to-many relationship too. nil: the whole object's.
    public func willAccessValue(forKey name: String?) throws { try willAccess(key: name.map(key)) }

    /// After it.
    public func didAccessValue(forKey name: String?) throws { try didAccess(key: name.map(key)) }

    /// Before a primitive value is set: the object counts as changed, undo notes what there was, observers are told.
    public func willChangeValue(forKey name: String) throws { try willChange(key: key(name)) }

    /// After it: inverses follow, observers are told.
    /// - Throws: `.invalidArgument` when no `willChangeValue` for the property came before.
    public func didChangeValue(forKey name: String) throws { try didChange(key: key(name)) }

    /// The same before primitive members are set; `objects` are those that the mutation is about.
    public func willChangeValue(
        forKey name: String, withSetMutation mutation: SetMutation, using objects: [ManagedObject]
    ) throws {
        try willChange(key: key(name), mutation, objects)
    }

    /// After it.
    public func didChangeValue(
        forKey name: String, withSetMutation mutation: SetMutation, using objects: [ManagedObject]
    ) throws {
        try didChange(key: key(name), mutation, objects)
    }

    /// The IDs that a relationship leads to, unsaved changes included: none or one where it is to-one, in order where it is
    /// ordered. Reads the store where it must, but makes no object and fires no fault.
    public func objectIDs(forRelationship name: String) throws -> [ObjectID] { try objectIDs(key: key(name)) }

    /// Whether the members of a relationship were not asked for yet, or its target is a fault. Reads nothing.
    public func hasFault(forRelationship name: String) throws -> Bool { try hasFault(key: key(name)) }

    /// The members of a to-many relationship to change in place, those of a fault too.
    public func mutableMembers(_ name: String) throws -> MutableMembers {
        let key = try key(name)
        _ = try memberCount(key: key)
        return MutableMembers(owner: self, key: key)
    }
}

/// The members of one to-many relationship of an object: what is done to them is done to the object, and inverses follow.
public struct MutableMembers {
    public let owner: ManagedObject
    let key: UInt32

    /// A snapshot; in order when the relationship is ordered.
    public var all: [ManagedObject] { get throws { try owner.members(key: key) } }
    public var count: Int { get throws { try owner.memberCount(key: key) } }

    public func contains(_ object: ManagedObject) throws -> Bool { try owner.hasMember(object, key: key) }

    /// False when it was a member already.
    @discardableResult
    public func insert(_ object: ManagedObject) throws -> Bool { try owner.addMember(object, key: key) }

    /// False when it was no member.
    @discardableResult
    public func remove(_ object: ManagedObject) throws -> Bool { try owner.removeMember(object, key: key) }

    public func removeAll() throws { try owner.setMembers([], key: key) }

    /// Of an ordered relationship.
    public func insert(_ object: ManagedObject, at index: Int) throws {
        try owner.insertMember(object, at: index, key: key)
    }
}
