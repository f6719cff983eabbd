import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// The migration of an SQLite store to another version of its model, without loading objects.
///
/// It runs SQL statements in one transaction.
///
/// Keys, versions and the identifier are unchanged. The result is equal to that of Apple's framework since version 977.
struct InPlaceMigration {
    let connection: Connection
    let place: StoreLocation
    let plan: MigrationPlan
    let contents: StoreContents
    let history: HistorySchema?
    let options: MigrationOptions

    private var model: Model { plan.mapping.destination }
    private var purpose: String { "migrate \(place.given)" }
    private var checks: MigrationChecks {
        MigrationChecks(plan: plan, connection: connection, uuid: contents.document.identifier)
    }

    /// Migrates the store in the transaction of the caller.
    ///
    /// - Parameter progress: Receives the completed and the total rows. Returning false cancels the migration.
    /// - Returns: The names of the backing files to which no row refers any longer.
    func run(_ progress: @escaping (_ done: Int, _ total: Int) -> Bool) throws -> Set<String> {
        let externalFolder = ExternalFile.folder(ofStore: place.path)
        let before = try connection.namesOfExternalFiles(in: plan.former, folder: externalFolder)
        let functions = try MigrationFunctions(
            connection, mapping: plan.mapping, former: plan.former, externalFolder: externalFolder)
        defer { functions.end() }
        do {
            try checks.before()
            try change(MigrationProgress(connection, plan.former, progress))
        } catch {
            // A cancelled statement throws an error of SQLite, which is replaced by that of a cancelled migration.
            if (error as? CoreError)?.status == .cancelled { throw MigrationProgress.cancelled(place.given) }
            throw functions.takeFailure() ?? error
        }
        if before.isEmpty { return [] }
        let tables = plan.wanted.tables.map(\.name) + plan.leftovers.filter { $0.column == nil }.map(\.table)
        return before.subtracting(try connection.namesOfExternalFiles(in: tables))
    }

    private func change(_ progress: MigrationProgress) throws {
        defer { progress.end() }
        try progress.begin()
        progress.beginSteps(plan.stepCount + (options.verifies ? 2 * InPlaceVerification.stepCount(of: plan) : 0))
        let verification = options.verifies ? try InPlaceVerification(plan, connection, place, progress) : nil
        let former = SchemaUpkeep(schema: plan.former, connection: connection)
        let wanted = SchemaUpkeep(schema: plan.wanted, connection: connection)
        let foreignIndexes = try former.foreignIndexes()
        try former.dropTriggers()
        try execute(plan.linkCopyStatements + plan.removalStatements + plan.structureStatements, progress)
        try wanted.dropIndexes(of: former)
        try execute(plan.numberStatements, progress)
        try fillDefaults(progress)
        try execute(plan.linkStatements, progress)
        try migrateHistory(progress)
        try writeNumbers()
        try DeferredCleanup.record(plan.leftovers, in: connection)
        try MigratedDocument(connection: connection, contents: contents, model: model).write(
            isDeferred: !plan.leftovers.isEmpty)
        try wanted.makeIndexes { try checks.requireUnique($0) }
        try wanted.restore(foreignIndexes)
        try wanted.makeTriggers(computing: isComputed)
        if let verification {
            try options.willVerify? { try connection.execute($0, purpose, cocoaCode: .migration) }
            try verification.finish()
        }
        try progress.finish()
        try connection.requireMigrated(to: model, place)
    }

    private func execute(_ statements: [String], _ progress: MigrationProgress) throws {
        for statement in statements {
            try connection.execute(statement, purpose, cocoaCode: .migration)
            try progress.step()
        }
    }

    private func fillDefaults(_ progress: MigrationProgress) throws {
        for table in plan.tables {
            for fill in table.defaults {
                let statement = try connection.prepare(table.statement(fill), purpose)
                statement.bind(defaultOf: fill.attribute, at: 1)
                try statement.run(purpose)
                try progress.step()
            }
        }
    }

    /// Whether a derived attribute must be computed.
    ///
    /// A value must be computed if the attribute is new, its derivation differs, or its sources may have changed.
    private func isComputed(_ attribute: Attribute) -> Bool {
        if plan.changesValues { return true }
        for entity in attribute.entity.withDescendants {
            guard plan.mapping.source(of: entity) != nil else { continue }
            guard let source = plan.mapping.pair(to: entity).pair(to: attribute)?.source as? Attribute else {
                return true
            }
            if source.derivation?.expression.text != attribute.derivation?.expression.text { return true }
        }
        return false
    }

    // MARK: - History and entity numbers

    private func migrateHistory(_ progress: MigrationProgress) throws {
        guard let history else { return }
        let migration = HistoryMigration(
            design: history, mapping: plan.mapping, former: plan.former, wanted: plan.wanted, connection: connection)
        try execute(migration.statements(), progress)
        try HistoryMigration.forgetOldValues(in: connection)
        try HistoryMigration.addTransaction(of: plan.wanted, to: connection)
    }

    /// Writes the rows of the new model's entities to `Z_PRIMARYKEY`.
    ///
    /// The table is recreated if the number of an entity changed, or if an entity was removed.
    private func writeNumbers() throws {
        let highest = try highestKeys()
        let ours = Set(contents.entities.filter { plan.former.entityIndex(number: $0.number) != nil }.map(\.number))
        let renumbered = plan.mapping.entities.contains { pair in
            guard let source = pair.source, let destination = pair.destination else { return pair.destination == nil }
            return plan.former.number(of: source) != plan.wanted.number(of: destination)
        }
        if renumbered {
            try connection.execute(
                "CREATE TEMP TABLE CST_OTHERS AS SELECT * FROM main.Z_PRIMARYKEY WHERE Z_ENT NOT IN (\(ours.sorted().joinedText));"
                    + "DROP TABLE main.Z_PRIMARYKEY;"
                    + "CREATE TABLE main.Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)",
                purpose, cocoaCode: .migration)
        }
        let entry = try connection.prepare(
            "INSERT OR REPLACE INTO Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (?, ?, ?, ?)", purpose)
        for entity in model.preorder {
            entry.bind(plan.wanted.number(of: entity), at: 1)
            entry.bind(copying: entity.name, at: 2)
            entry.bind(entity.parent.map { plan.wanted.number(of: $0) } ?? 0, at: 3)
            entry.bind(entity.parent == nil ? highest[entity.name] ?? 0 : 0, at: 4)
            try entry.run(purpose)
        }
        if renumbered {
            try connection.execute(
                "INSERT OR IGNORE INTO Z_PRIMARYKEY SELECT * FROM temp.CST_OTHERS; DROP TABLE temp.CST_OTHERS", purpose,
                cocoaCode: .migration)
        }
    }

    /// Returns the highest assigned primary keys, by the name of the root entity in the new model.
    private func highestKeys() throws -> [String: Int64] {
        var keys: [String: Int64] = [:]
        let statement = try connection.prepare("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = ?", purpose)
        for table in plan.tables {
            guard let former = table.formerTable else { continue }
            statement.bind(plan.former.number(of: former.root), at: 1)
            keys[table.table.root.name] = try statement.step(purpose) ? statement.integer(0) : 0
            statement.reset()
        }
        return keys
    }
}

extension Statement {
    /// Binds the default value of an attribute in its stored form.
    func bind(defaultOf attribute: Attribute, at index: Int32) {
        if attribute.allowsExternalStorage, case .bytes(let bytes) = attribute.defaultValue {
            bind(copying: [ExternalFile.inlineMark] + Array(bytes.rawBytes), at: index)
        } else {
            bind(copying: attribute.defaultValue, at: index)
        }
    }
}

extension MigrationPlan {
    fileprivate var stepCount: Int {
        linkCopyStatements.count + removalStatements.count + structureStatements.count + numberStatements.count
            + linkStatements.count + tables.reduce(0) { $0 + $1.defaults.count }
    }
}
