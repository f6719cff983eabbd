import CorestoneModel
import CorestoneValues

/// A trigger on a table of a store that neither the model requires nor Apple's framework installs.
///
/// It may discard a row (`RAISE(IGNORE)`), or change rows without reporting them, so that objects and file differ after
/// a save.
struct ForeignTrigger {
    let name: String
    let table: String
    /// The entity whose rows or pairs the table holds; nil for a system table of the store.
    let entity: String?

    /// The statement that removes the trigger.
    var remedy: String { "DROP TRIGGER \(name.asIdentifier)" }

    /// The reason why the store is not written to while it has the trigger, as a clause without its remedy.
    var text: String {
        "its table \(table) has the trigger \"\(name)\" of another program, which may alter saved rows"
    }

    /// The description of the trigger for a store report.
    var explanation: String {
        "the table \(table) has the trigger \"\(name)\" of another program, which may drop or alter saved rows, so the "
            + "store opens read-only; remove the trigger with: \(remedy)"
    }
}

extension ForeignTrigger {
    /// Returns the foreign triggers of a store, sorted by name.
    ///
    /// Triggers on tables that do not belong to the store are left out, because saves do not fire them.
    static func all(in connection: Connection, _ schema: StoreSchema) throws -> [ForeignTrigger] {
        let purpose = "read the triggers of \(connection.path)"
        let statement = try connection.prepare(
            "SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name", purpose)
        var triggers: [(name: String, table: String, text: String)] = []
        while try statement.step(purpose) {
            triggers.append((statement.text(0) ?? "", statement.text(1) ?? "", statement.text(2) ?? ""))
        }
        if triggers.isEmpty { return [] }
        let entities = entitiesByTable(schema)
        let spatial = try spatialTriggers(connection, purpose)
        let wanted =
            (schema.derivedAttributes.flatMap(\.triggerStatements)
            + schema.spatialIndexes.flatMap(\.triggerStatements)).map(SchemaDrift.name)
        let known = spatial.union(wanted)
        return triggers.compactMap { trigger in
            // The trigger's author may have written the table's name in another letter case.
            guard let entity = entities[trigger.table.uppercased()], !known.contains(trigger.name),
                !reportsChangedRows(trigger.name, trigger.text)
            else { return nil }
            return ForeignTrigger(name: trigger.name, table: trigger.table, entity: entity)
        }
    }

    /// Whether the trigger is one of Apple's triggers that report each row they change.
    ///
    /// These are the triggers of Photos, and those of derived attributes that this library cannot compute.
    private static func reportsChangedRows(_ name: String, _ text: String) -> Bool {
        (name.hasPrefix("Z_DA_") || name.hasPrefix("ZT_"))
            && TriggerFunctions.reports.contains { position(of: $0, in: text) != nil }
    }

    /// Returns the names of the triggers that update the R-trees of the file.
    ///
    /// They include the triggers of R-trees that the model does not require.
    private static func spatialTriggers(_ connection: Connection, _ purpose: String) throws -> Set<String> {
        let statement = try connection.prepare(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'Z\\_RT\\_%' ESCAPE '\\' "
                + "AND sql LIKE 'CREATE VIRTUAL TABLE%'", purpose)
        var names: Set<String> = []
        while try statement.step(purpose) {
            guard let table = statement.text(0) else { continue }
            names.formUnion(SpatialIndex.triggerNames(ofTable: table))
        }
        return names
    }

    /// Returns an entity for each table that a save may write to, by upper-case table name; nil for system tables.
    private static func entitiesByTable(_ schema: StoreSchema) -> [String: String?] {
        let own = StoreSchema.systemTables + HistorySchema.Table.allCases.map(\.rawValue)
        let pairs: [(String, String?)] =
            own.map { ($0, nil) } + schema.tables.map { ($0.name, $0.root.name) }
            + schema.joins.map { ($0.name, $0.naming.entity.name) }
        return Dictionary(pairs.map { ($0.0.uppercased(), $0.1) }, uniquingKeysWith: { first, _ in first })
    }
}
