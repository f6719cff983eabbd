import CorestoneModel
import CorestoneValues

/// Access to ordered to-many relationships by index. Inverses are updated.
extension ManagedObject {
    package func member(at index: Int, key: UInt32) throws -> ManagedObject {
        let relationship = try orderedRelationship(key: key)
        let members = try readToMany(relationship).all()
        try checkIndex(index, below: members.count, of: members.count, relationship)
        return members[index]
    }

    /// Inserts a member at an index. An existing member is moved.
    package func insertMember(_ member: ManagedObject, at index: Int, key: UInt32) throws {
        let relationship = try orderedRelationship(key: key)
        try checkMember(member, relationship)
        let collection = try toMany(relationship)
        let isMember = try collection.contains(member)
        let count = try collection.count()
        try checkIndex(index, below: isMember ? count : count + 1, of: count, relationship)
        try together {
            if isMember { return collection.place(member, at: index) }
            try attach(member, relationship, collection) { collection.place(member, at: index) }
        }
    }

    package func removeMember(at index: Int, key: UInt32) throws {
        let relationship = try orderedRelationship(key: key)
        let member = try member(at: index, key: key)
        try together { try detach(member, relationship, try toMany(relationship)) }
    }

    /// Replaces the member at an index with `member`. If `member` is already in the relationship, it is moved.
    package func replaceMember(at index: Int, with member: ManagedObject, key: UInt32) throws {
        let relationship = try orderedRelationship(key: key)
        let former = try self.member(at: index, key: key)
        if former === member { return }
        try checkMember(member, relationship)
        let collection = try toMany(relationship)
        var order = try collection.all()
        order[index] = member
        if let place = order.indices.first(where: { $0 != index && order[$0] === member }) { order.remove(at: place) }
        try replacing(relationship) {
            try detach(former, relationship, collection)
            if try !collection.contains(member) {
                try attach(member, relationship, collection) { collection.add(member) }
            }
            collection.arrange(order)
        }
    }

    /// Moves a member to another index in the resulting order.
    package func moveMember(from index: Int, to place: Int, key: UInt32) throws {
        let member = try member(at: index, key: key)
        try insertMember(member, at: place, key: key)
    }

    private func orderedRelationship(key: UInt32) throws -> Relationship {
        let relationship = try toManyRelationship(key: key)
        guard relationship.isOrdered else {
            throw CoreError(
                .invalidArgument,
                "\(entity.name).\(relationship.name) is not ordered, so its members do not have an index; "
                    + "use cst_object_copy_members (members), cst_object_add_member (add) and "
                    + "cst_object_remove_member (remove) instead", entity: entity.name, key: relationship.name,
                objectURI: objectID.uri)
        }
        return relationship
    }

    private func checkIndex(_ index: Int, below end: Int, of count: Int, _ relationship: Relationship) throws {
        guard index >= 0, index < end else {
            let members = count == 1 ? "1 member" : "\(count) members"
            let remedy = end == 0 ? "" : end == 1 ? "; use 0" : "; use 0 to \(end - 1)"
            throw CoreError(
                .invalidArgument,
                "index \(index) is out of bounds of \(entity.name).\(relationship.name), which has \(members)\(remedy)",
                entity: entity.name, key: relationship.name, value: .int(Int64(index)), objectURI: objectID.uri)
        }
    }
}
