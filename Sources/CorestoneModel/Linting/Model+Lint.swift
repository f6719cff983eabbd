import CorestoneFormats
import CorestonePredicate
import CorestoneValues

extension Model {
    /// Returns problems and likely mistakes of the model, which does not have to be frozen.
    ///
    /// The order is deterministic: entities, tables, fetch requests, configurations, renaming identifiers, CloudKit.
    ///
    /// - Parameter formerVersions: earlier versions of the model, oldest first, for the check of renaming identifiers.
    public func lint(_ profile: LintProfile = .standard, formerVersions: [Model] = []) -> [LintFinding] {
        var linter = Linter()
        for entity in entities { linter.lint(entity) }
        for root in roots { linter.checkTable(of: root) }
        for name in sortedByBytes(fetchRequestTemplates.keys) {
            if let request = fetchRequestTemplates[name] { linter.lint(request, name: name, in: self) }
        }
        for configuration in configurations {
            for name in configuration.entityNames where entity(named: name) == nil {
                linter.add(
                    .unknownEntity, nil, nil,
                    "the configuration \"\(configuration.name)\" contains \"\(name)\", which is not an entity of the model",
                    "remove it from the configuration, or add the entity")
            }
        }
        linter.checkChains(in: self, after: formerVersions)
        if profile == .cloudKit { linter.checkCloudKit(in: self) }
        return linter.findings
    }
}

/// The collected findings about a model.
struct Linter {
    private(set) var findings: [LintFinding] = []

    mutating func add(_ rule: LintRule, _ entity: Entity?, _ key: String?, _ message: String, _ remedy: String) {
        findings.append(
            LintFinding(
                rule: rule, severity: rule.severity, entity: entity?.name, key: key, message: message, remedy: remedy))
    }
}

// MARK: - Entities

extension Linter {
    fileprivate mutating func lint(_ entity: Entity) {
        if entity.isAbstract && entity.children.isEmpty {
            add(
                .abstractWithoutChildren, entity, nil, "\(entity.name) is abstract but does not have a subentity",
                "add a subentity, or make it concrete: an abstract entity cannot have objects")
        }
        for property in entity.ownProperties + entity.ownFetchedProperties where reservedNames.contains(property.name) {
            add(
                .reservedName, entity, property.name,
                "\(entity.name).\(property.name) has the name of a method of NSManagedObject, which hides it on Apple's platforms",
                "rename it, and set its renaming identifier to \"\(property.canonicalName)\" to keep the data")
        }
        for attribute in entity.ownAttributes { lint(attribute) }
        for relationship in entity.ownRelationships { lint(relationship) }
        for fetched in entity.ownFetchedProperties { lint(fetched) }
        checkIndexes(of: entity)
        for constraint in entity.uniqueConstraints {
            for name in constraint {
                check(
                    name, of: entity, "a unique constraint of \(entity.name)", unknown: .unknownInConstraint,
                    transient: .transientInConstraint)
            }
        }
    }

    private mutating func checkIndexes(of entity: Entity) {
        var seen: Set<String> = []
        for index in entity.indexes {
            let subject = "the index \"\(index.name)\" of \(entity.name)"
            if !seen.insert(index.name).inserted {
                add(
                    .repeatedIndex, entity, nil, "\(entity.name) has two indexes named \"\(index.name)\"",
                    "rename or remove one of them: a store creates only the first")
            }
            for element in index.elements {
                if let expression = element.expression {
                    lint(expression: expression, of: entity, nil, subject)
                } else {
                    check(element.property, of: entity, subject, unknown: .unknownInIndex, transient: .transientInIndex)
                }
            }
            if let fault = entity.spatialFault(index, property: { entity.properties(along: KeyPath($0)).last ?? nil }) {
                add(
                    .unservedRTree, entity, fault.key, "\(fault.text), so fetches do not use the index",
                    fault.remedy ?? "make it a binary index, or remove it")
            }
            if let predicate = index.partialPredicate { lint(predicate, of: entity, entity, nil, subject) }
        }
    }

    /// Checks a reference to a property that must have a column.
    private mutating func check(
        _ name: String, of entity: Entity, _ subject: String, unknown: LintRule, transient: LintRule
    ) {
        let path = entity.properties(along: KeyPath(name))
        guard let property = path.first ?? nil else {
            return add(
                unknown, entity, name, "\(subject) refers to the unknown property \"\(name)\"",
                "correct the name, or add the property")
        }
        if property.isTransient {
            add(
                transient, entity, name,
                "\(subject) contains \"\(name)\", which is transient and does not have a column",
                "make it persistent, or use another property")
        }
    }

    /// Checks the column names in the table of an entity tree.
    ///
    /// SQLite compares column names without regard to case.
    fileprivate mutating func checkTable(of root: Entity) {
        var first: [String: Property] = [:]
        for entity in root.withDescendants {
            for property in entity.ownProperties where !property.isTransient {
                guard let other = first[property.name.uppercased()] else {
                    first[property.name.uppercased()] = property
                    continue
                }
                let isShared = other.name == property.name
                let (one, two) = ("\(entity.name).\(property.name)", "\(other.entity.name).\(other.name)")
                add(
                    isShared ? .sharedColumnName : .nameCollision, entity, property.name,
                    "\(one) and \(two) have the same column name in the table of \(root.name), so one of them is numbered",
                    isShared
                        ? "move the property to a common superentity if both have the same meaning"
                        : "rename one of them: they differ in case only")
            }
        }
    }
}

/// Names of methods of NSObject and NSManagedObject, which hide properties of the same names.
private let reservedNames: Set<String> = [
    "alloc", "allocWithZone", "autorelease", "autoContentAccessingProxy", "awakeFromFetch", "awakeFromInsert",
    "changedValues",
    "changedValuesForCurrentEvent", "class", "classDescription", "classForArchiver", "classForCoder",
    "classForKeyedArchiver",
    "classForPortCoder", "className", "copy", "dealloc", "debugDescription", "deleted", "description",
    "didSave", "didTurnIntoFault", "entity", "fault", "faultingState", "finalize", "hasChanges",
    "hasFaultForRelationshipNamed",
    "hasPersistentChangedValues", "hash", "init", "initialize", "inserted", "isDeleted", "isFault", "isInserted",
    "isProxy",
    "isUpdated", "load", "managedObjectContext", "mutableCopy", "new", "objectID", "objectSpecifier",
    "objectWillChange", "observationInfo", "prepareForDeletion", "release", "retain", "retainCount",
    "scriptingProperties",
    "self", "superclass", "toManyRelationshipKeys", "toOneRelationshipKeys", "updated", "version", "willSave",
    "willTurnIntoFault", "zone",
]
