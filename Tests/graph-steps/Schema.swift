import Corestone

/// The entities of a world, with one relationship of each kind and each delete rule that changes objects.
///
/// A team owns its ordered members (cascade), has at most one leader, and shares tags. The friends of people are a
/// relationship that is its own inverse.
package enum Schema {
    struct Attribute {
        let name: String
        let isText: Bool
        var isTransient = false
        /// A save rejects nil.
        var isRequired = false
    }

    struct Relationship {
        let name: String
        let kind: Int
        let destination: Int
        /// The index of its inverse among the destination's relationships.
        let inverse: Int
        var isToMany = false
        var isOrdered = false
        var cascades = false
    }

    static let kinds = ["Team", "Person", "Tag"]
    static let attributes: [[Attribute]] = [
        [Attribute(name: "name", isText: true), Attribute(name: "rank", isText: false)],
        [
            Attribute(name: "name", isText: true), Attribute(name: "age", isText: false, isRequired: true),
            Attribute(name: "note", isText: true, isTransient: true),
        ],
        [Attribute(name: "name", isText: true)],
    ]
    static let relationships: [[Relationship]] = [
        [
            Relationship(
                name: "members", kind: 0, destination: 1, inverse: 0, isToMany: true, isOrdered: true, cascades: true),
            Relationship(name: "leader", kind: 0, destination: 1, inverse: 1),
            Relationship(name: "tags", kind: 0, destination: 2, inverse: 0, isToMany: true),
        ],
        [
            Relationship(name: "team", kind: 1, destination: 0, inverse: 0),
            Relationship(name: "leads", kind: 1, destination: 0, inverse: 1),
            Relationship(name: "friends", kind: 1, destination: 1, inverse: 2, isToMany: true),
        ],
        [Relationship(name: "teams", kind: 2, destination: 0, inverse: 2, isToMany: true)],
    ]

    static func model() throws -> Model {
        let model = Model()
        let entities = try kinds.map { try model.addEntity(named: $0) }
        for (kind, entity) in entities.enumerated() {
            try entity.addAttribute(named: "serial", type: .integer64)
            for attribute in attributes[kind] {
                let made = try entity.addAttribute(
                    named: attribute.name, type: attribute.isText ? .string : .integer32,
                    isOptional: !attribute.isRequired, isTransient: attribute.isTransient)
                if attribute.isRequired { try made.setDefaultValue(.int(0)) }
            }
        }
        let made = try relationships.map { list in
            try list.map { one in
                let relationship = try entities[one.kind].addRelationship(
                    named: one.name, destination: entities[one.destination], isToMany: one.isToMany,
                    isOrdered: one.isOrdered)
                try relationship.setDeleteRule(one.cascades ? .cascade : .nullify)
                return relationship
            }
        }
        for (kind, list) in relationships.enumerated() {
            for (place, one) in list.enumerated() {
                try made[kind][place].setInverse(made[one.destination][one.inverse])
            }
        }
        return model
    }
}
