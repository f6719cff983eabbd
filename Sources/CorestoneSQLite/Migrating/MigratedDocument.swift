import CorestoneFileSystem
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The metadata and the cached model of a store after a migration.
struct MigratedDocument {
    let connection: Connection
    /// The contents of the former store.
    let contents: StoreContents
    let model: Model

    private var purpose: String { "migrate \(connection.path)" }

    /// Writes the former metadata, in which the former model is recorded as a past one, and the new model.
    ///
    /// - Parameter isDeferred: Whether the migration is marked as unfinished.
    func write(isDeferred: Bool = false) throws {
        if var metadata = contents.document.metadata {
            metadata.recordPastModel()
            metadata.setModel(model)
            metadata.values[StoreMetadata.Key.frameworkVersion] = .integer(StoreMetadata.frameworkVersion)
            metadata.values[StoreMetadata.Key.deferredMigration] = isDeferred ? .bool(true) : nil
            try StoreMetadata.store(metadata, in: connection)
        }
        try writeModel()
    }

    /// Writes the metadata of another store of the new model, and the new model. The store keeps its identifier.
    func write(metadataOf document: StoreDocument) throws {
        if let metadata = document.metadata { try StoreMetadata.store(metadata, in: connection) }
        try writeModel()
    }

    private func writeModel() throws {
        let isThere = contents.tables["Z_MODELCACHE"] != nil
        if !isThere {
            try connection.execute("CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)", purpose, cocoaCode: .migration)
        }
        try connection.execute("DELETE FROM Z_MODELCACHE", purpose, cocoaCode: .migration)
        let cache = try connection.prepare("INSERT INTO Z_MODELCACHE (Z_CONTENT) VALUES (?)", purpose)
        cache.bind(copying: try StoreDocument.modelCache(of: model), at: 1)
        try cache.run(purpose)
    }
}

extension Connection {
    /// Throws unless the file is a writable store of the model.
    func requireMigrated(to model: Model, _ place: StoreLocation) throws {
        let examination = try StoreExamination(self, model: model, place: place, forWriting: true)
        guard let reason = examination.readOnlyReason else { return }
        throw CoreError(
            .migration, code: .migration,
            "cannot migrate \(place.given), because the result would be read-only: "
                + "\(reason.withoutRemedy); run corestone check to examine the store",
            file: place.given)
    }

    /// Returns the names of the backing files to which rows refer.
    ///
    /// The rows are not read if the folder does not contain a backing file.
    func namesOfExternalFiles(in schema: StoreSchema, folder: String) throws -> Set<String> {
        guard ExternalFile.hasFiles(in: folder) else { return [] }
        return try namesOfExternalFiles(in: schema.tables.map(\.name))
    }
}

extension ExternalFile {
    /// Whether a folder contains a backing file.
    static func hasFiles(in folder: String) -> Bool {
        FolderNames(folder)?.contains(where: { UUIDValue($0) != nil }) == true
    }
}
