import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// A check whether Apple's framework would accept a store with a model, as far as the file shows.
///
/// It also lists the parts of the result that depend on rules which no file of Apple's framework confirms.
public struct AppleCheck: Sendable {
    public struct Finding: Sendable, Hashable {
        public let entity: String?
        public let property: String?
        public let text: String

        public init(entity: String?, property: String?, text: String) {
            self.entity = entity
            self.property = property
            self.text = text
        }
    }

    /// The defects for which the framework would reject the store, or fail later.
    public private(set) var problems: [Finding] = []
    /// The parts of the result that are not confirmed by any file of Apple's framework.
    public private(set) var extrapolations: [Finding] = []
    public var isAccepted: Bool { problems.isEmpty }

    /// Checks a store without changing or locking the file.
    ///
    /// - Parameters:
    ///   - path: The path of the store, relative to the working directory at the time of the call.
    ///   - model: The model that an application would open the store with; nil for the store's cached model.
    /// - Throws: As `Coordinator.open` for a file that is not a store.
    ///   `modelMismatch` if neither `model` nor the store provides a model.
    public init(storeAt path: String, model given: Model? = nil) throws {
        let place = try StoreLocation(path)
        try place.requireStore()
        let connection = try ReadOnlyFile(place).connection
        let contents = try StoreContents(connection, place: place)
        let cached = readCache(contents, connection, hasModel: given != nil)
        guard let model = given ?? cached else {
            let cause = problems.first?.text ?? "\(path) does not contain a model"
            let remedy = "; pass the model that the store was written with"
            throw CoreError(
                .modelMismatch, code: .persistentStoreOpen, cause.hasRemedy ? cause : cause + remedy, file: path)
        }
        try model.freeze()
        checkMetadata(contents.document.metadata, contents)
        checkHashes(of: model, contents.document.hashes)
        if let cached, given != nil { checkCache(cached, contents.document.hashes) }
        try checkNumbers(of: model, contents, connection)
        try checkTables(of: model, given == nil ? .cached : .given, contents, connection)
        extrapolations += model.extrapolations.map {
            Finding(entity: $0.entity, property: $0.property, text: $0.text)
        }
    }

    private mutating func problem(_ text: String, entity: String? = nil, property: String? = nil) {
        problems.append(Finding(entity: entity, property: property, text: text))
    }

    private mutating func readCache(
        _ contents: StoreContents, _ connection: Connection, hasModel: Bool
    ) -> Model? {
        do { return try contents.cachedModel(connection) } catch {
            let text = (error as? CoreError)?.message ?? "\(error)"
            // The remedy for an unusable model is to pass a model.
            let isFollowed = hasModel && (error as? CoreError)?.sqliteCode == 0
            problem(isFollowed ? text.withoutRemedy : text)
            return nil
        }
    }
}

// MARK: - Metadata

extension AppleCheck {
    private mutating func checkMetadata(_ metadata: StoreMetadata?, _ contents: StoreContents) {
        guard let metadata else {
            return problem("the store does not have metadata, so the framework cannot match it with a model")
        }
        if metadata.storeType != "SQLite" {
            let found = metadata.storeType.map { "is \"\($0)\"" } ?? "is missing"
            problem("the store type in the metadata \(found), but must be \"SQLite\"")
        }
        let hashes = metadata.entityVersionHashes
        if let digest = metadata.digest, digest != modelVersionDigest(hashes) {
            problem("the digest in the metadata does not match the version hashes")
        }
        if let checksum = metadata.checksum, checksum != modelVersionChecksum(hashes) {
            problem("the checksum in the metadata does not match the version hashes")
        }
        if let state = contents.foreignState { problem(state) }
        if contents.hasDeferredTasks {
            problem(
                "the store has an unfinished deferred migration, whose tasks the framework ignores; finish it with corestone "
                    + "migrate --finish-deferred")
        }
    }

    /// Checks the version hashes: the framework opens a store only if those of the model's entities match the metadata.
    private mutating func checkHashes(of model: Model, _ stored: [String: [UInt8]]?) {
        guard let stored else { return problem("the metadata does not have version hashes") }
        let computed = entityVersionHashes(of: model)
        for name in Set(computed.keys).union(stored.keys).sorted(by: byteOrder) where computed[name] != stored[name] {
            switch (computed[name], stored[name]) {
            case (_, nil): problem("the entity is missing from the store", entity: name)
            case (nil, _): problem("the entity is missing from the model", entity: name)
            default: problem("the entity's version hash in the model differs from that in the store", entity: name)
            }
        }
    }

    private mutating func checkCache(_ cached: Model, _ stored: [String: [UInt8]]?) {
        if let stored, entityVersionHashes(of: cached) != stored {
            problem("the cached model does not match the version hashes in the metadata")
        }
    }
}

// MARK: - Tables

extension AppleCheck {
    /// Checks the superentities and the highest assigned primary keys in `Z_PRIMARYKEY`.
    private mutating func checkNumbers(of model: Model, _ contents: StoreContents, _ connection: Connection) throws {
        let purpose = "check \(contents.place.given)"
        for entity in model.entities {
            guard let stored = contents.entities.first(where: { $0.name == entity.name }) else { continue }
            let parent = entity.parent.flatMap { contents.number(ofEntity: $0.name) } ?? 0
            if stored.parent != parent {
                problem(
                    "the superentity in Z_PRIMARYKEY is entity number \(stored.parent), not \(parent)",
                    entity: entity.name)
            }
            let table = "Z" + entity.name.uppercased()
            guard entity.parent == nil, contents.tables[table] != nil else { continue }
            let statement = try connection.statement(
                "SELECT (SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = ?), (SELECT max(Z_PK) FROM \(table))", purpose)
            statement.bind(stored.number, at: 1)
            defer { statement.reset() }
            guard try statement.step(purpose), !statement.isNull(1), statement.integer(0) < statement.integer(1) else {
                continue
            }
            problem(
                "the highest key in Z_PRIMARYKEY (Z_MAX) is \(statement.integer(0)), but \(statement.integer(1)) is in use, "
                    + "so new objects would reuse existing keys", entity: entity.name)
        }
    }

    private mutating func checkTables(
        of model: Model, _ source: ModelSource, _ contents: StoreContents, _ connection: Connection
    ) throws {
        let schema = StoreSchema(
            model: model, numbers: model.entities.map { contents.number(ofEntity: $0.name) ?? 0 },
            tables: contents.tables)
        for table in schema.tables where !table.hasVersions {
            problem("the table \(table.name) does not have the column Z_OPT", entity: table.root.name)
        }
        do {
            // Compares only tables and columns, because the hashes are already checked.
            let comparison = ModelComparison(
                model: model, source: source, contents: contents, connection: connection, forWriting: true,
                versions: .notCompared)
            _ = try comparison.run()
        } catch let error as CoreError where error.status == .modelMismatch {
            problem(error.message, entity: error.entity, property: error.key)
        }
        try checkSchemaDrift(schema, connection)
        if case .failure(let refusal) = Result(catching: { try HistorySchema(of: connection) }) {
            guard let refusal = refusal as? HistoryRefusal else { throw refusal }
            extrapolations.append(
                Finding(entity: nil, property: nil, text: "cannot check the history of the store: \(refusal.reason)"))
        } else if contents.tables["ACHANGE"] == nil
            || !model.entities.contains(where: { $0.ownAttributes.contains { $0.type == .composite } })
        {
            return
        }
        extrapolations.append(
            Finding(
                entity: nil, property: nil,
                text: "the store keeps a persistent history, whose mask bits for composite attributes are unconfirmed"))
    }

    /// Checks the indexes and triggers. Without its triggers, a derived attribute is never updated.
    private mutating func checkSchemaDrift(_ schema: StoreSchema, _ connection: Connection) throws {
        for lost in try SchemaDrift(schema, connection).all {
            problem("the store \(lost.text)", entity: lost.entity, property: lost.key)
        }
        if let reason = try WriteRequirements(connection: connection).unknownNeed() {
            extrapolations.append(Finding(entity: nil, property: nil, text: reason))
        }
    }
}
