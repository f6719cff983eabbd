import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// The expressions that Xcode's compiler writes where an author left it to Core Data.
enum MappingExpressions {
    /// `$source.name`
    static func source(_ key: String) -> Expression { .path(.variable("source"), KeyPath(key)) }

    /// What the objects at a key path of the source became by one entity mapping.
    static func destinations(of path: Expression, byMapping name: String) -> Expression {
        message("destinationInstancesForEntityMappingNamed:sourceInstances:", [.string(name), path])
    }

    /// What the objects of a relationship of the source became, by whichever entity mapping was theirs.
    static func destinations(ofRelationship name: String) -> Expression {
        message("destinationInstancesForSourceRelationshipNamed:sourceInstances:", [.string(name), source(name)])
    }

    /// All objects of an entity.
    static func objects(of entity: String) -> Expression {
        .fetch(
            message("fetchRequestForSourceEntityNamed:predicateString:", [.string(entity), .string("TRUEPREDICATE")]),
            context: .path(.variable("manager"), KeyPath("sourceContext")), countOnly: .constant(.bool(false)))
    }

    private static func message(_ selector: String, _ arguments: [Expression]) -> Expression {
        .message(receiver: .variable("manager"), selector: .string(selector), arguments: arguments)
    }
}
