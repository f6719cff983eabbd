import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// An open file that was found to be a store of the model.
struct OpenedStore {
    let connection: Connection
    let schema: StoreSchema
    /// What the file says about itself.
    let document: StoreDocument
    var identifier: String { document.identifier }
    let source: ModelSource
    /// The absolute path.
    let path: String
    /// Why nothing can be written; nil when it can.
    let readOnlyReason: String?
    /// Whether a read transaction that stays open keeps no writer out.
    let mayHoldReads: Bool
    /// Notices changes of a file that was opened as one that does not change.
    let watch: FileWatch?
    let externalFolder: String
    /// nil when the store keeps no history.
    let history: HistoryDesign?
    /// How many connections there may be.
    var maximumConnections = 1
    /// Whether this opening made it.
    var isNew = false
    /// Frames of the write-ahead log after which it is brought into the file; 0 for never.
    var longLog = ConnectionPool.usualLongLog
    /// Makes a connection more; nil where readers would be in each other's way, or in a writer's.
    var openAnother: (() throws -> Connection)?
}

/// Opens a store, making it first when there is none and a model for it.
struct StoreOpening {
    private let path: String
    /// nil for the store's own: the one cached in it, else one inferred from its tables.
    private let model: Model?
    private let options: StoreOptions
    private let versions: VersionRule
    private let pragmas: StorePragmas
    private let busyTimeout: Int32

    /// - Parameter versions: nil for what the options say.
    /// - Throws: `.invalidArgument` for options that make no sense. Nothing was looked at then.
    init(_ path: String, model: Model?, options: StoreOptions, versions: VersionRule? = nil) throws {
        (self.path, self.model, self.options) = (path, model, options)
        self.versions = versions ?? (options.ignoresVersioning ? .ignored : .compared)
        pragmas = try StorePragmas(options, path: path)
        busyTimeout = Int32(
            clamping: pragmas.number("busy_timeout", else: options.busyTimeoutMilliseconds))
        if options.isReadOnly, options.vacuums || options.analyzes {
            let (vacuum, analyze) = ("CST_STORE_VACUUM (vacuum)", "CST_STORE_ANALYZE (analyze)")
            let (deeds, names) =
                switch (options.vacuums, options.analyzes) {
                case (true, true): ("vacuumed and analyzed", "\(vacuum) and \(analyze)")
                case (true, false): ("vacuumed", vacuum)
                default: ("analyzed", analyze)
                }
            throw CoreError(
                .invalidArgument, code: .persistentStoreOpen,
                "\(path) cannot be opened read-only and \(deeds) at the same time; leave out CST_STORE_READ_ONLY (read_only), "
                    + "or \(names)", key: "read_only", value: .bool(true), file: path)
        }
        try options.requireUsableFileMode(path)
        try options.limits.check(path)
    }

    func run() throws -> OpenedStore {
        try model?.refuseIntermediateOperators()
        if path == StorePlace.nowhere { return try openInMemory() }
        let place = try StorePlace(path)
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

    private func creation(_ model: Model, _ place: StorePlace) -> StoreCreation {
        StoreCreation(model: model, place: place, options: options, pragmas: pragmas, busyTimeout: busyTimeout)
    }

    /// A new store that no file has, and nobody else: what is saved into it ends with it.
    private func openInMemory() throws -> OpenedStore {
        let place = StorePlace(nowhere: path)
        guard let model, !options.isReadOnly, !options.mustExist else {
            let obstacles: [(applies: Bool, fault: String, remedy: String)] = [
                (self.model == nil, "does not contain a model", "pass a model"),
                (options.isReadOnly, "cannot be opened read-only", "leave out CST_STORE_READ_ONLY (read_only)"),
                (options.mustExist, "cannot exist before it is opened", "leave out CST_STORE_MUST_EXIST (must_exist)"),
            ].filter { $0.applies }
            throw failure(
                .invalidArgument,
                "\(path) is a new, empty in-memory store, which \(obstacles.map(\.fault).joined(separator: " and ")); "
                    + obstacles.map(\.remedy).joined(separator: ", and "), place)
        }
        let connection = try Connection(
            ":memory:", path: path, flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, limits: options.limits)
        try creation(model, place).fill(connection)
        let examination = try StoreExamination(connection, model: model, place: place, forWriting: true)
        try configure(connection, place)
        try derive(examination.schema, in: connection, place)
        if examination.history != nil { try settleOldValues(in: connection) }
        return OpenedStore(
            connection: connection, schema: examination.schema, document: examination.contents.document,
            source: .given, path: path, readOnlyReason: nil, mayHoldReads: true, watch: nil, externalFolder: "",
            history: examination.history)
    }

    /// Makes the store first where one was destroyed.
    private func examine(_ connection: Connection, _ place: StorePlace) throws -> StoreExamination {
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

    /// Migrates the store first if it is of another version of the model and the options ask for it.
    private func examineMigrated(_ connection: Connection, _ place: StorePlace) throws -> StoreExamination {
        do {
            return try examine(connection, place)
        } catch let error as CoreError where error.code == CocoaCode.persistentStoreIncompatibleVersionHash.rawValue {
            guard let model, let migration = options.migration, migration.isAutomatic, versions == .compared else {
                throw error
            }
            _ = cst_sqlite3_checkpoint_on_close(connection.db, 1)
            try StoreMigration(
                connection: connection, place: place, model: model, options: options, migration: migration
            ).run()
            return try examine(connection, place)
        }
    }

    private func openWritable(_ place: StorePlace) throws -> OpenedStore {
        let connection = try Connection(
            place.path, path: place.given, flags: SQLITE_OPEN_READWRITE, limits: options.limits)
        try FileHeader(connection).requireDatabase(place, connection)
        connection.distrust()
        // Until the file is known to be a store of ours, nothing in it may change, not even by closing it.
        if place.hasCompanion("-wal") {
            _ = cst_sqlite3_checkpoint_on_close(connection.db, 0)
            // SQLite would drop what is damaged, and all that was saved behind it.
            if let loss = try WriteAheadLog.account(beside: place, connection).loss, loss.isCertain {
                connection.close()
                return try openReadOnly(place)
            }
        }
        connection.waitForLocks(milliseconds: busyTimeout)
        guard sqlite3_db_readonly(connection.db, "main") == 0 else {
            throw failure(
                .storeReadOnly,
                "\(place.given) is not writable; make the file writable, or open the store read-only", place,
                sqliteCode: SQLITE_READONLY)
        }
        connection.limitExpressions()
        var examination: StoreExamination
        do {
            examination = try examineMigrated(connection, place)
            if examination.isToBeAdopted, examination.readOnlyReason == nil {
                try connection.adopt(examination)
                examination = try examine(connection, place)
            }
        } catch let error as CoreError {
            throw explained(error, place)
        }
        if let reason = examination.readOnlyReason {
            connection.close()
            return try openReadOnly(place, reason: reason.hasRemedy ? reason : "\(reason). Save to another store")
        }
        if let reason = try refusedHistory(examination, connection) {
            connection.close()
            return try openReadOnly(place, reason: reason)
        }
        let schema = examination.schema
        _ = cst_sqlite3_checkpoint_on_close(connection.db, 1)
        try configure(connection, place)
        let isWAL = try journalMode(connection, place) == "wal"
        try tidy(connection, place)
        // A migration that was killed may have left one.
        ModelFile(place.path, shownAs: place.given).removeAbandonedFolders()
        try derive(schema, in: connection, place)
        let history =
            options.refusesHistory ? nil : try beginHistory(in: connection, model: schema.model) ?? examination.history
        if history != nil { try settleOldValues(in: connection) }
        return OpenedStore(
            connection: connection, schema: schema, document: examination.contents.document,
            source: examination.source, path: place.absolute, readOnlyReason: nil, mayHoldReads: isWAL, watch: nil,
            externalFolder: ExternalFile.folder(ofStore: place.path), history: history,
            maximumConnections: options.maximumConnections,
            longLog: Int32(pragmas.number("wal_autocheckpoint", else: Int(ConnectionPool.usualLongLog))),
            openAnother: isWAL ? another(place, schema, trustsSchema: connection.trustsSchema) : nil)
    }

    /// Makes connections more, as long as the path still leads to the file.
    private func another(
        _ place: StorePlace, _ schema: StoreSchema, trustsSchema: Bool
    ) -> (() throws -> Connection) {
        let file = place.number
        return { [self] in
            let connection = try Connection(
                place.path, path: place.given, flags: SQLITE_OPEN_READWRITE, limits: options.limits)
            guard place.number == file else {
                connection.close()
                throw failure(
                    .storeIO,
                    "\(place.given) was replaced by another file; remove the store from the coordinator and add it again",
                    place)
            }
            connection.waitForLocks(milliseconds: busyTimeout)
            connection.distrust()
            if trustsSchema { connection.trustSchema() }
            connection.limitExpressions()
            try configure(connection, place, isFirst: false)
            try derive(schema, in: connection, place)
            return connection
        }
    }

    /// Makes the triggers that a connection has for itself.
    private func derive(_ schema: StoreSchema, in connection: Connection, _ place: StorePlace) throws {
        for statement in schema.derivedAttributes.flatMap(\.connectionTriggerStatements) {
            try connection.execute(
                statement, "create the triggers for derived attributes of \(place.given)",
                cocoaCode: .persistentStoreOpen)
        }
    }

    private func openReadOnly(_ place: StorePlace, reason: String? = nil) throws -> OpenedStore {
        let file = try ReadOnlyFile(place, limits: options.limits)
        let examination = try StoreExamination(
            file.connection, model: model, place: place, versions: versions)
        try configure(file.connection, place)
        try examination.gaps.standIn(file.connection, examination.schema)
        return OpenedStore(
            connection: file.connection, schema: examination.schema,
            document: examination.contents.document, source: examination.source, path: place.absolute,
            readOnlyReason: file.loss?.account ?? reason ?? examination.readOnlyReason ?? options.readOnlyReason
                ?? Store.isOpenForReading,
            mayHoldReads: true,
            watch: file.watch,
            externalFolder: ExternalFile.folder(ofStore: place.path), history: nil)
    }

    /// What is done once, at opening.
    private func tidy(_ connection: Connection, _ place: StorePlace) throws {
        if options.vacuums {
            try connection.execute("VACUUM", "vacuum \(place.given)", cocoaCode: .persistentStoreOpen)
        }
        if options.analyzes {
            try connection.execute("ANALYZE", "analyze \(place.given)", cocoaCode: .persistentStoreOpen)
        }
    }

    private func configure(_ connection: Connection, _ place: StorePlace, isFirst: Bool = true) throws {
        // A stranger's store may be larger than memory: what has to be sorted goes to a temporary file of SQLite's.
        let launch = LaunchArguments.storeSettings
        if isFirst, launch.checksIntegrity { try DatabaseCheck.require(connection, place) }
        let usual = options.isTransient ? 0 : options.normalSync ? 1 : 2
        let synchronous = launch.synchronous ?? pragmas.number("synchronous", else: usual)
        try connection.execute(
            "PRAGMA synchronous=\(synchronous);"
                + "PRAGMA cache_size=\(pragmas.number("cache_size", else: -max(options.cacheKilobytes, 64)));"
                + "PRAGMA temp_store=\(pragmas.number("temp_store", else: options.isReadOnly ? 0 : 2))"
                + (options.isTransient ? ";PRAGMA locking_mode=EXCLUSIVE" : "") + pragmas.statements,
            "open \(place.given)", cocoaCode: .persistentStoreOpen)
    }

    /// Why a store that is to be opened without its history can only be read; nil if it has no transactions.
    private func refusedHistory(_ examination: StoreExamination, _ connection: Connection) throws -> String? {
        guard options.refusesHistory, examination.history != nil else { return nil }
        guard
            try connection.finds(
                "SELECT 1 FROM ATRANSACTION LIMIT 1", purpose: "read the history of \(connection.path)")
        else {
            return nil
        }
        return
            "CST_STORE_NO_HISTORY (history=False) is set, but the store has a history, in which its saves would be missing; open it "
            + "without that option, or delete the history first"
    }

    /// The design of a history that begins now; nil when the options want none, or the file has one.
    private func beginHistory(in connection: Connection, model: Model) throws -> HistoryDesign? {
        guard options.keepsHistory || options.keepsCompleteHistory, try HistoryDesign(of: connection) == nil else {
            return nil
        }
        let purpose = "create the history tables in \(connection.path)"
        try connection.writing(purpose, cocoaCode: .persistentStoreOpen) {
            // Another process may have begun one meanwhile.
            if try HistoryDesign(of: connection) == nil { try HistoryDesign.install(in: connection, model: model) }
        }
        return try HistoryDesign(of: connection)
    }

    /// Begins or ends keeping the values that saves replace. A file that has begun it goes on without the option.
    private func settleOldValues(in connection: Connection) throws {
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

    /// The mode in force, after asking for the one that the options want.
    private func journalMode(_ connection: Connection, _ place: StorePlace) throws -> String {
        let purpose = "open \(place.given)"
        let current = try connection.prepare("PRAGMA journal_mode", purpose)
        let mode = try current.step(purpose) ? current.text(0) ?? "" : ""
        current.reset()
        let usual = options.isTransient ? "memory" : options.rollbackJournal ? "delete" : "wal"
        let wanted = pragmas["journal_mode"] ?? usual
        guard mode != wanted else { return mode }
        let statement = try connection.prepare("PRAGMA journal_mode=\(wanted)", purpose)
        do {
            let answer = try statement.step(purpose) ? statement.text(0) ?? mode : mode
            statement.reset()
            return answer
        } catch let error as CoreError where error.status == .storeBusy {
            // Another process has the store open in its mode, which works as well.
            return mode
        }
    }

    /// SQLite needs companions beside the file; when the folder refuses them it only says that it cannot open the file.
    private func explained(_ error: CoreError, _ place: StorePlace) -> CoreError {
        guard [SQLITE_CANTOPEN, SQLITE_READONLY].contains(error.sqliteCode & 0xff), !place.mayWriteFolder else {
            return error
        }
        return failure(
            .storeReadOnly,
            "the folder \(place.folder) of \(place.given) is not writable; "
                + "make it writable, or open the store read-only",
            place, sqliteCode: error.sqliteCode)
    }

    private func failure(
        _ status: Status, _ message: String, _ place: StorePlace, sqliteCode: Int32 = 0
    ) -> CoreError {
        CoreError(status, code: .persistentStoreOpen, message, sqliteCode: sqliteCode, file: place.given)
    }
}

extension Connection {
    /// Has a store be of the model that it was examined by: in its tables, its hashes, and the model that it carries.
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
