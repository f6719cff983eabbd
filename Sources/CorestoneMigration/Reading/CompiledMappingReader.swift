import CorestoneFormats
import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// A reader of a `.cdm`, a keyed archive of `NSMappingModel`, from an untrusted file.
///
/// See docs/reference/mapping.md, "Files".
struct CompiledMappingReader {
    /// The maximum number of mappings and user info entries that are read. A small archive can share one list among
    /// many mappings, so its size does not bound the work.
    static let maximumCount = 1_000_000

    private let archive: KeyedArchiveReader
    private var count = 0

    init(_ bytes: [UInt8]) throws { archive = try KeyedArchiveReader(bytes) }

    mutating func read() throws -> MappingModelParts {
        let className = archive.className(archive.root)
        guard className == "NSMappingModel", let root = archive.rootFields else {
            let found = className.map {
                "contains an object of the class \"\($0.prefix(60))\($0.count > 60 ? "…" : "")\", not a mapping model"
            }
            throw archiveError(
                "the keyed archive \(found ?? "does not contain a mapping model"); pass a compiled .cdm")
        }
        var parts = MappingModelParts()
        for reference in archive.elements(root["NSEntityMappings"]) {
            try spend()
            guard let fields = archive.fields(reference) else { continue }
            parts.mappings.append(try mapping(fields))
        }
        return parts
    }

    private mutating func spend() throws {
        count += 1
        guard count <= CompiledMappingReader.maximumCount else {
            throw archiveError(
                "the mapping model lists more than \(CompiledMappingReader.maximumCount) mappings and user info "
                    + "entries, counting shared ones repeatedly, which is the limit; split the mapping model")
        }
    }

    private mutating func mapping(_ fields: KeyedArchiveReader.Fields) throws -> EntityMapping {
        var mapping = EntityMapping(
            name: archive.string(fields["NSMappingName"]) ?? "",
            kind: fields["NSMappingType"]?.integer.flatMap(EntityMapping.Kind.init) ?? .undefined)
        mapping.sourceName = archive.string(fields["NSSourceEntityName"])
        mapping.destinationName = archive.string(fields["NSDestinationEntityName"])
        mapping.sourceHash = archive.object(fields["NSSourceEntityVersionHash"])?.data
        mapping.destinationHash = archive.object(fields["NSDestinationEntityVersionHash"])?.data
        mapping.policyClassName = archive.string(fields["NSEntityMigrationPolicyClassName"])
        mapping.sourceExpression = try expression(
            fields["NSSourceExpression"], "the source expression of the entity mapping \"\(mapping.name)\"",
            of: mapping)
        guard mapping.sourceExpression != nil || archive.object(fields["NSSourceExpression"]) == nil else {
            throw CoreError(
                .storeCorrupt, code: .persistentStoreOpen,
                "the source expression of the entity mapping \"\(mapping.name)\" cannot be read; replace the "
                    + "expression with a filter predicate in Xcode",
                entity: mapping.sourceName ?? mapping.destinationName)
        }
        mapping.attributeMappings = try properties(fields["NSAttributeMappings"], of: mapping)
        mapping.relationshipMappings = try properties(fields["NSRelationshipMappings"], of: mapping)
        mapping.userInfo = try userInfo(fields)
        return mapping
    }

    /// Reads an expression.
    ///
    /// - Parameter owner: The part of the mapping model that contains the expression, as text for an error.
    /// - Returns: nil if the expression is missing, or cannot be read because it is unknown or incomplete.
    private func expression(
        _ reference: PropertyListValue?, _ owner: String, of mapping: EntityMapping, key: String? = nil
    ) throws -> Expression? {
        do { return try ArchivedPredicates.readableExpression(reference, in: archive) } catch let error as CoreError {
            throw error.within(owner, entity: mapping.namedEntity, key: key)
        }
    }

    private mutating func properties(
        _ list: PropertyListValue?, of owner: EntityMapping
    ) throws -> [PropertyMapping] {
        var mappings: [PropertyMapping] = []
        for reference in archive.elements(list) {
            try spend()
            guard let fields = archive.fields(reference),
                let name = archive.string(fields["NSDestinationPropertyName"])
            else { continue }
            var mapping = PropertyMapping(name: name)
            mapping.valueExpression = try expression(
                fields["NSValueExpression"], "\"\(name)\" in the entity mapping \"\(owner.name)\"", of: owner,
                key: name)
            mapping.isUnreadable =
                mapping.valueExpression == nil && archive.object(fields["NSValueExpression"]) != nil
            mapping.userInfo = try userInfo(fields)
            mappings.append(mapping)
        }
        return mappings
    }

    private mutating func userInfo(_ fields: KeyedArchiveReader.Fields) throws -> [String: String] {
        var info: [String: String] = [:]
        for (key, value) in archive.entries(fields["NSUserInfo"]) {
            try spend()
            info[key] = archive.string(value)
        }
        return info
    }
}
