import CorestoneFormats
import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension MappingModel {
    /// Returns the content of a `.cdm`: a keyed archive that Apple's framework reads.
    ///
    /// It does not contain the models and their paths (docs/reference/mapping.md, "Files").
    ///
    /// - Throws: `.unsupported` for an expression that cannot be archived.
    public func compiled() throws -> [UInt8] { try CompiledMappingWriter().encoded(entityMappings) }
}

/// A writer of the keyed archive of an `NSMappingModel`, with the keys and classes of Xcode's compiler.
private struct CompiledMappingWriter {
    private typealias ClassName = KeyedArchiver.ClassName
    private let archiver = KeyedArchiver()

    func encoded(_ mappings: [EntityMapping]) throws -> [UInt8] {
        let archived = try mappings.map { ($0.name, try self.mapping($0)) }
        var names: Set<String> = []
        let byName = archived.filter { names.insert($0.0).inserted }.sorted { Text($0.0) < Text($1.0) }
        let root = archiver.add(
            ClassName("NSMappingModel"),
            [
                "NSEntityMappings": archiver.array(archived.map(\.1)),
                "NSEntityMappingsByName": archiver.dictionary(
                    byName.map { (key: $0.0, value: $0.1) }, isMutable: true),
            ])
        return archiver.encoded(root: root)
    }

    private func mapping(_ mapping: EntityMapping) throws -> PropertyListValue {
        func hash(_ hash: [UInt8]?) -> PropertyListValue { hash.map { archiver.add(.data($0)) } ?? KeyedArchiver.null }
        let subject = "the entity mapping \"\(mapping.name)\""
        return archiver.add(
            ClassName("NSEntityMapping"),
            [
                "NSMappingName": archiver.string(mapping.name),
                "NSMappingType": .integer(mapping.kind.rawValue),
                "NSSourceEntityName": archiver.string(mapping.sourceName),
                "NSDestinationEntityName": archiver.string(mapping.destinationName),
                "NSSourceEntityVersionHash": hash(mapping.sourceHash),
                "NSDestinationEntityVersionHash": hash(mapping.destinationHash),
                "NSEntityMigrationPolicyClassName": archiver.string(mapping.policyClassName),
                "NSSourceExpression": try expression(mapping.sourceExpression, subject, of: mapping),
                "NSAttributeMappings": archiver.array(
                    try mapping.attributeMappings.map { try property($0, of: mapping, subject) }),
                "NSRelationshipMappings": archiver.array(
                    try mapping.relationshipMappings.map { try property($0, of: mapping, subject) }),
                "NSUserInfo": userInfo(mapping.userInfo),
            ])
    }

    private func property(
        _ mapping: PropertyMapping, of entityMapping: EntityMapping, _ owner: String
    ) throws -> PropertyListValue {
        try mapping.requireReadable(in: owner, of: entityMapping)
        return archiver.add(
            ClassName("NSPropertyMapping"),
            [
                "NSDestinationPropertyName": archiver.string(mapping.name),
                "NSValueExpression": try expression(
                    mapping.valueExpression, "\"\(mapping.name)\" in \(owner)", of: entityMapping, key: mapping.name),
                "NSPropertyTransforms": KeyedArchiver.null, "NSUserInfo": userInfo(mapping.userInfo),
            ])
    }

    private func expression(
        _ expression: Expression?, _ owner: String, of mapping: EntityMapping, key: String? = nil
    ) throws -> PropertyListValue {
        guard let expression else { return KeyedArchiver.null }
        archiver.startTree()
        do { return try archiver.expression(expression) } catch let error as CoreError {
            throw error.within(owner, entity: mapping.namedEntity, key: key)
        }
    }

    private func userInfo(_ entries: [String: String]) -> PropertyListValue {
        if entries.isEmpty { return KeyedArchiver.null }
        return archiver.dictionary(sortedByBytes(entries.keys).map { ($0, archiver.string(entries[$0])) })
    }
}

extension PropertyMapping {
    /// Checks that the expression was read, because otherwise it cannot be written.
    ///
    /// - Throws: `.unsupported` with entity and property if it was not read.
    func requireReadable(in owner: String, of mapping: EntityMapping) throws {
        guard isUnreadable else { return }
        throw CoreError(
            .unsupported,
            "\"\(name)\" in \(owner) cannot be written: its expression could not be read; set another expression",
            entity: mapping.namedEntity, key: name)
    }
}
