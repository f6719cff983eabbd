import CorestoneFormats
import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// A builder of a mapping model from the objects of an `.xcmappingmodel`.
///
/// It generates the same parts as Xcode's mapping model compiler. Names and kinds that the author did not set are
/// derived from the mapping, and expressions from the source model.
struct XcodeMappingBuilder {
    typealias Record = XcodeMappingReader.Record

    private let root: Record
    private let records: [String: Record]
    private let source: Model?
    private let destination: Model?
    private let hashes: (source: [String: [UInt8]], destination: [String: [UInt8]])
    private var defaults = MappingDefaults(source: nil, mappings: [])

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
                "the attribute \"\(name)\" of the mapping model is not valid base64; refresh the data models in Xcode",
                key: name, value: .string(text))
        }
        do { return try Model(data: bytes) } catch let error as CoreError {
            throw error.within("the model in the attribute \"\(name)\" of the mapping model cannot be read", key: name)
        }
    }

    mutating func build() throws -> MappingModelParts {
        let mappings = try followed(root, "entitymappings").sorted { number($0) < number($1) }
        defaults = MappingDefaults(
            source: source, mappings: mappings.map { (text($0, "sourcename"), name(of: $0)) })
        return MappingModelParts(
            mappings: try mappings.map(entityMapping(naming:)), source: source, destination: destination,
            sourcePath: text(root, "sourcemodelpath"), destinationPath: text(root, "destinationmodelpath"))
    }

    // MARK: - Records

    private func followed(_ record: Record, _ relationship: String) throws -> [Record] {
        try (record.references[relationship] ?? []).map { id in
            guard let found = records[id] else {
                throw CoreError(
                    .storeCorrupt, code: .persistentStoreOpen,
                    "the relationship \"\(relationship)\" in the mapping model refers to the object \"\(id)\", which does not "
                        + "exist; restore the file, or create the mapping model again in Xcode",
                    key: relationship, value: .string(id))
            }
            return found
        }
    }

    /// Returns a text attribute; nil if it is missing or empty, which Xcode does not distinguish.
    private func text(_ record: Record, _ name: String) -> String? {
        record.attributes[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    private func number(_ record: Record) -> Int { text(record, "mappingnumber").flatMap { Int($0) } ?? 0 }

    private func expression(
        _ record: Record, _ name: String, in mapping: String
    ) throws -> (found: Expression?, isThere: Bool) {
        guard let bytes = try data(record, name, in: mapping) else { return (nil, false) }
        do {
            let archive = try KeyedArchiveReader(bytes)
            return (try ArchivedPredicates.readableExpression(archive.root, in: archive), true)
        } catch let error as CoreError { throw error.within(place(record, name, in: mapping), key: name) }
    }

    private func data(_ record: Record, _ name: String, in mapping: String) throws -> [UInt8]? {
        guard let text = text(record, name) else { return nil }
        guard let bytes = decodeBase64(Array(text.utf8)) else {
            throw CoreError(
                .storeCorrupt, code: .persistentStoreOpen,
                "\(place(record, name, in: mapping)) is not valid base64; set it again in Xcode", key: name,
                value: .string(text))
        }
        return bytes
    }

    /// Returns the name of a record's attribute for errors.
    private func place(_ record: Record, _ name: String, in mapping: String) -> String {
        let owner = self.name(of: record)
        return "the attribute \"\(name)\" of \(owner == mapping ? "" : "\"\(owner)\" in ")"
            + "the entity mapping \"\(mapping)\""
    }

    // MARK: - Entities

    private func name(of record: Record) -> String {
        text(record, "name") ?? EntityMapping.defaultName(text(record, "sourcename"), text(record, "destinationname"))
    }

    /// Creates an entity mapping, and adds its entity to errors.
    private func entityMapping(naming record: Record) throws -> EntityMapping {
        do { return try entityMapping(record) } catch let error as CoreError {
            throw error.inMapping(of: text(record, "destinationname") ?? text(record, "sourcename"))
        }
    }

    private func entityMapping(_ record: Record) throws -> EntityMapping {
        var mapping = EntityMapping(name: name(of: record), kind: .undefined)
        mapping.sourceName = text(record, "sourcename")
        mapping.destinationName = text(record, "destinationname")
        mapping.sourceHash = mapping.sourceName.flatMap { hashes.source[$0] }
        mapping.destinationHash = mapping.destinationName.flatMap { hashes.destination[$0] }
        mapping.policyClassName = text(record, "migrationpolicyclassname")
        let (entity, owner) = (mapping.sourceName, mapping.name)
        mapping.attributeMappings = try followed(record, "attributemappings").sorted(by: name).map {
            try attribute($0, of: entity, in: owner)
        }
        mapping.relationshipMappings = try followed(record, "relationshipmappings").sorted(by: name).map {
            try relationship($0, of: entity, in: owner)
        }
        mapping.sourceExpression = try sourceExpression(record, of: mapping)
        mapping.userInfo = try userInfo(record, in: owner)
        mapping.kind =
            text(record, "mappingtypename").flatMap { EntityMapping.Kind(named: $0.lowercased()) }
            .flatMap { $0 == .undefined ? nil : $0 } ?? mapping.impliedKind
        return mapping
    }

    /// Returns the author's expression, or else the generated one, with the author's filter if there is a filter.
    ///
    /// - Returns: nil if there is no source, or if the author disabled the generation.
    private func sourceExpression(_ record: Record, of mapping: EntityMapping) throws -> Expression? {
        let given = try expression(record, "sourceexpressiondata", in: mapping.name)
        if given.isThere {
            guard let expression = given.found else {
                throw CoreError(
                    .storeCorrupt, code: .persistentStoreOpen,
                    "the source expression of the entity mapping \"\(mapping.name)\" cannot be read; replace the "
                        + "expression with a filter predicate in Xcode",
                    entity: mapping.sourceName ?? mapping.destinationName, key: "sourceexpressiondata",
                    value: text(record, "sourceexpressiondata").map { .string($0) })
            }
            return expression
        }
        guard isGenerated(record), let entity = mapping.sourceName else { return nil }
        let filter = text(record, "sourcefilterpredicatestring")
        return MappingExpressions.objects(of: entity, matching: filter ?? MappingExpressions.allObjects)
    }

    /// Whether the compiler generates an expression if the record does not have one.
    private func isGenerated(_ record: Record) -> Bool { text(record, "autogenerateexpression") != "0" }

    private func userInfo(_ record: Record, in mapping: String) throws -> [String: String] {
        guard let bytes = try data(record, "userinfodata", in: mapping) else { return [:] }
        do {
            let archive = try KeyedArchiveReader(bytes)
            let entries = archive.entries(archive.root).compactMap { key, value in
                archive.string(value).map { (key, $0) }
            }
            return Dictionary(entries, uniquingKeysWith: { first, _ in first })
        } catch let error as CoreError {
            throw error.within(place(record, "userinfodata", in: mapping), key: "userinfodata")
        }
    }

    private func name(_ one: Record, _ other: Record) -> Bool {
        Text(one.attributes["name"] ?? "") < Text(other.attributes["name"] ?? "")
    }

    // MARK: - Properties

    private func attribute(_ record: Record, of entity: String?, in owner: String) throws -> PropertyMapping {
        try property(record, in: owner) { defaults.attribute($0, from: entity) }
    }

    private func relationship(_ record: Record, of entity: String?, in owner: String) throws -> PropertyMapping {
        try property(record, in: owner) { name in
            guard isGenerated(record) else { return nil }
            let path = try text(record, "sourcekeypath").map { path in
                do { return try Expression.parse(path) } catch let error as CoreError {
                    throw error.within(
                        place(record, "sourcekeypath", in: owner), key: "sourcekeypath", value: .string(path))
                }
            }
            return defaults.relationship(
                name, from: entity, path: path, mapping: text(record, "sourcemappingname"))
        }
    }

    private func property(
        _ record: Record, in owner: String, generated: (_ name: String) throws -> Expression?
    ) throws -> PropertyMapping {
        var mapping = PropertyMapping(name: record.attributes["name"] ?? "")
        let given = try expression(record, "valueexpressiondata", in: owner)
        mapping.valueExpression = given.isThere ? given.found : try generated(mapping.name)
        mapping.isUnreadable = given.isThere && given.found == nil
        mapping.userInfo = try userInfo(record, in: owner)
        return mapping
    }
}
