import CorestoneFormats
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// A reader of the member lists of relationships in a binary store.
///
/// The file contains both sides of a relationship. The two sides must agree.
struct BinaryLists {
    private let nodes: Nodes
    private let path: String
    /// The identifier of the store; nil if the file does not have a valid identifier.
    private let store: String?
    private let skipped: SkippedContent?

    private typealias Key = BinaryFormat.Key

    /// Whether the row of a missing object may have been skipped.
    private var mayBeSkipped: Bool { skipped?.readOnlyReason != nil }

    /// Creates a reader of member lists.
    ///
    /// - Parameters:
    ///   - nodes: The content of the store, with all rows of the file.
    ///   - skipped: Records relationships that the model does not have; nil to throw an error for them.
    init(_ nodes: Nodes, _ path: String, _ store: String?, _ skipped: SkippedContent?) {
        (self.nodes, self.path, self.store, self.skipped) = (nodes, path, store, skipped)
    }

    /// Reads the member lists of the file.
    ///
    /// - Throws: `.storeCorrupt` with entity and key for a list that is incomplete, repeated or inconsistent with the
    ///   other side.
    ///   `.modelMismatch` for a relationship that the model does not have, or that has other entities in the model.
    func read(_ lists: [PropertyListValue]) throws {
        var listed: Set<UInt32> = []
        for list in lists {
            let entries = list.dictionary ?? [:]
            let name = entries[Key.name]?.string ?? ""
            guard let relationship = nodes.listedRelationships.first(where: { $0.listName == name }) else {
                if let skipped {
                    skip(name, entries, skipped)
                    continue
                }
                let (entity, key) = BinaryLists.parts(of: name)
                if let own = nodes.model.entity(named: entity)?.relationships.first(where: { $0.name == key }) {
                    throw CoreError.ofAnotherModel(
                        path, "\(name) \(BinaryLists.difference(of: own, from: entity))", entity: entity, key: key)
                }
                let fault =
                    name.isEmpty
                    ? "a relationship without a name; restore the file from a backup"
                    : "the relationship \(name), which the model does not have; open the store with the model it "
                        + "was written with"
                throw CoreError(
                    .modelMismatch, code: .persistentStoreIncompatibleVersionHash, "\(path) has \(fault)",
                    entity: entity.isEmpty ? nil : entity, key: key, file: path)
            }
            guard listed.insert(relationship.key).inserted else {
                throw damaged(relationship, "are listed twice")
            }
            try read(entries, relationship)
        }
        for relationship in nodes.model.entities.flatMap(\.ownRelationships) where !relationship.isTransient {
            guard let inverse = relationship.inverse, !inverse.isTransient else { continue }
            if relationship.isToMany, inverse.isToMany {
                try checkMembers(relationship, inverse)
            } else if !relationship.isToMany {
                try checkTargets(relationship, inverse)
            }
        }
    }

    /// Returns the difference between a relationship of the model without a member list and that of the file.
    ///
    /// - Parameter entity: The entity in the file.
    private static func difference(of own: Relationship, from entity: String) -> String {
        if own.entity.name != entity {
            "is inherited from \(own.entity.name) in the model, but not in the store"
        } else if own.isTransient {
            "is transient in the model, but not in the store"
        } else if !own.isToMany {
            "is to-many in the store, but not in the model"
        } else {
            "is ordered in the store, or has another inverse than in the model"
        }
    }

    /// Records a relationship that the model does not have, if it has members.
    ///
    /// - Parameter name: The name in the form "Entity.relationship".
    private func skip(_ name: String, _ entries: [String: PropertyListValue], _ skipped: SkippedContent) {
        if PackedNumbers(entries[Key.members])?.count == 0 { return }
        let (entity, key) = BinaryLists.parts(of: name)
        skipped.add(entity, key)
    }

    private static func parts(of name: String) -> (entity: String, key: String?) {
        let parts = name.split(separator: ".", maxSplits: 1).map { String($0) }
        return (parts.first ?? name, parts.count > 1 ? parts[1] : nil)
    }

    private func read(_ entries: [String: PropertyListValue], _ relationship: Relationship) throws {
        guard let owners = PackedNumbers(entries[Key.owners]), let counts = PackedNumbers(entries[Key.counts]),
            let members = PackedNumbers(entries[Key.members]), owners.count == counts.count
        else { throw damaged(relationship, "are incomplete") }
        var place = 0
        var known: Set<Int64> = []
        for (owner, count) in zip(owners, counts) {
            let entity = entity(owner, relationship.entity)
            let isOwner = entity?.isKind(of: relationship.entity) ?? mayBeSkipped
            if let entity, !isOwner {
                let problem = "belong to object \(owner) of \(entity.name), not of \(relationship.entity.name)"
                throw skipped == nil ? damaged(relationship, problem, owner) : mismatch(relationship, problem, owner)
            }
            guard isOwner else { throw damaged(relationship, "have the owner \(owner), which does not exist", owner) }
            guard known.insert(owner).inserted else {
                throw damaged(relationship, "of object \(owner) are listed twice", owner)
            }
            guard count >= 0, count <= Int64(members.count - place) else {
                throw damaged(
                    relationship,
                    "of object \(owner) have the count \(count), which must be 0 to \(members.count - place)", owner,
                    value: .int(count))
            }
            var keys = Array(members[place..<place + Int(count)])
            place += Int(count)
            if entity == nil { continue }
            try validateMembers(&keys, relationship, owner)
            nodes.setMembers(relationship, owner, keys)
        }
        if place != members.count { throw damaged(relationship, "exceed the counts of their owners") }
    }

    /// Checks that each member exists, has the right entity and occurs once.
    ///
    /// Removes deleted members of a relationship without an inverse, and members whose rows were skipped.
    private func validateMembers(_ keys: inout [Int64], _ relationship: Relationship, _ owner: Int64) throws {
        var known: Set<Int64> = []
        let (destination, inverse) = (relationship.destination, relationship.inverse)
        var isMended = false
        for key in keys {
            guard known.insert(key).inserted else {
                throw damaged(relationship, "of object \(owner) include object \(key) twice", owner, value: .int(key))
            }
            guard let member = nodes.node(destination.root, key)?.record else {
                // A list without an inverse keeps deleted members. Skipped objects do not have rows either.
                guard inverse == nil || mayBeSkipped else {
                    throw damaged(
                        relationship, "of object \(owner) include object \(key), which does not exist", owner,
                        value: .int(key))
                }
                isMended = true
                continue
            }
            let entity = nodes.model.entities[Int(member.header.pointee.entity)]
            guard entity.isKind(of: destination) else {
                let problem =
                    "of object \(owner) include object \(key) of \(entity.name), not of \(destination.name)"
                throw skipped == nil
                    ? damaged(relationship, problem, owner, value: .int(key))
                    : mismatch(relationship, problem, owner, value: .int(key))
            }
            if let inverse, !inverse.isToMany, target(of: member, inverse) != owner {
                throw damaged(
                    relationship,
                    "of object \(owner) include object \(key), but its \(inverse.name) does not refer back", owner,
                    value: .int(key))
            }
        }
        if isMended { keys.removeAll { nodes.node(destination.root, $0) == nil } }
    }

    private func entity(_ key: Int64, _ like: Entity) -> Entity? {
        nodes.node(like.root, key).map { nodes.model.entities[Int($0.record.header.pointee.entity)] }
    }

    private func target(of record: Record, _ relationship: Relationship) -> Int64? {
        let entity = nodes.model.entities[Int(record.header.pointee.entity)]
        let slot = Int(relationship.slot)
        return entity.isKind(of: relationship.entity) ? record.target(slot, entity.layout.slots[slot])?.primaryKey : nil
    }

    // MARK: Both sides

    /// Checks that the other side of a many-to-many relationship lists every pair of this side.
    private func checkMembers(_ relationship: Relationship, _ inverse: Relationship) throws {
        var back: [Int64: Set<Int64>] = [:]
        for (owner, members) in nodes.lists(of: inverse) { back[owner] = Set(members) }
        for (owner, members) in nodes.lists(of: relationship) {
            if let member = members.first(where: { !(back[$0]?.contains(owner) ?? false) }) {
                throw damaged(
                    relationship,
                    "of object \(owner) include object \(member), but its \(inverse.name) does not refer back", owner,
                    value: .int(member))
            }
        }
    }

    /// Checks the targets of a to-one relationship.
    ///
    /// A reference to a deleted object is accepted, because the delete rule "no action" can leave such a reference.
    private func checkTargets(_ relationship: Relationship, _ inverse: Relationship) throws {
        var failure: CoreError?
        nodes.tree(of: relationship.entity).forEach { record in
            let owner = nodes.model.entities[Int(record.header.pointee.entity)]
            let slot = Int(relationship.slot)
            guard owner.isKind(of: relationship.entity),
                let target = record.target(slot, owner.layout.slots[slot]),
                let other = nodes.node(relationship.destination.root, target.primaryKey)?.record
            else { return true }
            let key = record.primaryKey
            if other.header.pointee.entity != target.entity {
                let found = nodes.model.entities[Int(other.header.pointee.entity)].name
                let expected = nodes.model.entities[Int(target.entity)].name
                failure = damaged(
                    relationship,
                    "of object \(key) refers to object \(target.primaryKey) of \(found), not of \(expected)", key,
                    value: .int(target.primaryKey))
            } else if !inverse.isToMany, self.target(of: other, inverse) != key {
                failure = damaged(
                    relationship,
                    "of object \(key) refers to object \(target.primaryKey), but its \(inverse.name) does not refer back",
                    key, value: .int(target.primaryKey))
            }
            return failure == nil
        }
        if let failure { throw failure }
    }

    /// Creates the error for damaged members of a relationship.
    ///
    /// - Parameter owner: The primary key of the object that has the members or the target.
    private func damaged(
        _ relationship: Relationship, _ problem: String, _ owner: Int64? = nil, value: PropertyValue? = nil
    ) -> CoreError {
        BinaryFormat.damaged(
            path, described(relationship, problem), entity: relationship.entity.name, key: relationship.name,
            value: value, object: uri(owner, relationship))
    }

    private func mismatch(
        _ relationship: Relationship, _ problem: String, _ owner: Int64, value: PropertyValue? = nil
    ) -> CoreError {
        CoreError.ofAnotherModel(
            path, described(relationship, problem), entity: relationship.entity.name, key: relationship.name,
            value: value, object: uri(owner, relationship))
    }

    private func uri(_ owner: Int64?, _ relationship: Relationship) -> String? {
        guard let owner, let store else { return nil }
        let entity = entity(owner, relationship.entity) ?? relationship.entity
        return ObjectID.uri(ofKey: owner, entity: entity.name, store: store)
    }

    private func described(_ relationship: Relationship, _ problem: String) -> String {
        "\(relationship.isToMany ? "the members of " : "")\(relationship.listName) \(problem)"
    }
}

extension Relationship {
    /// The relationship's name in a binary store.
    var listName: String { "\(entity.name).\(name)" }
}
