import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// Writes what a store says about itself after a migration: its metadata, and the model that it carries.
struct MigratedDocument {
    let connection: Connection
    /// Of the former store.
    let contents: StoreContents
    let model: Model

    private var purpose: String { "migrate \(connection.path)" }

    /// The former metadata, with the former model among those of the past, and the new model.
    ///
    /// - Parameter isDeferred: whether the file says that a part of the migration is left for later.
    func write(isDeferred: Bool = false) throws {
        if var metadata = contents.document.metadata {
            metadata.rememberModel()
            metadata.setModel(model)
            metadata.values[StoreMetadata.Key.frameworkVersion] = .integer(StoreMetadata.frameworkVersion)
            metadata.values[StoreMetadata.Key.deferredMigration] = isDeferred ? .bool(true) : nil
            try StoreMetadata.store(metadata, in: connection)
        }
        try writeModel()
    }

    /// The metadata of another store of the new model. The identifier stays.
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
    /// Throws unless the file is a store of the model that can be written.
    func requireMigrated(to model: Model, _ place: StorePlace) throws {
        let examination = try StoreExamination(self, model: model, place: place, forWriting: true)
        guard let reason = examination.readOnlyReason else { return }
        throw CoreError(
            .migration, code: .migration,
            "cannot migrate \(place.given), because the result could only be opened read-only: \(reason.withoutRemedy). The store is "
                + "unchanged; run corestone check to examine it",
            file: place.given)
    }

    /// The backing files to which rows refer. Most stores have no such file, and their rows are not read.
    func namesOfExternalFiles(in schema: StoreSchema, folder: String) throws -> Set<String> {
        guard ExternalFile.hasFiles(in: folder) else { return [] }
        return try namesOfExternalFiles(in: schema.tables.map(\.name))
    }
}

extension ExternalFile {
    /// Whether a folder has any backing file.
    static func hasFiles(in folder: String) -> Bool {
        FolderNames(folder)?.contains(where: { UUIDValue($0) != nil }) == true
    }
}
