import CSQLite
import CorestoneFileSystem
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// The creation of the file of a new store.
///
/// The file is written under another name in the same folder, and receives its own name when it is complete. Next to
/// the log files of an old store, an empty file is created under its own name and then filled.
struct StoreCreation {
    let model: Model
    let place: StoreLocation
    let options: StoreOptions
    let pragmas: StorePragmas
    let busyTimeout: Int32

    /// Throws for a derived attribute that stores cannot compute. The attribute's empty column would look like data.
    private func refuseUnknownDerivations(_ schema: StoreSchema) throws {
        let known = Set(schema.derivedAttributes.map { ObjectIdentifier($0.attribute) })
        for attribute in model.entities.flatMap(\.ownAttributes) where !attribute.isTransient {
            guard let derivation = attribute.derivation, !known.contains(ObjectIdentifier(attribute)) else { continue }
            let entity = attribute.entity.name
            if let obstacle = attribute.derivationObstacle { throw attribute.cannotBeDerived(obstacle, place.given) }
            if let obstacle = attribute.transientSource { throw attribute.cannotBeDerived(obstacle, place.given) }
            let filter = derivation.filter.map { " with the filter \"\($0.text)\"" } ?? ""
            throw CoreError(
                .unsupported, code: .persistentStoreOpen,
                "\(entity).\(attribute.name) (\(attribute.type.displayName)) is derived by "
                    + "\"\(derivation.expression.text)\"\(filter), which stores cannot compute. Use an expression of "
                    + "the type of \(entity).\(attribute.name) without a filter, in one of the forms attribute, "
                    + "to-one.attribute, to-many.@count, to-many.attribute.@sum, canonical:(attribute), "
                    + "uppercase:(attribute), lowercase:(attribute) or now()",
                entity: entity, key: attribute.name, value: .string(derivation.expression.text), file: place.given)
        }
    }

    /// Creates the store. Returns false if another process created it in the meantime.
    func run() throws -> Bool {
        try refuseUnknownDerivations(StoreSchema(model: model))
        if place.hasCompanion("-wal") || place.hasCompanion("-journal") { return try fillBesideLogFiles() }
        let draft = "\(place.path).new-\(getpid())-\(UInt32.random(in: .min ... .max))"
        defer { for suffix in ["", "-journal", "-wal", "-shm"] { unlink(draft + suffix) } }
        if let permissions = options.permissionsOfNewFile(inPlaceOf: nil) { try make(draft, permissions) }
        try fill(draft)
        // If another process has created the store in the meantime, that store is opened.
        var isNew = link(draft, place.path) == 0
        if !isNew && errno != EEXIST {
            // A file system without hard links.
            var status = stat()
            isNew = stat(place.path, &status) != 0
            if isNew && rename(draft, place.path) != 0 { throw failure(errno) }
        }
        _ = synchronise(folder: place.folder)
        return isNew
    }

    /// Creates the store next to the log files of an old one.
    ///
    /// SQLite would apply the log of a deleted store to a file with content, but discards the log when it fills an
    /// empty file. If a store was renamed while a process has it open, the log contains the saves of that process, and
    /// the creation fails.
    private func fillBesideLogFiles() throws -> Bool {
        if let process = place.processUsingLog {
            throw CoreError(
                .storeBusy, code: .persistentStoreOpen,
                "cannot create \(place.given): process \(process) still uses the write-ahead log \(place.path)-wal of "
                    + "a store that was renamed or removed; close that store first, or choose another path",
                file: place.given)
        }
        guard try make(place.path, options.permissionsOfNewFile(inPlaceOf: nil)) else { return false }
        do { try fill(place.path) } catch {
            unlink(place.path)
            throw error
        }
        return true
    }

    /// Creates an empty file. Returns false if the file already exists.
    @discardableResult
    private func make(_ file: String, _ permissions: FilePermissions?) throws -> Bool {
        let descriptor = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, permissions == nil ? 0o644 : 0o600)
        guard descriptor >= 0 else {
            let code = errno
            if code == EEXIST { return false }
            if code == EACCES, !place.mayWriteFolder { throw folderIsReadOnly() }
            throw failure(code)
        }
        defer { close(descriptor) }
        permissions?.apply(to: descriptor)
        return true
    }

    /// Creates the store again in a database without tables, which remains after the destruction of a store.
    func refill() throws {
        let purpose = "open \(place.given)"
        let connection = try Connection(
            place.path, path: place.given, flags: SQLITE_OPEN_READWRITE, limits: options.limits)
        do { try fill(place.path) } catch {
            // Another process may have created the store in the meantime.
            if try connection.isOfDestroyedStore(purpose) { throw error }
        }
        try connection.execute("PRAGMA application_id=0", purpose, cocoaCode: .persistentStoreOpen)
    }

    private func fill(_ file: String) throws {
        let connection: Connection
        do {
            connection = try Connection(
                file, path: place.given, flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, limits: options.limits)
        } catch let error as CoreError { throw explained(error) }
        let purpose = "create \(place.given)"
        connection.waitForLocks(milliseconds: busyTimeout)
        do {
            try fill(connection)
            if pragmas["journal_mode"] ?? (options.rollbackJournal ? "delete" : "wal") == "wal" {
                try connection.execute("PRAGMA journal_mode=WAL", purpose, cocoaCode: .persistentStoreOpen)
            }
        } catch let error as CoreError { throw explained(error) }
    }

    private var vacuumLevel: Int { pragmas.number("auto_vacuum", else: 2) }

    /// Creates the store in an empty database.
    func fill(_ connection: Connection) throws {
        let purpose = "create \(place.given)"
        // Core Data creates stores with incremental vacuuming (`_NSAutoVacuumLevel` 2), which can be set only in an
        // empty file.
        try connection.execute(
            "PRAGMA page_size=\(pragmas.number("page_size", else: 4096));PRAGMA auto_vacuum=\(vacuumLevel);"
                + "PRAGMA synchronous=FULL;PRAGMA temp_store=MEMORY", purpose, cocoaCode: .persistentStoreOpen)
        try connection.execute("BEGIN EXCLUSIVE", purpose, cocoaCode: .persistentStoreOpen)
        try write(to: connection, purpose)
        try connection.execute("COMMIT", purpose, cocoaCode: .persistentStoreOpen)
    }

    private func write(to connection: Connection, _ purpose: String) throws {
        let schema = StoreSchema(model: model)
        for statement in schema.creationStatements {
            try connection.execute(statement, purpose, cocoaCode: .persistentStoreOpen)
        }
        try connection.number(model.preorder, schema, purpose)
        let document = StoreDocument(fresh: model, vacuumLevel: vacuumLevel)
        let metadata = try connection.prepare(
            "INSERT INTO Z_METADATA (Z_VERSION, Z_UUID, Z_PLIST) VALUES (1, ?, ?)", purpose)
        metadata.bind(copying: document.identifier, at: 1)
        metadata.bind(copying: document.propertyList, at: 2)
        try metadata.run(purpose)
        let cache = try connection.prepare("INSERT INTO Z_MODELCACHE (Z_CONTENT) VALUES (?)", purpose)
        cache.bind(copying: try StoreDocument.modelCache(of: model), at: 1)
        try cache.run(purpose)
        if options.keepsHistory || options.keepsCompleteHistory {
            try HistorySchema.install(in: connection, model: model)
        }
    }

    /// Returns a clearer error than SQLite's "unable to open database file" if the folder is not writable.
    private func explained(_ error: CoreError) -> CoreError {
        guard [SQLITE_CANTOPEN, SQLITE_READONLY].contains(error.sqliteCode & 0xff), !place.mayWriteFolder else {
            return error
        }
        return folderIsReadOnly(sqliteCode: error.sqliteCode)
    }

    private func failure(_ code: Int32) -> CoreError {
        let folder = "the folder \(place.folder)"
        let remedy =
            code == ENOENT || code == ENOTDIR
            ? "; create \(folder) first" : SystemError(code).remedyForWriting(in: folder)
        return CoreError(
            .storeIO, code: .persistentStoreOpen,
            "cannot create \(place.given): \(SystemError(code).text)\(remedy)", file: place.given)
    }

    private func folderIsReadOnly(sqliteCode: Int32 = 0) -> CoreError {
        CoreError(
            .storeReadOnly, code: .persistentStoreOpen,
            "cannot create \(place.given): the folder \(place.folder) is not writable; "
                + "make the folder writable, or choose another folder",
            sqliteCode: sqliteCode, file: place.given)
    }
}

extension Connection {
    /// Inserts the rows of entities into `Z_PRIMARYKEY`, with the numbers of a schema and the highest primary key 0.
    func number(_ entities: [Entity], _ schema: StoreSchema, _ purpose: String) throws {
        let key = try prepare(
            "INSERT INTO Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (?, ?, ?, 0)", purpose)
        for entity in entities {
            key.bind(schema.number(of: entity), at: 1)
            key.bind(copying: entity.name, at: 2)
            key.bind(entity.parent.map { schema.number(of: $0) } ?? 0, at: 3)
            try key.run(purpose)
        }
    }

    /// Records the superentity of every entity in `Z_PRIMARYKEY`.
    func setParents(_ schema: StoreSchema, _ purpose: String) throws {
        let parent = try prepare("UPDATE Z_PRIMARYKEY SET Z_SUPER = ?1 WHERE Z_ENT = ?2 AND Z_SUPER <> ?1", purpose)
        for entity in schema.model.entities {
            parent.bind(entity.parent.map { schema.number(of: $0) } ?? 0, at: 1)
            parent.bind(schema.number(of: entity), at: 2)
            try parent.run(purpose)
        }
    }
}

extension Model {
    /// Throws for derivations with a collection operator that is not at the end.
    ///
    /// Otherwise an existing store of the corrected model would be rejected only for its version hash.
    func refuseIntermediateOperators(forStoreAt path: String) throws {
        for attribute in entities.flatMap(\.ownAttributes) where !attribute.isTransient {
            if let obstacle = attribute.derivation?.intermediateOperator {
                throw attribute.cannotBeDerived(obstacle, path)
            }
        }
    }
}

extension Attribute {
    /// Creates the error for a derivation that stores cannot compute.
    ///
    /// - Parameters:
    ///   - obstacle: The clause of the message after the derivation.
    ///   - file: The store to be created or opened.
    fileprivate func cannotBeDerived(_ obstacle: String, _ file: String) -> CoreError {
        CoreError(
            .unsupported, code: .persistentStoreOpen,
            "\(entity.name).\(name) is derived by \"\(derivation?.expression.text ?? "")\", \(obstacle)",
            entity: entity.name, key: name, value: derivation.map { .string($0.expression.text) }, file: file)
    }

    /// A clause about a transient property in the derivation, of which a store does not have values; otherwise nil.
    fileprivate var transientSource: String? {
        for path in derivation?.expression.expression?.keyPaths ?? [] {
            var owner: Entity? = entity
            for key in path.keys {
                guard let property = owner?.anyProperty(named: key.text) else { continue }
                if property.isTransient {
                    return "which refers to the transient property \(property.entity.name).\(property.name); make it "
                        + "persistent, or change the derivation"
                }
                owner = (property as? Relationship)?.destination
            }
        }
        return nil
    }
}
