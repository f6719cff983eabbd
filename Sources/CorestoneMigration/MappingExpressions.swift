import CorestoneFormats
import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// The expressions that Xcode's mapping model compiler generates where the author did not set an expression.
enum MappingExpressions {
    /// Returns the expression `$source.KEY`.
    static func source(_ key: String) -> Expression { .path(.variable("source"), KeyPath(key)) }

    /// Returns an expression for the objects that one entity mapping created for the objects at a key path.
    static func destinations(of path: Expression, byMapping name: String) -> Expression {
        message(destinationsByMapping, [.string(name), path])
    }

    /// Returns an expression for the migrated objects of a relationship or path.
    ///
    /// Its value is an array of the objects that all entity mappings created for the objects of the relationship or
    /// path, except for objects that do not fit the relationship that is being set.
    static func destinations(ofRelationship name: String, path: Expression? = nil) -> Expression {
        message(destinationsByRelationship, [.string(name), path ?? source(name)])
    }

    /// Returns an expression for the objects of an entity that satisfy a predicate.
    static func objects(of entity: String, matching filter: String = allObjects) -> Expression {
        .fetch(
            message(KeyedArchiver.requestSelector, [.string(entity), .string(filter)]),
            context: .path(.variable("manager"), KeyPath("sourceContext")), countOnly: .constant(.bool(false)))
    }

    /// The predicate of an entity mapping without a filter.
    static let allObjects = "TRUEPREDICATE"
    static let destinationsByMapping = "destinationInstancesForEntityMappingNamed:sourceInstances:"
    static let destinationsByRelationship = "destinationInstancesForSourceRelationshipNamed:sourceInstances:"

    /// Returns the arguments of a call of a method of `$manager`, or nil for any other expression.
    static func arguments(of expression: Expression?, calling selector: String) -> [Expression]? {
        guard case .message(.variable("manager"), .constant(.text(let name)), let arguments)? = expression,
            name.string == selector
        else { return nil }
        return arguments
    }

    /// Returns the predicate in an expression in the form of `objects(of:matching:)`, or nil for other expressions.
    static func filter(in expression: Expression?, of entity: String) -> String? {
        guard case .fetch(let request, _, _)? = expression,
            let arguments = arguments(of: request, calling: KeyedArchiver.requestSelector), arguments.count == 2,
            case .constant(.text(let filter)) = arguments[1],
            expression == objects(of: entity, matching: filter.string)
        else { return nil }
        return filter.string
    }

    private static func message(_ selector: String, _ arguments: [Expression]) -> Expression {
        .message(receiver: .variable("manager"), selector: .string(selector), arguments: arguments)
    }
}
