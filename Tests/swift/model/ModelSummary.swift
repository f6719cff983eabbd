import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// The complete contents of a model as lines of text: equal models have equal lines.
enum ModelSummary {
    static func of(_ model: Model) throws -> [String] {
        var lines = model.entities.flatMap(entity)
        for (name, template) in model.fetchRequestTemplates { lines.append("template \(name): \(request(template))") }
        for configuration in model.configurations {
            lines.append("configuration \(configuration.name): \(configuration.entityNames.sorted())")
        }
        lines.append("identifiers: \(model.versionIdentifiers.sorted())")
        return lines.sorted()
    }

    static func entity(_ entity: Entity) -> [String] {
        var lines = [
            "entity \(entity.name): parent \(entity.parent?.name ?? "-") abstract \(entity.isAbstract) "
                + "class \(entity.className) modifier \(entity.versionHashModifier ?? "-") "
                + "renaming \(entity.renamingIdentifier ?? "-") info \(info(entity.userInfo))"
        ]
        lines += entity.ownAttributes.map { "attribute " + attribute($0) }
        lines += entity.ownRelationships.map { "relationship " + relationship($0) }
        lines += entity.ownFetchedProperties.map { "fetched \(property($0)) \(request($0.fetchRequest))" }
        lines += entity.indexes.map { "index \(entity.name) \(index($0))" }
        lines += entity.uniqueConstraints.map { "unique \(entity.name) \($0)" }
        return lines
    }

    static func property(_ property: Property) -> String {
        "\(property.entity.name).\(property.name) optional \(property.isOptional) transient \(property.isTransient) "
            + "modifier \(property.versionHashModifier ?? "-") renaming \(property.renamingIdentifier ?? "-") "
            + "spotlight \(property.isIndexedBySpotlight) info \(info(property.userInfo)) "
            + "rules \(property.validationRules.map { "\($0.predicate.text): \($0.warning)" })"
    }

    static func attribute(_ attribute: Attribute) -> String {
        "\(property(attribute)) type \(attribute.type) default \(attribute.defaultValue) "
            + "external \(attribute.allowsExternalStorage) history \(attribute.preservesValueInHistory) "
            + "transformer \(attribute.valueTransformerName ?? "-") class \(attribute.valueClassName ?? "-") "
            + "derived \(attribute.derivation?.expression.text ?? "-") elements \(attribute.elements.map(Self.attribute))"
    }

    static func relationship(_ relationship: Relationship) -> String {
        "\(property(relationship)) to \(relationship.destination.name) inverse \(relationship.inverse?.name ?? "-") "
            + "rule \(relationship.deleteRule) counts \(relationship.minimumCount) \(relationship.maximumCount) "
            + "ordered \(relationship.isOrdered)"
    }

    static func index(_ index: FetchIndex) -> String {
        let elements = index.elements.map {
            "\($0.property) \($0.expression?.text ?? "-") \($0.collation) \($0.isAscending)"
        }
        return "\(index.name) \(elements) where \(index.partialPredicate?.text ?? "-")"
    }

    static func request(_ request: FetchRequestTemplate) -> String {
        "\(request.entityName) where \(request.predicate?.text ?? "-") sorted \(request.sortDescriptors) "
            + "limit \(request.limit) offset \(request.offset) batch \(request.batchSize) \(request.resultType)"
    }

    private static func info(_ entries: [String: String]) -> [String] { entries.map { "\($0)=\($1)" }.sorted() }
}
