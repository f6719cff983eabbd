import CorestoneModel
import CorestoneValues

/// How the history of a store follows a migration: entities by their new numbers, changed properties by their new bits, preserved values
/// in their new columns, and one transaction without changes by the migrator's author.
struct HistoryMigration {
    let design: HistoryDesign
    let mapping: ModelMapping
    let former: StoreSchema
    let wanted: StoreSchema
    let connection: Connection

    static let authorPrefix = "com.apple.coredata.schemamigrator:"

    /// The author of the transaction that a migration adds; what follows is the digest of the new model.
    static func author(digest: String) -> String {
        "\(authorPrefix) lightweight migration from model with digest { \(digest) }"
    }

    /// The digest that such an author names; nil for other authors.
    static func digest(inAuthor author: String) -> String? {
        guard author.hasPrefix(authorPrefix), let start = author.firstIndex(of: "{"),
            let end = author.lastIndex(of: "}"), start < end
        else { return nil }
        let text = author[author.index(after: start)..<end]
        return String(text.drop { $0 == " " }.prefix { $0 != " " })
    }

    private var purpose: String { "migrate the history of \(connection.path)" }

    /// Statements that change the rows; functions of a migration must be registered.
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
        let added = (design.tombstoneCount..<max(design.tombstoneCount, tombstoneCount)).map {
            "ALTER TABLE ACHANGE ADD COLUMN ZTOMBSTONE\($0) BLOB"
        }
        let gone = mapping.entities.filter { $0.destination == nil }.compactMap(\.source).map { former.number(of: $0) }
        // The number of an entity that is gone may be another one's now.
        let removals = gone.isEmpty ? [] : ["DELETE FROM ACHANGE WHERE ZENTITY IN (\(gone.sorted().joinedText))"]
        return removals + added + (settings.isEmpty ? [] : ["UPDATE ACHANGE SET \(settings.joined(separator: ", "))"])
    }

    private var tombstoneCount: Int {
        wanted.model.entities.map { HistoryDesign.preservedAttributes(of: $0).count }.max() ?? 0
    }

    /// Settings that move preserved values to their new columns.
    private var tombstones: [String] {
        let count = max(design.tombstoneCount, tombstoneCount)
        return (0..<count).compactMap { place in
            var cases: [String] = []
            for pair in mapping.entities {
                guard let source = pair.source, let destination = pair.destination else { continue }
                let before = HistoryDesign.preservedAttributes(of: source)
                let after = HistoryDesign.preservedAttributes(of: destination)
                let kept = place < after.count ? pair.pair(to: after[place])?.source : nil
                let origin = kept.flatMap { kept in before.firstIndex { $0 === kept } }
                let hadValue = place < before.count
                if origin == place || origin == nil && !hadValue { continue }
                let value = origin.map { "ZTOMBSTONE\($0)" } ?? "NULL"
                cases.append("WHEN \(former.number(of: source)) THEN \(value)")
            }
            if cases.isEmpty { return nil }
            let own = place < design.tombstoneCount ? "ZTOMBSTONE\(place)" : "NULL"
            return "ZTOMBSTONE\(place) = CASE ZENTITY \(cases.joined(separator: " ")) ELSE \(own) END"
        }
    }

    /// Adds the transaction of the migration. The tables must have their new columns.
    func addTransaction(digest: String) throws {
        guard let design = try HistoryDesign(of: connection) else { return }
        let writer = try HistoryWriter(
            design: design, connection: connection, schema: wanted,
            names: [
                .author: HistoryMigration.author(digest: digest), .bundle: HistoryWriter.processName,
                .process: HistoryWriter.processName,
            ])
        try writer.writeEmptyTransaction()
    }
}
