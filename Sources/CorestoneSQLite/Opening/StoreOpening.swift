import CSQLite
import CorestoneFileSystem
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// An open file that was verified to be a store of the model.
struct OpenedStore {
    let connection: Connection
    let schema: StoreSchema
    /// The identifier and the metadata of the file.
    let document: StoreDocument
    var identifier: String { document.identifier }
    let source: ModelSource
    /// The absolute path, or `:memory:`.
    let path: String
    /// The reason why the store is read-only; nil if it is writable.
    let readOnlyReason: String?
    /// Whether an open read transaction does not block writers.
    let mayHoldReads: Bool
    /// The detector of writes to a file that was opened as immutable; nil for other files.
    let watch: ImmutableFileCheck?
    let externalFolder: String
    /// The history; nil if the store does not record one.
    let history: HistorySchema?
    /// The maximum number of connections.
    var maximumConnections = 1
    /// Whether opening created the store's file.
    var isNew = false
    /// The number of frames in the write-ahead log that triggers a checkpoint; 0 for never.
    var longLog = ConnectionPool.usualLongLog
    /// A function that opens another connection; nil for a read-only store and a store without a write-ahead log.
    var openAnother: (() throws -> Connection)?
}

/// The operation that opens a store.
///
/// It first creates the store if the store does not exist, a model was passed and the options allow it.
struct StoreOpener {
    private let path: String
    /// The model; nil to use the store's cached model, or a model inferred from its tables.
    private let model: Model?
    private let options: StoreOptions
    private let versions: VersionRule
    private let pragmas: StorePragmas
    private let busyTimeout: Int32

    /// Checks the options.
    ///
    /// - Parameter versions: The use of version hashes; nil to use the options.
    /// - Throws: `.invalidArgument` for contradictory or invalid options. The file is not accessed.
    init(_ path: String, model: Model?, options: StoreOptions, versions: VersionRule? = nil) throws {
        (self.path, self.model, self.options) = (path, model, options)
        self.versions = versions ?? (options.ignoresVersioning ? .ignored : .compared)
        pragmas = try StorePragmas(options, path: path)
        busyTimeout = Int32(
            clamping: pragmas.number("busy_timeout", else: options.busyTimeoutMilliseconds))
        if options.isReadOnly, options.vacuums || options.analyzes {
            let (vacuum, analyze) = ("CST_STORE_VACUUM (vacuum)", "CST_STORE_ANALYZE (analyze)")
            let (operations, names) =
                switch (options.vacuums, options.analyzes) {
                case (true, true): ("vacuumed and analysed", "\(vacuum) and \(analyze)")
                case (true, false): ("vacuumed", vacuum)
                default: ("analysed", analyze)
                }
            let remedy =
                options.isReadOnlyByDefault
                ? "set CST_STORE_WRITABLE (writable), or leave out \(names)"
                : "leave out CST_STORE_READ_ONLY (read_only), or \(names)"
            throw CoreError(
                .invalidArgument, code: .persistentStoreOpen,
                "\(path) cannot be opened read-only and \(operations) at the same time; \(remedy)", key: "read_only",
                value: .bool(true), file: path)
        }
        try options.requireUsableFileMode(path)
        try options.limits.check(path)
    }

    func run() throws -> OpenedStore {
        try model?.refuseIntermediateOperators(forStoreAt: path)
        if path == StoreLocation.inMemoryPath { return try openInMemory() }
        let place = try StoreLocation(path)
        if place.state == .missing, !options.isReadOnly, !options.mustExist, let model {
            let isNew = try creation(model, place).run()
            var opened = try openWritable(place)
            opened.isNew = isNew
            return opened
        }
        try place.requireStore()
        return options.isReadOnly
            ? try openReadOnly(place) : try openWritable(place)
    }

    private func creation(_ model: Model, _ place: StoreLocation) -> StoreCreation {
        StoreCreation(model: model, place: place, options: options, pragmas: pragmas, busyTimeout: busyTimeout)
    }

    /// Creates a store in memory, which other coordinators cannot share. Its objects are lost when it is closed.
    private func openInMemory() throws -> OpenedStore {
        let place = StoreLocation(inMemory: path)
        guard let model, !options.isReadOnly, !options.mustExist else {
            let obstacles: [(applies: Bool, key: String, fault: String, remedy: String)] = [
                (self.model == nil, "model", "does not contain a model", "pass a model"),
                (
                    options.isReadOnly, "read_only", "cannot be opened read-only",
                    "leave out CST_STORE_READ_ONLY (read_only)"
                ),
                (
                    options.mustExist, "must_exist", "cannot exist before it is opened",
                    "leave out CST_STORE_MUST_EXIST (must_exist)"
                ),
            ].filter { $0.applies }
            let key = obstacles.first?.key
            throw failure(
                .invalidArgument,
                "\(path) is a new, empty in-memory store, which \(obstacles.map(\.fault).joined(separator: " and ")); "
                    + obstacles.map(\.remedy).joined(separator: ", and "), place, key: key,
                value: key == "model" ? nil : .bool(true))
        }
        let connection = try Connection(
            ":memory:", path: path, flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, limits: options.limits)
        try creation(model, place).fill(connection)
        let examination = try StoreExamination(connection, model: model, place: place, forWriting: true)
        try configure(connection, place)
        try derive(examination.schema, in: connection, place)
        if examination.history != nil { try configureOldValues(in: connection) }
        return OpenedStore(
            connection: connection, schema: examination.schema, document: examination.contents.document,
            source: .given, path: path, readOnlyReason: nil, mayHoldReads: true, watch: nil, externalFolder: "",
            history: examination.history)
    }

    /// Examines the file. A store that was destroyed is first created again if the options allow it.
    private func examine(_ connection: Connection, _ place: StoreLocation) throws -> StoreExamination {
        do {
            return try StoreExamination(
                connection, model: model, place: place, forWriting: true, versions: versions)
        } catch let error as CoreError where error.status == .notAStore {
            guard let model, !options.mustExist, (try? connection.isOfDestroyedStore("open \(place.given)")) == true
            else { throw error }
            try creation(model, place).refill()
            return try StoreExamination(connection, model: model, place: place, forWriting: true)
        }
    }

    /// Examines the file. A store of another version of the model is first migrated if the options request it.
    private func examineMigrated(_ connection: Connection, _ place: StoreLocation) throws -> StoreExamination {
        do {
            return try examine(connection, place)
        } catch let error as CoreError where error.code == CocoaCode.persistentStoreIncompatibleVersionHash.rawValue {
            guard let model, let migration = options.migration, migration.isAutomatic, versions == .compared else {
                throw error
            }
            if !options.openStores.isEmpty {
                let document = try StoreContents(connection, place: place).document
                try options.requireOther(than: document.identifier, at: place.absolute)
            }
            _ = cst_sqlite3_checkpoint_on_close(connection.db, 1)
            try StoreMigration(
                connection: connection, place: place, model: model, options: options, migration: migration
            ).run()
            return try examine(connection, place)
        }
    }

    private func openWritable(_ place: StoreLocation) throws -> OpenedStore {
        let connection = try Connection(
            place.path, path: place.given, flags: SQLITE_OPEN_READWRITE, limits: options.limits)
        try FileHeader(connection).requireDatabase(place, connection)
        connection.restrictSchema()
        // The file must not be changed, not even by closing it, before it is known to be a store of the model.
        if place.hasCompanion("-wal") {
            _ = cst_sqlite3_checkpoint_on_close(connection.db, 0)
            // SQLite would discard the damaged frames and all later transactions in the log.
            if let loss = try WriteAheadLog.examine(beside: place, connection).loss,
                loss.isCertain(isSynchronous: synchronous > 1)
            {
                connection.close()
                return try openReadOnly(place)
            }
        }
        connection.waitForLocks(milliseconds: busyTimeout)
        guard sqlite3_db_readonly(connection.db, "main") == 0 else {
            throw failure(
                .storeReadOnly,
                "\(place.given) is not writable; make the file writable, or open the store with CST_STORE_READ_ONLY "
                    + "(read_only)", place,
                sqliteCode: SQLITE_READONLY)
        }
        connection.limitExpressions()
        var examination: StoreExamination
        do {
            examination = try examineMigrated(connection, place)
            try options.requireOther(than: examination.contents.document.identifier, at: place.absolute)
            if examination.isToBeAdopted, examination.readOnlyReason == nil {
                try connection.adopt(examination)
                examination = try examine(connection, place)
            }
        } catch let error as CoreError {
            throw explained(error, place)
        }
        if let reason = examination.readOnlyReason {
            connection.close()
            return try openReadOnly(place, reason: reason.hasRemedy ? reason : "\(reason). Use another store")
        }
        if let reason = try refusedHistory(examination, connection) {
            connection.close()
            return try openReadOnly(place, reason: reason)
        }
        let schema = examination.schema
        _ = cst_sqlite3_checkpoint_on_close(connection.db, 1)
        try configure(connection, place)
        let isWAL = try journalMode(connection, place) == "wal"
        try vacuumAndAnalyze(connection, place)
        // A migration that was killed may have left a folder.
        LocalFile(place.path, shownAs: place.given).removeAbandonedFolders()
        try derive(schema, in: connection, place)
        let history =
            options.refusesHistory ? nil : try beginHistory(in: connection, model: schema.model) ?? examination.history
        if history != nil { try configureOldValues(in: connection) }
        return OpenedStore(
            connection: connection, schema: schema, document: examination.contents.document,
            source: examination.source, path: place.absolute, readOnlyReason: nil, mayHoldReads: isWAL, watch: nil,
            externalFolder: ExternalFile.folder(ofStore: place.path), history: history,
            maximumConnections: options.maximumConnections,
            longLog: Int32(pragmas.number("wal_autocheckpoint", else: Int(ConnectionPool.usualLongLog))),
            openAnother: isWAL ? another(place, schema, trustsSchema: connection.trustsSchema) : nil)
    }

    /// Returns a function that opens further connections.
    ///
    /// The function throws if the path no longer refers to the open file.
    private func another(
        _ place: StoreLocation, _ schema: StoreSchema, trustsSchema: Bool
    ) -> (() throws -> Connection) {
        let file = place.number
        return { [self] in
            let connection = try Connection(
                place.path, path: place.given, flags: SQLITE_OPEN_READWRITE, limits: options.limits)
            guard place.number == file else {
                connection.close()
                throw failure(
                    .storeIO,
                    "\(place.given) was replaced by another file; \(StoreLocation.addingAgain)", place)
            }
            connection.waitForLocks(milliseconds: busyTimeout)
            connection.restrictSchema()
            if trustsSchema { connection.trustSchema() }
            connection.limitExpressions()
            try configure(connection, place, isFirst: false)
            try derive(schema, in: connection, place)
            return connection
        }
    }

    /// Creates the temporary triggers that each connection needs.
    private func derive(_ schema: StoreSchema, in connection: Connection, _ place: StoreLocation) throws {
        for statement in schema.derivedAttributes.flatMap(\.connectionTriggerStatements) {
            try connection.execute(
                statement, "create the triggers for derived attributes of \(place.given)",
                cocoaCode: .persistentStoreOpen)
        }
    }

    private func openReadOnly(_ place: StoreLocation, reason: String? = nil) throws -> OpenedStore {
        let file = try ReadOnlyFile(place, limits: options.limits)
        let examination = try StoreExamination(
            file.connection, model: model, place: place, versions: versions)
        try configure(file.connection, place, isReadOnly: true)
        try examination.gaps.createSubstitutes(file.connection, examination.schema)
        // After a crash, a writer continues without the incomplete save, so the log is not the reason.
        let loss = file.loss.flatMap { $0.isCertain(isSynchronous: synchronous > 1) ? $0.explanation : nil }
        return OpenedStore(
            connection: file.connection, schema: examination.schema,
            document: examination.contents.document, source: examination.source, path: place.absolute,
            readOnlyReason: loss ?? reason ?? examination.readOnlyReason ?? options.readOnlyReason
                ?? Store.isOpenForReading,
            mayHoldReads: true,
            watch: file.watch,
            externalFolder: ExternalFile.folder(ofStore: place.path), history: nil)
    }

    /// Vacuums and analyses the store if the options request it.
    private func vacuumAndAnalyze(_ connection: Connection, _ place: StoreLocation) throws {
        if options.vacuums {
            try connection.execute("VACUUM", "vacuum \(place.given)", cocoaCode: .persistentStoreOpen)
        }
        if options.analyzes {
            try connection.execute("ANALYZE", "analyse \(place.given)", cocoaCode: .persistentStoreOpen)
        }
    }

    private func configure(
        _ connection: Connection, _ place: StoreLocation, isFirst: Bool = true, isReadOnly: Bool = false
    ) throws {
        let launch = LaunchArguments.storeSettings
        if isFirst, launch.checksIntegrity { try DatabaseCheck.require(connection, place) }
        // A read-only connection sorts in temporary files, because an untrusted store may be larger than memory.
        let temporaryStore = pragmas.number("temp_store", else: isReadOnly ? 0 : 2)
        try connection.execute(
            "PRAGMA synchronous=\(synchronous);"
                + "PRAGMA cache_size=\(pragmas.number("cache_size", else: -max(options.cacheKilobytes, 64)));"
                + "PRAGMA temp_store=\(temporaryStore)"
                + (options.isTransient ? ";PRAGMA locking_mode=EXCLUSIVE" : "") + pragmas.statements,
            "open \(place.given)", cocoaCode: .persistentStoreOpen)
    }

    /// The value of the pragma `synchronous`: 0 (OFF), 1 (NORMAL), 2 (FULL) or 3 (EXTRA).
    private var synchronous: Int {
        let usual = options.isTransient ? 0 : options.normalSync ? 1 : 2
        return LaunchArguments.storeSettings.synchronous ?? pragmas.number("synchronous", else: usual)
    }

    /// Returns why a store with a history is opened read-only; nil if its history is permitted or empty.
    private func refusedHistory(_ examination: StoreExamination, _ connection: Connection) throws -> String? {
        guard options.refusesHistory, examination.history != nil else { return nil }
        guard
            try connection.finds(
                "SELECT 1 FROM ATRANSACTION LIMIT 1", purpose: "read the history of \(connection.path)")
        else {
            return nil
        }
        return
            "CST_STORE_NO_HISTORY (history=False) is set, but the store has a history, in which new saves would be missing; open the "
            + "store without that option, or delete the history first with cst_coordinator_delete_history "
            + "(delete_history, deleteHistory)"
    }

    /// Creates the history tables and returns their design.
    ///
    /// - Returns: nil if the options do not request a history, or the file already has one.
    private func beginHistory(in connection: Connection, model: Model) throws -> HistorySchema? {
        guard options.keepsHistory || options.keepsCompleteHistory, try HistorySchema(of: connection) == nil else {
            return nil
        }
        let purpose = "create the history tables in \(connection.path)"
        try connection.writing(purpose, cocoaCode: .persistentStoreOpen) {
            // Another process may have created them in the meantime.
            if try HistorySchema(of: connection) == nil { try HistorySchema.install(in: connection, model: model) }
        }
        return try HistorySchema(of: connection)
    }

    /// Starts or stops recording the values that saves replace, according to the options.
    ///
    /// A store that already records these values continues to do so if the options request neither.
    private func configureOldValues(in connection: Connection) throws {
        let purpose = "open the history of \(connection.path)"
        let hasBegun = try OldValueTables.exist(in: connection, purpose)
        guard options.dropsOldValues ? hasBegun : options.keepsCompleteHistory && !hasBegun else { return }
        try connection.writing(purpose, cocoaCode: .persistentStoreOpen) {
            if options.dropsOldValues {
                try OldValueTables.remove(from: connection, purpose)
            } else {
                try OldValueTables.install(in: connection, purpose)
            }
        }
    }

    /// Requests the journal mode of the options, and returns the mode that is in effect.
    private func journalMode(_ connection: Connection, _ place: StoreLocation) throws -> String {
        let purpose = "open \(place.given)"
        let current = try connection.prepare("PRAGMA journal_mode", purpose)
        let mode = try current.step(purpose) ? current.text(0) ?? "" : ""
        current.reset()
        let usual = options.isTransient ? "memory" : options.rollbackJournal ? "delete" : "wal"
        let wanted = pragmas["journal_mode"] ?? usual
        guard mode != wanted else { return mode }
        let statement = try connection.prepare("PRAGMA journal_mode=\(wanted)", purpose)
        do {
            let actualMode = try statement.step(purpose) ? statement.text(0) ?? mode : mode
            statement.reset()
            return actualMode
        } catch let error as CoreError where error.status == .storeBusy {
            // Another process has the store open in another journal mode, in which this process can save too.
            return mode
        }
    }

    /// Returns a clearer error than SQLite's if the folder is not writable.
    ///
    /// SQLite creates files next to the database, and reports only that it cannot open the database.
    private func explained(_ error: CoreError, _ place: StoreLocation) -> CoreError {
        guard [SQLITE_CANTOPEN, SQLITE_READONLY].contains(error.sqliteCode & 0xff), !place.mayWriteFolder else {
            return error
        }
        return failure(
            .storeReadOnly,
            "the folder \(place.folder) of \(place.given) is not writable; "
                + "make the folder writable, or open the store with CST_STORE_READ_ONLY (read_only)",
            place, sqliteCode: error.sqliteCode)
    }

    private func failure(
        _ status: Status, _ message: String, _ place: StoreLocation, key: String? = nil, value: PropertyValue? = nil,
        sqliteCode: Int32 = 0
    ) -> CoreError {
        CoreError(
            status, code: .persistentStoreOpen, message, key: key, value: value, sqliteCode: sqliteCode,
            file: place.given)
    }
}

extension Connection {
    /// Adapts the tables, the version hashes and the cached model of a store to the model that it was examined with.
    fileprivate func adopt(_ examination: StoreExamination) throws {
        let (schema, contents) = (examination.schema, examination.contents)
        let purpose = "adapt \(path) to the model"
        try writing(purpose, cocoaCode: .persistentStoreOpen) {
            try examination.gaps.fill(self, schema, purpose)
            if var metadata = contents.document.metadata {
                metadata.setModel(schema.model)
                try StoreMetadata.store(metadata, in: self)
            }
            if contents.tables["Z_MODELCACHE"] != nil {
                let cache = try prepare("UPDATE Z_MODELCACHE SET Z_CONTENT = ?", purpose)
                cache.bind(copying: try StoreDocument.modelCache(of: schema.model), at: 1)
                try cache.run(purpose)
            }
        }
    }
}
