import CorestoneFileSystem
import CorestoneFormats
import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// A description of the migration of objects from one version of a model to another.
///
/// Immutable; any thread may read it. Two mapping models are equal if their entity mappings are equal. Models and paths
/// are not compared, because a compiled mapping model does not contain them.
public final class MappingModel: @unchecked Sendable {
    /// The entity mappings, in the order of execution.
    public let entityMappings: [EntityMapping]
    /// The models for which the mapping model was created; nil if they are unknown, as for a compiled mapping model.
    ///
    /// An `.xcmappingmodel` can contain copies of the models. They are not frozen.
    public let sourceModel: Model?
    public let destinationModel: Model?
    /// The paths of the models when the mapping model was created; nil if they are unknown.
    public let sourcePath: String?
    public let destinationPath: String?

    /// Creates a mapping model. Missing version hashes of entity mappings are taken from the models.
    ///
    /// Names are not checked; use `validate` for that.
    public init(
        _ entityMappings: [EntityMapping], source: Model? = nil, destination: Model? = nil,
        sourcePath: String? = nil, destinationPath: String? = nil
    ) {
        self.entityMappings = EntityMapping.withHashes(entityMappings, source, destination)
        sourceModel = source
        destinationModel = destination
        self.sourcePath = sourcePath
        self.destinationPath = destinationPath
    }

    public func entityMapping(named name: String) -> EntityMapping? { entityMappings.first { $0.name == name } }

    /// Reads an `.xcmappingmodel`, its `xcmapping.xml`, or a compiled `.cdm`.
    ///
    /// The kind is recognised by the content.
    ///
    /// - Throws: `.storeIO` if the file cannot be read.
    ///   `.model` if it is damaged or exceeds a limit.
    public convenience init(contentsOf path: String) throws {
        var file = LocalFile(path)
        if file.isFolder { file = file.child("xcmapping.xml") }
        let bytes = try file.bytes()
        let parts = try file.reading(as: "a mapping model") { try MappingModel.read(bytes) }
        self.init(parts)
    }

    /// Reads a mapping model from the bytes of an `xcmapping.xml` or of a compiled `.cdm`.
    ///
    /// - Throws: `.storeCorrupt` if the bytes are damaged or exceed a limit.
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
                "the data is not a mapping model; pass an xcmapping.xml or a compiled .cdm")
        }
        return try XcodeMappingReader().read(bytes)
    }
}

extension EntityMapping {
    /// The entity for errors about the mapping.
    var namedEntity: String? { destinationName ?? sourceName }
}

extension CoreError {
    /// Returns the error with the entity of a mapping, unless the error already has an entity.
    func inMapping(of entity: String?) -> CoreError {
        guard self.entity == nil, let entity else { return self }
        return CoreError(
            status, message, domain: domain, customCode: code, entity: entity, key: key, value: value,
            predicate: predicate, objectURI: objectURI, children: children, sqliteCode: sqliteCode, file: file,
            offset: offset, payload: payload)
    }
}

/// The content of a mapping model that a reader returns.
struct MappingModelParts {
    var mappings: [EntityMapping] = []
    var source: Model?
    var destination: Model?
    var sourcePath: String?
    var destinationPath: String?
}
