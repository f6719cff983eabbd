import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// How the objects of one version of a model become those of another: what a migration follows.
///
/// Immutable; any thread may read it.
public final class MappingModel: @unchecked Sendable {
    /// In the order in which they are carried out.
    public let entityMappings: [EntityMapping]
    /// The models that it was made for, of an `.xcmappingmodel`, which keeps copies of them; not frozen.
    public let sourceModel: Model?
    public let destinationModel: Model?
    /// Where they lay when it was made.
    public let sourcePath: String?
    public let destinationPath: String?

    public init(
        _ entityMappings: [EntityMapping], source: Model? = nil, destination: Model? = nil,
        sourcePath: String? = nil, destinationPath: String? = nil
    ) {
        self.entityMappings = entityMappings
        sourceModel = source
        destinationModel = destination
        self.sourcePath = sourcePath
        self.destinationPath = destinationPath
    }

    public func entityMapping(named name: String) -> EntityMapping? { entityMappings.first { $0.name == name } }

    /// Reads an `.xcmappingmodel`, its `xcmapping.xml`, or a compiled `.cdm`. What it is is told from the content.
    /// - Throws: `.storeIO` when it cannot be read; `.model` when it is damaged or goes beyond a limit.
    public convenience init(contentsOf path: String) throws {
        var file = ModelFile(path)
        if file.isFolder { file = file.child("xcmapping.xml") }
        let bytes = try file.bytes()
        let parts = try file.reading(as: "a mapping model") { try MappingModel.read(bytes) }
        self.init(parts)
    }

    /// The mapping model in the bytes of a file of either kind.
    /// - Throws: `.storeCorrupt` when they are damaged or go beyond a limit.
    public convenience init(data bytes: [UInt8]) throws { self.init(try MappingModel.read(bytes)) }

    private convenience init(_ parts: MappingModelParts) {
        self.init(
            parts.mappings, source: parts.source, destination: parts.destination, sourcePath: parts.sourcePath,
            destinationPath: parts.destinationPath)
    }

    private static func read(_ bytes: [UInt8]) throws -> MappingModelParts {
        if bytes.starts(with: "bplist".utf8) {
            var reader = try CompiledMappingReader(bytes)
            return try reader.read()
        }
        guard XMLParser.mayRead(bytes) else {
            throw archiveError(
                "the data is not a mapping model; pass the contents of an xcmapping.xml or of a compiled .cdm")
        }
        return try XcodeMappingReader().read(bytes)
    }
}

/// What a reader found.
struct MappingModelParts {
    var mappings: [EntityMapping] = []
    var source: Model?
    var destination: Model?
    var sourcePath: String?
    var destinationPath: String?
}

/// How the objects of one entity are made of those of another.
public struct EntityMapping: Sendable {
    /// Core Data's kinds.
    public enum Kind: Int64, Sendable { case undefined = 0, custom, add, remove, copy, transform }

    public var name: String
    public var kind: Kind
    /// nil when the entity is new, or gone.
    public var sourceName: String?
    public var destinationName: String?
    /// The version hashes of the entities for which it was made.
    public var sourceHash: [UInt8]?
    public var destinationHash: [UInt8]?
    public var attributeMappings: [PropertyMapping] = []
    public var relationshipMappings: [PropertyMapping] = []
    /// The class of an Apple host that carries out a custom mapping.
    public var policyClassName: String?
    /// Which objects are migrated; `FETCH(…)` of all objects of the entity as a rule.
    public var sourceExpression: Expression?
    public var userInfo: [String: String] = [:]

    public init(
        name: String, kind: Kind, sourceName: String? = nil, destinationName: String? = nil, sourceHash: [UInt8]? = nil,
        destinationHash: [UInt8]? = nil, attributeMappings: [PropertyMapping] = [],
        relationshipMappings: [PropertyMapping] = [], policyClassName: String? = nil,
        sourceExpression: Expression? = nil, userInfo: [String: String] = [:]
    ) {
        (self.name, self.kind, self.sourceName, self.destinationName) = (name, kind, sourceName, destinationName)
        (self.sourceHash, self.destinationHash) = (sourceHash, destinationHash)
        (self.attributeMappings, self.relationshipMappings) = (attributeMappings, relationshipMappings)
        (self.policyClassName, self.sourceExpression, self.userInfo) = (policyClassName, sourceExpression, userInfo)
    }
}

/// Where the value of one property comes from.
public struct PropertyMapping: Sendable {
    /// The property of the destination.
    public var name: String
    /// What its value is; `$source` is the object that is migrated, `$manager` the migration. nil leaves it as it is in a new
    /// object.
    public var valueExpression: Expression?
    /// Whether there is an expression that has no counterpart here; `valueExpression` is nil then.
    public var isUnreadable = false
    public var userInfo: [String: String] = [:]

    public init(
        name: String, valueExpression: Expression? = nil, isUnreadable: Bool = false, userInfo: [String: String] = [:]
    ) {
        (self.name, self.valueExpression) = (name, valueExpression)
        (self.isUnreadable, self.userInfo) = (isUnreadable, userInfo)
    }
}
