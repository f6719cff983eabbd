import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// Makes a mapping model of the objects in which Xcode keeps it, as its compiler does: names, kinds and expressions that the
/// author left open are filled in from the two models.
struct XcodeMappingBuilder {
    typealias Record = XcodeMappingReader.Record

    private let root: Record
    private let records: [String: Record]
    private let source: Model?
    private let destination: Model?
    private let hashes: (source: [String: [UInt8]], destination: [String: [UInt8]])
    /// By entity of the source, the names of its mappings.
    private var mappingNames: [String: [String]] = [:]

    init(_ root: Record, _ records: [String: Record]) throws {
        self.root = root
        self.records = records
        source = try XcodeMappingBuilder.model(root, "sourcemodeldata")
        destination = try XcodeMappingBuilder.model(root, "destinationmodeldata")
        hashes = (source.map(entityVersionHashes) ?? [:], destination.map(entityVersionHashes) ?? [:])
    }

    private static func model(_ record: Record, _ name: String) throws -> Model? {
        guard let text = record.attributes[name], !text.isEmpty else { return nil }
        guard let bytes = decodeBase64(Array(text.utf8)) else {
            throw CoreError(
                .storeCorrupt, code: .persistentStoreOpen,
                "the attribute \"\(name)\" of the mapping model is not valid base64; refresh its data models in Xcode",
                key: name)
        }
        do { return try Model(data: bytes) } catch let error as CoreError {
            throw error.within("the model in the attribute \"\(name)\" of the mapping model cannot be read", key: name)
        }
    }

    mutating func build() throws -> MappingModelParts {
        let mappings = try followed(root, "entitymappings").sorted { number($0) < number($1) }
        for record in mappings {
            guard let entity = text(record, "sourcename") else { continue }
            mappingNames[entity, default: []].append(name(of: record))
        }
        return MappingModelParts(
            mappings: try mappings.map(entityMapping), source: source, destination: destination,
            sourcePath: text(root, "sourcemodelpath"), destinationPath: text(root, "destinationmodelpath"))
    }

    // MARK: - Records

    private func followed(_ record: Record, _ relationship: String) throws -> [Record] {
        try (record.references[relationship] ?? []).map { id in
            guard let found = records[id] else {
                throw CoreError(
                    .storeCorrupt, code: .persistentStoreOpen,
                    "the mapping model refers by \"\(relationship)\" to the object \"\(id)\", which does not exist; restore "
                        + "the file, or create the mapping model again in Xcode", key: relationship, value: .string(id))
            }
            return found
        }
    }

    /// Nothing and an empty text are the same to Xcode.
    private func text(_ record: Record, _ name: String) -> String? {
        record.attributes[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    private func number(_ record: Record) -> Int { text(record, "mappingnumber").flatMap { Int($0) } ?? 0 }

    private func expression(
        _ record: Record, _ name: String, in mapping: String
    ) throws -> (found: Expression?, isThere: Bool) {
        guard let text = text(record, name) else { return (nil, false) }
        let owner = self.name(of: record)
        let what =
            "the attribute \"\(name)\" of \(owner == mapping ? "" : "\"\(owner)\" in ")the mapping \"\(mapping)\""
        guard let bytes = decodeBase64(Array(text.utf8)) else {
            throw CoreError(
                .storeCorrupt, code: .persistentStoreOpen,
                "\(what) is not valid base64; set its expression again in Xcode", key: name, value: .string(text))
        }
        do {
            let archive = try KeyedArchiveReader(bytes)
            return (try ArchivedPredicates.readableExpression(archive.root, in: archive), true)
        } catch let error as CoreError { throw error.within(what, key: name) }
    }

    // MARK: - Entities

    private func name(of record: Record) -> String {
        if let name = text(record, "name") { return name }
        let (source, destination) = (text(record, "sourcename"), text(record, "destinationname"))
        guard let source, let destination else { return source ?? destination ?? "" }
        return "\(source)To\(destination)"
    }

    private func entityMapping(_ record: Record) throws -> EntityMapping {
        var mapping = EntityMapping(name: name(of: record), kind: .undefined)
        mapping.sourceName = text(record, "sourcename")
        mapping.destinationName = text(record, "destinationname")
        mapping.sourceHash = mapping.sourceName.flatMap { hashes.source[$0] }
        mapping.destinationHash = mapping.destinationName.flatMap { hashes.destination[$0] }
        mapping.policyClassName = text(record, "migrationpolicyclassname")
        let entity = mapping.sourceName.flatMap { source?.entity(named: $0) }
        let owner = mapping.name
        mapping.attributeMappings = try followed(record, "attributemappings").sorted(by: name).map {
            try attribute($0, of: entity, in: owner)
        }
        mapping.relationshipMappings = try followed(record, "relationshipmappings").sorted(by: name).map {
            try relationship($0, of: entity, in: owner)
        }
        let given = try expression(record, "sourceexpressiondata", in: mapping.name).found
        mapping.sourceExpression = given ?? mapping.sourceName.map { MappingExpressions.objects(of: $0) }
        mapping.kind = kind(of: mapping)
        return mapping
    }

    private func name(_ one: Record, _ other: Record) -> Bool {
        Text(one.attributes["name"] ?? "") < Text(other.attributes["name"] ?? "")
    }

    /// Xcode keeps no kind; its compiler tells it from the rest.
    private func kind(of mapping: EntityMapping) -> EntityMapping.Kind {
        if mapping.policyClassName != nil { return .custom }
        guard mapping.sourceName != nil else { return .add }
        guard mapping.destinationName != nil else { return .remove }
        let isCopied = mapping.attributeMappings.allSatisfy {
            $0.valueExpression == nil || $0.valueExpression == MappingExpressions.source($0.name)
        }
        return isCopied ? .copy : .transform
    }

    // MARK: - Properties

    private func attribute(_ record: Record, of entity: Entity?, in owner: String) throws -> PropertyMapping {
        var mapping = PropertyMapping(name: record.attributes["name"] ?? "")
        let given = try expression(record, "valueexpressiondata", in: owner)
        mapping.valueExpression = given.found
        mapping.isUnreadable = given.isThere && given.found == nil
        if !given.isThere, entity?.allProperties.contains(where: { $0.name == mapping.name }) == true {
            mapping.valueExpression = MappingExpressions.source(mapping.name)
        }
        return mapping
    }

    private func relationship(_ record: Record, of entity: Entity?, in owner: String) throws -> PropertyMapping {
        var mapping = PropertyMapping(name: record.attributes["name"] ?? "")
        let given = try expression(record, "valueexpressiondata", in: owner)
        mapping.valueExpression = given.found
        mapping.isUnreadable = given.isThere && given.found == nil
        if given.isThere { return mapping }
        if let path = text(record, "sourcekeypath"), let expression = try? Expression.parse(path) {
            mapping.valueExpression = text(record, "sourcemappingname").map {
                MappingExpressions.destinations(of: expression, byMapping: $0)
            }
        } else if let relationship = entity?.allProperties.first(where: { $0.name == mapping.name }) as? Relationship {
            mapping.valueExpression = destinations(of: relationship)
        }
        return mapping
    }

    /// By the one mapping that the destination's objects have, or when they may have several, by whichever is theirs.
    private func destinations(of relationship: Relationship) -> Expression {
        let names = relationship.destination.withDescendants.flatMap { mappingNames[$0.name] ?? [] }
        guard names.count == 1, mappingNames[relationship.destination.name] == names else {
            return MappingExpressions.destinations(ofRelationship: relationship.name)
        }
        return MappingExpressions.destinations(of: MappingExpressions.source(relationship.name), byMapping: names[0])
    }
}
