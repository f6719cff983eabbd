import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension MappingModel {
    /// Checks the kinds and the names in the mapping model.
    ///
    /// The version hashes are not compared; use `matches` for that.
    ///
    /// - Parameters:
    ///   - source: The source model; nil for `sourceModel`. If both are nil, names of source entities are not checked.
    ///   - destination: The destination model; nil for `destinationModel`. If both are nil, names of destination
    ///     entities and of their properties are not checked.
    /// - Throws: `.migration` with the mapping and the property of a problem: 134170 for a custom mapping without a
    ///   policy class, otherwise 134110. If there are several problems, each is a child.
    public func validate(source: Model? = nil, destination: Model? = nil) throws {
        var validation = MappingValidation(
            source: source ?? sourceModel, destination: destination ?? destinationModel,
            names: entityMappings.map(\.name))
        for mapping in entityMappings { validation.check(mapping) }
        try validation.finish()
    }
}

private struct MappingValidation {
    let source: Model?
    let destination: Model?
    let names: [String]
    private var used: Set<String> = []
    private var problems: [CoreError] = []

    init(source: Model?, destination: Model?, names: [String]) {
        (self.source, self.destination, self.names) = (source, destination, names)
    }

    func finish() throws {
        guard let first = problems.first else { return }
        if problems.count == 1 { throw first }
        throw CoreError(
            .migration,
            "the mapping model has \(problems.count) problems, which the details list. The first: \(first.message)",
            customCode: first.code, entity: first.entity, key: first.key, value: first.value, children: problems)
    }

    private mutating func report(
        _ message: String, entity: String? = nil, key: String? = nil, value: String? = nil,
        code: CocoaCode = .migration
    ) {
        problems.append(
            CoreError(
                .migration, code: code, message, entity: entity, key: key, value: value.map { .string($0) }))
    }

    mutating func check(_ mapping: EntityMapping) {
        checkName(mapping)
        checkKind(mapping)
        if let name = mapping.sourceName, let source { check(name, in: source, "source", of: mapping) }
        if let name = mapping.destinationName, let destination {
            check(name, in: destination, "destination", of: mapping)
        }
        checkProperties(mapping)
        checkReferences(mapping.sourceExpression, mapping, nil)
        for property in mapping.attributeMappings + mapping.relationshipMappings {
            checkReferences(property.valueExpression, mapping, property)
        }
    }

    /// Returns the subject of a message about a mapping.
    private func subject(_ mapping: EntityMapping) -> String { "the entity mapping \"\(mapping.name)\"" }

    private func near(_ name: String, _ names: [String]) -> String {
        nearestName(to: name, among: names).map { "; did you mean \"\($0)\"?" } ?? ""
    }

    // MARK: - Entities

    private mutating func checkName(_ mapping: EntityMapping) {
        let entity = mapping.destinationName ?? mapping.sourceName
        if mapping.name.isEmpty {
            report(
                "an entity mapping\(entity.map { " of \($0)" } ?? "") does not have a name; set one", entity: entity)
        } else if !used.insert(mapping.name).inserted {
            report(
                "two entity mappings have the name \"\(mapping.name)\"; rename one of them", entity: entity,
                value: mapping.name)
        }
    }

    private mutating func checkKind(_ mapping: EntityMapping) {
        let (source, destination) = (mapping.sourceName, mapping.destinationName)
        let kind = mapping.kind.name
        let subject = "\(subject(mapping)) has the kind \(kind)"
        switch mapping.kind {
        case .add:
            if let source {
                report(
                    "\(subject) and the source \(source); remove the source, or use the kind transform", entity: source,
                    value: kind)
            }
            if destination == nil {
                report(
                    "\(subject), but does not have a destination; set the added entity as its destination",
                    entity: source,
                    value: kind)
            }
        case .remove:
            if let destination {
                report(
                    "\(subject) and the destination \(destination); remove the destination, or use the kind transform",
                    entity: destination, value: kind)
            }
            if source == nil {
                report(
                    "\(subject), but does not have a source; set the removed entity as its source", entity: destination,
                    value: kind)
            }
        case .copy, .transform:
            if source == nil {
                report(
                    "\(subject), but does not have a source; set the source, or use the kind add", entity: destination,
                    value: kind)
            }
            if destination == nil {
                report(
                    "\(subject), but does not have a destination; set the destination, or use the kind remove",
                    entity: source, value: kind)
            }
        case .custom:
            if mapping.policyClassName?.isEmpty ?? true {
                report(
                    "\(subject), but does not have a policy class; set the policy class, or use another kind",
                    entity: destination ?? source, value: kind, code: .entityMigrationPolicy)
            }
            if source == nil, destination == nil {
                report("\(subject), but has neither a source nor a destination; set one of them", value: kind)
            }
        case .undefined: break
        }
    }

    private mutating func check(_ name: String, in model: Model, _ role: String, of mapping: EntityMapping) {
        guard model.entity(named: name) == nil else { return }
        report(
            "\(subject(mapping)) has the \(role) \"\(name)\", which is not an entity of the \(role) model"
                + near(name, model.entities.map(\.name)), entity: name)
    }

    // MARK: - Properties

    private mutating func checkProperties(_ mapping: EntityMapping) {
        let properties = mapping.attributeMappings + mapping.relationshipMappings
        var seen: Set<String> = []
        for property in properties where !seen.insert(property.name).inserted {
            report(
                "\(subject(mapping)) maps the property \"\(property.name)\" twice; remove one of the two mappings",
                entity: mapping.destinationName, key: property.name)
        }
        guard let name = mapping.destinationName else {
            if let first = properties.first {
                report(
                    "\(subject(mapping)) maps the property \"\(first.name)\", but does not have a destination; "
                        + (mapping.kind == .remove ? "" : "set the destination, or ")
                        + "remove the property mappings", entity: mapping.sourceName, key: first.name)
            }
            return
        }
        guard let entity = destination?.entity(named: name) else { return }
        let attributes = entity.allProperties.compactMap { $0 as? Attribute }.flatMap(\.withElements).map(\.path)
        let relationships = entity.allProperties.filter { $0 is Relationship }.map(\.name)
        for property in mapping.attributeMappings {
            check(property.name, mapping, name, "attribute", attributes, "relationship", relationships)
        }
        for property in mapping.relationshipMappings {
            check(property.name, mapping, name, "relationship", relationships, "attribute", attributes)
        }
    }

    private mutating func check(
        _ name: String, _ mapping: EntityMapping, _ entity: String, _ kind: String, _ names: [String],
        _ otherKind: String, _ otherNames: [String]
    ) {
        if names.contains(name) { return }
        if otherNames.contains(name) {
            report(
                "\(subject(mapping)) maps \(entity).\(name) as \(kind == "attribute" ? "an" : "a") \(kind), but it is "
                    + "\(otherKind == "attribute" ? "an" : "a") \(otherKind); move it to the \(otherKind) mappings",
                entity: entity, key: name)
        } else {
            report(
                "\(subject(mapping)) maps the \(kind) \"\(name)\", which \(entity) does not have" + near(name, names),
                entity: entity, key: name)
        }
    }

    // MARK: - Expressions

    /// Checks that the entity mappings to which an expression refers by name exist.
    private mutating func checkReferences(
        _ expression: Expression?, _ mapping: EntityMapping, _ property: PropertyMapping?
    ) {
        guard let expression else { return }
        if let arguments = MappingExpressions.arguments(
            of: expression, calling: MappingExpressions.destinationsByMapping),
            case .constant(.text(let name))? = arguments.first, !names.contains(name.string)
        {
            report(
                "\(property.map { "\"\($0.name)\" in " } ?? "")\(subject(mapping)) refers to the entity mapping "
                    + "\"\(name.string)\", which does not exist" + near(name.string, names),
                entity: mapping.destinationName ?? mapping.sourceName, key: property?.name, value: name.string)
        }
        for operand in expression.operands { checkReferences(operand, mapping, property) }
    }
}
