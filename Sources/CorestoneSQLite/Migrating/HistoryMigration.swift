import CorestoneModel
import CorestoneValues

/// The conversion of a store's history for an in-place migration.
///
/// It converts entity numbers, mask bits of changed properties and columns of preserved values. It adds an empty
/// transaction with the migrator's author.
struct HistoryMigration {
    let design: HistorySchema
    let mapping: ModelMapping
    let former: StoreSchema
    let wanted: StoreSchema
    let connection: Connection

    static let authorPrefix = "com.apple.coredata.schemamigrator:"

    /// Returns the author of the transaction that a migration adds. It contains the digest of the new model.
    static func author(digest: String) -> String {
        "\(authorPrefix) lightweight migration from model with digest { \(digest) }"
    }

    /// Returns the digest in the author of a migration's transaction, or nil for other authors.
    static func digest(inAuthor author: String) -> String? {
        guard author.hasPrefix(authorPrefix), let start = author.firstIndex(of: "{"),
            let end = author.lastIndex(of: "}"), start < end
        else { return nil }
        let text = author[author.index(after: start)..<end]
        return String(text.drop { $0 == " " }.prefix { $0 != " " })
    }

    /// Returns the statements that change the rows. The SQL functions of a migration must be registered.
    func statements() -> [String] {
        var settings: [String] = []
        if design.hasColumns {
            settings.append(
                "ZCOLUMNS = CASE WHEN ZCOLUMNS IS NULL THEN NULL ELSE \(MigrationFunctions.mask)(ZCOLUMNS, ZENTITY) END"
            )
        }
        settings += tombstones
        let numbers = mapping.entities.compactMap { pair -> (Int64, Int64)? in
            guard let source = pair.source, let destination = pair.destination else { return nil }
            return (former.number(of: source), wanted.number(of: destination))
        }
        if !numbers.allSatisfy({ $0 == $1 }) {
            let cases = numbers.map { "WHEN \($0) THEN \($1)" }.joined(separator: " ")
            settings.append("ZENTITY = CASE ZENTITY \(cases) ELSE ZENTITY END")
        }
        let added = HistoryMigration.additions(of: wanted.model, to: design)
        let gone = mapping.entities.filter { $0.destination == nil }.compactMap(\.source).map { former.number(of: $0) }
        // Removals come first, because the number of a removed entity may be assigned to another entity.
        let removals = gone.isEmpty ? [] : ["DELETE FROM ACHANGE WHERE ZENTITY IN (\(gone.sorted().joinedText))"]
        return removals + added + (settings.isEmpty ? [] : ["UPDATE ACHANGE SET \(settings.joined(separator: ", "))"])
    }

    /// The assignments that move preserved values to their new columns.
    private var tombstones: [String] {
        let count = max(design.tombstoneCount, HistoryMigration.tombstoneCount(of: wanted.model))
        let pairs = mapping.entities.compactMap { pair -> (source: Entity, count: Int, origins: [Int?])? in
            guard let source = pair.source, let destination = pair.destination else { return nil }
            return (
                source, HistorySchema.preservedAttributes(of: source).count,
                HistoryMigration.origins(from: source, to: destination) { pair.pair(to: $0)?.source }
            )
        }
        return (0..<count).compactMap { place in
            var cases: [String] = []
            for (source, before, origins) in pairs {
                let origin = place < origins.count ? origins[place] : nil
                let hadValue = place < before
                if origin == place || origin == nil && !hadValue { continue }
                let value = origin.map { "ZTOMBSTONE\($0)" } ?? "NULL"
                cases.append("WHEN \(former.number(of: source)) THEN \(value)")
            }
            if cases.isEmpty { return nil }
            let own = place < design.tombstoneCount ? "ZTOMBSTONE\(place)" : "NULL"
            return "ZTOMBSTONE\(place) = CASE ZENTITY \(cases.joined(separator: " ")) ELSE \(own) END"
        }
    }

    /// Adds the transaction of the migration to the history. The tables must have their new columns.
    static func addTransaction(of wanted: StoreSchema, to connection: Connection) throws {
        guard let design = try HistorySchema(of: connection) else { return }
        let digest = modelVersionDigest(entityVersionHashes(of: wanted.model))
        let writer = try HistoryWriter(
            design: design, connection: connection, schema: wanted,
            names: [
                .author: HistoryMigration.author(digest: digest), .bundle: HistoryWriter.processName,
                .process: HistoryWriter.processName,
            ])
        try writer.writeEmptyTransaction()
    }

    /// Empties the tables of old values.
    ///
    /// Old values refer to tables and columns of the former model, and a state before a migration cannot be opened.
    static func forgetOldValues(in connection: Connection) throws {
        let purpose = "migrate the history of \(connection.path)"
        guard try OldValueTables.exist(in: connection, purpose) else { return }
        for table in OldValueTables.all {
            try connection.execute("DELETE FROM main.\(table)", purpose, cocoaCode: .migration)
        }
    }

    /// Returns, for each tombstone column of the destination, the index of the source's column with the same value.
    ///
    /// The index is nil if the source does not have such a column.
    static func origins(
        from source: Entity, to destination: Entity, by origin: (Attribute) -> Property?
    ) -> [Int?] {
        let before = HistorySchema.preservedAttributes(of: source)
        return HistorySchema.preservedAttributes(of: destination).map { attribute in
            origin(attribute).flatMap { kept in before.firstIndex { $0 === kept } }
        }
    }

    /// Returns the number of tombstone columns that the entities of a model need.
    static func tombstoneCount(of model: Model) -> Int {
        model.entities.map { HistorySchema.preservedAttributes(of: $0).count }.max() ?? 0
    }

    /// Returns the statements that add the tombstone columns that the model needs and the table lacks.
    static func additions(of model: Model, to design: HistorySchema) -> [String] {
        (design.tombstoneCount..<max(design.tombstoneCount, tombstoneCount(of: model))).map {
            "ALTER TABLE ACHANGE ADD COLUMN ZTOMBSTONE\($0) BLOB"
        }
    }
}
