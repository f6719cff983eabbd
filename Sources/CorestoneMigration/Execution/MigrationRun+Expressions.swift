import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

// Variables and functions of the expressions in a mapping model.
extension MigrationRun {
    /// Returns the values of the variables of an expression.
    ///
    /// The variables are `$source`, `$destination`, `$manager`, `$entityMapping`, `$propertyMapping` and
    /// `$entityPolicy`.
    ///
    /// Within one mapping, only the objects and the property differ, so the last dictionary is reused.
    func variables(
        of plan: EntityPlan, _ property: PropertyValue = .null, source: ManagedObject? = nil,
        destination: ManagedObject? = nil
    ) -> [String: PropertyValue] {
        if variables.mapping != plan.number {
            variables.values = [
                "manager": .object(ManagerValue(manager)), "entityMapping": .object(MappingValue(plan.mapping)),
                "entityPolicy": .object(PolicyValue(plan, manager)),
            ]
            variables.mapping = plan.number
        }
        variables.values["source"] = source.map { .object($0) } ?? .null
        variables.values["destination"] = destination.map { .object($0) } ?? .null
        variables.values["propertyMapping"] = property
        return variables.values
    }

    /// Returns the result of a function of the manager; nil if the manager does not have the function.
    func receive(_ selector: String, _ arguments: [PropertyValue]) throws -> PropertyValue? {
        switch selector {
        case "fetchRequestForSourceEntityNamed:predicateString:":
            return .object(try sourceRequest(arguments))
        case "destinationInstancesForEntityMappingNamed:sourceInstances:":
            let name = try text(arguments, 0, selector)
            let sources = arguments.count > 1 ? arguments[1].managedObjects : []
            return .array(
                try destinations(mapping: name, of: sources).map { .object($0) })
        case "destinationInstancesForSourceRelationshipNamed:sourceInstances:":
            let sources = arguments.count > 1 ? arguments[1].managedObjects : []
            let found = try destinations(of: sources)
            let fitting = currentRelationship.map { relationship in
                found.filter { $0.entity.isKind(of: relationship.destination) }
            }
            return .array((fitting ?? found).map { .object($0) })
        case "sourceInstancesForEntityMappingNamed:destinationInstances:":
            let name = try text(arguments, 0, selector)
            let objects = arguments.count > 1 ? arguments[1].managedObjects : []
            return .array(
                try self.sources(mapping: name, of: objects).map { .object($0) })
        default: return try manager.functions[selector]?(arguments)
        }
    }

    static let selectors = [
        "fetchRequestForSourceEntityNamed:predicateString:",
        "destinationInstancesForEntityMappingNamed:sourceInstances:",
        "destinationInstancesForSourceRelationshipNamed:sourceInstances:",
        "sourceInstancesForEntityMappingNamed:destinationInstances:",
    ]

    /// Returns a request for the objects of one entity, without its subentities.
    private func sourceRequest(_ arguments: [PropertyValue]) throws -> FetchRequest {
        let selector = MigrationRun.selectors[0]
        let request = FetchRequest(entity: try manager.sourceModel.requireEntity(named: text(arguments, 0, selector)))
        request.includesSubentities = false
        let condition = try text(arguments, 1, selector)
        if condition != "TRUEPREDICATE" { request.predicate = try Predicate.parse(condition) }
        return request
    }

    private func text(_ arguments: [PropertyValue], _ place: Int, _ selector: String) throws -> String {
        guard place < arguments.count, case .text(let text) = arguments[place] else {
            throw CoreError(
                .predicate,
                "argument \(place + 1) of \"\(selector)\" must be a string"
                    + (place < arguments.count ? ", not \(arguments[place].excerpt)" : ", but is missing"),
                key: selector, value: place < arguments.count ? arguments[place] : nil)
        }
        return text.string
    }
}

/// An object of the library that is the value of a variable in a mapping model's expressions.
package protocol MigrationVariable {
    /// The value that functions in another language receive instead.
    var hostValue: PropertyValue { get }
}

/// The value of `$manager`.
final class ManagerValue: MessageReceiver, KeyValueCoding, MigrationVariable {
    private let manager: MigrationManager

    init(_ manager: MigrationManager) { self.manager = manager }

    var hostValue: PropertyValue { .null }

    func receive(_ selector: String, _ arguments: [PropertyValue]) throws -> PropertyValue? {
        try manager.running().receive(selector, arguments)
    }

    var selectors: [String] { MigrationRun.selectors + manager.functions.keys }

    func value(forKey key: String) throws -> PropertyValue {
        switch key {
        case "sourceContext": return manager.sourceContext.map { .object($0) } ?? .null
        case "destinationContext": return manager.destinationContext.map { .object($0) } ?? .null
        case "userInfo": return .dictionary(manager.userInfo)
        case "migrationProgress": return .double(manager.progress)
        case "currentEntityMapping":
            return manager.currentEntityMapping.map { .object(MappingValue($0)) } ?? .null
        default:
            let known = [
                "sourceContext", "destinationContext", "userInfo", "migrationProgress", "currentEntityMapping",
            ]
            throw unknownKey(key, of: "$manager", known)
        }
    }

    func isEqual(to other: any ValueObject) -> Bool { (other as? ManagerValue)?.manager === manager }
    func hashIdentity(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(manager)) }
    var valueDescription: String { "<migration manager>" }
}

/// The value of `$entityPolicy`.
final class PolicyValue: MessageReceiver, MigrationVariable {
    private let plan: EntityPlan
    private let manager: MigrationManager

    init(_ plan: EntityPlan, _ manager: MigrationManager) { (self.plan, self.manager) = (plan, manager) }

    var hostValue: PropertyValue { .null }

    func receive(_ selector: String, _ arguments: [PropertyValue]) throws -> PropertyValue? {
        guard let policy = plan.policy else {
            throw CoreError(
                .migration, code: .entityMigrationPolicy,
                "the entity mapping \"\(plan.mapping.name)\" calls \"\(selector)\" of $entityPolicy, but does not have a policy "
                    + "of its own; set a policy class that has this function",
                entity: plan.destination?.name ?? plan.source?.name, key: selector)
        }
        if let value = try policy.call(selector, arguments, manager: manager) { return value }
        // The base class in Python does not call methods with its own names, or with a leading underscore.
        let name = String(selector.map { $0 == ":" ? "_" : $0 })
        let method = name.hasPrefix("_") || PolicyValue.reservedMethods.contains(name) ? "call" : name
        throw CoreError(
            .migration, code: .entityMigrationPolicy,
            "the migration policy \"\(plan.mapping.policyClassName ?? "")\" of the entity mapping \"\(plan.mapping.name)\" "
                + "does not have a function \"\(selector)\"; implement it in EntityMigrationPolicy.call (in C the "
                + "callback cst_migration_policy_callbacks.call, in Python the method \(method))",
            entity: plan.destination?.name ?? plan.source?.name, key: selector)
    }

    /// The methods of the base class in Python.
    private static let reservedMethods: Set = [
        "begin", "create_destination_instances", "end_instance_creation", "create_relationships",
        "end_relationship_creation", "perform_custom_validation", "end", "call", "batch_safe",
    ]

    var selectors: [String] { [] }

    func isEqual(to other: any ValueObject) -> Bool { (other as? PolicyValue)?.plan.number == plan.number }
    func hashIdentity(into hasher: inout Hasher) { hasher.combine(plan.number) }
    var valueDescription: String { "<migration policy \(plan.mapping.policyClassName ?? "")>" }
}

/// The value of `$entityMapping` and `$propertyMapping`.
final class MappingValue: KeyValueCoding, MigrationVariable {
    private let name: String
    /// The kind of the mapping, for messages.
    private let kind: String
    private let values: [String: PropertyValue]

    init(_ mapping: EntityMapping) {
        (name, kind) = (mapping.name, "entity mapping")
        values = [
            "name": .string(mapping.name), "mappingType": .int(mapping.kind.rawValue),
            "sourceEntityName": mapping.sourceName.map { .string($0) } ?? .null,
            "destinationEntityName": mapping.destinationName.map { .string($0) } ?? .null,
            "entityMigrationPolicyClassName": mapping.policyClassName.map { .string($0) } ?? .null,
            "userInfo": .dictionary(mapping.userInfo.mapValues { .string($0) }),
        ]
    }

    init(_ mapping: PropertyMapping) {
        (name, kind) = (mapping.name, "property mapping")
        values = [
            "name": .string(mapping.name), "userInfo": .dictionary(mapping.userInfo.mapValues { .string($0) }),
        ]
    }

    var hostValue: PropertyValue { .string(name) }

    func value(forKey key: String) throws -> PropertyValue {
        if let value = values[key] { return value }
        throw unknownKey(key, of: "the \(kind) \"\(name)\"", Array(values.keys))
    }

    func isEqual(to other: any ValueObject) -> Bool { (other as? MappingValue)?.values == values }
    func hashIdentity(into hasher: inout Hasher) { hasher.combine(name) }
    var valueDescription: String { "<mapping \(name)>" }
}

private func unknownKey(_ key: String, of owner: String, _ known: [String]) -> CoreError {
    let near = nearestName(to: key, among: known).map { "; did you mean \"\($0)\"?" }
    return CoreError(
        .predicate,
        "\(owner) does not have a key \"\(key)\"" + (near ?? "; use one of \(known.sorted().joined(separator: ", "))"),
        key: key)
}
