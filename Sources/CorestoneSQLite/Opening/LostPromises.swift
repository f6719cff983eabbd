import CorestoneModel
import CorestoneValues

/// Something by which a store itself keeps a promise of its model, and which the file lacks or has otherwise: an index, a
/// trigger, a table of an R-tree. Somebody dropped it.
struct LostPromise {
    let kind: StoreProblem.Kind
    let entity: String?
    let key: String?
    /// What is missing or different, and what comes of it; completes "the store …".
    let text: String
    /// What makes it again.
    let statements: [String]
    /// The properties of a unique constraint, all of them.
    var keys: [String] = []

    /// The same for people, with how to make it again.
    var account: String {
        let remedy = statements.isEmpty ? "" : "; recreate it with: \(statements.joined(separator: "; "))"
        return "the store \(text)\(remedy)"
    }
}

/// Compares what a model demands of the file itself with what the file has.
///
/// Names of indexes do not count, nor does how one is written: older frameworks wrote unique constraints into the table and
/// indexed attributes by other names, and migrations leave old names behind.
struct LostPromises {
    private let schema: StoreSchema
    private var indexes: [FileIndex] = []
    /// By name, as they are compared.
    private var triggers: [String: String] = [:]
    private var virtualTables: [String: String] = [:]

    /// An index that the file has.
    private struct FileIndex {
        let table: String
        /// nil for an expression.
        let columns: [String?]
        let isUnique: Bool
        let isPartial: Bool
    }

    init(_ schema: StoreSchema, _ connection: Connection) throws {
        self.schema = schema
        let purpose = "read the indexes and triggers of \(connection.path)"
        let list = try connection.statement(
            "SELECT l.\"unique\", l.partial, i.seqno, i.name FROM pragma_index_list(?) l, pragma_index_info(l.name) i "
                + "ORDER BY l.seq, i.seqno", purpose)
        for table in schema.tables.map(\.name) + schema.joins.map(\.name) {
            list.bind(copying: table, at: 1)
            defer { list.reset() }
            var rows: [(isUnique: Bool, isPartial: Bool, columns: [String?])] = []
            while try list.step(purpose) {
                if list.integer(2) == 0 { rows.append((list.integer(0) != 0, list.integer(1) != 0, [])) }
                if !rows.isEmpty { rows[rows.count - 1].columns.append(list.text(3)) }
            }
            indexes += rows.map {
                FileIndex(table: table, columns: $0.columns, isUnique: $0.isUnique, isPartial: $0.isPartial)
            }
        }
        let master = try connection.statement(
            "SELECT type, name, sql FROM sqlite_master WHERE type = 'trigger' "
                + "OR type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%'", purpose)
        defer { master.reset() }
        while try master.step(purpose) {
            guard let name = master.text(1), let text = master.text(2) else { continue }
            if master.text(0) == "trigger" {
                triggers[name] = LostPromises.settled(text)
            } else {
                virtualTables[name] = LostPromises.settled(text)
            }
        }
    }

    /// A statement without what a rewriting by SQLite may have changed: quotes, and the amount of blanks.
    private static func settled(_ text: String) -> String {
        text.filter { $0 != "\"" }.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// What a writer relies on.
    var all: [LostPromise] {
        unguarded.map(lost) + derivedAttributes + underivable + spatialIndexes + foreignSpatialIndexes
    }
}

// MARK: - Indexes

extension LostPromises {
    /// Unique constraints that nothing in the file keeps.
    var unguarded: [StoreIndex] {
        schema.tables.flatMap(\.modelIndexes).filter { wanted in
            wanted.isUnique && !wanted.columns.isEmpty
                // One over fewer of the columns allows less.
                && !indexes.contains { found in
                    found.table == wanted.table && found.isUnique && !found.isPartial
                        && found.columns.allSatisfy { $0.map(wanted.columns.contains) == true }
                }
        }
    }

    private func lost(_ index: StoreIndex) -> LostPromise {
        LostPromise(
            kind: .constraint, entity: index.entity.name, key: index.keys.first,
            text: "lacks the unique index \(index.name), so nothing prevents duplicates of \(index.entity.name)."
                + "\(index.keys.joined(separator: ", "))", statements: [index.creationStatement], keys: index.keys)
    }

    /// Indexes without which fetches are slow, and nothing else is lost.
    var slowness: [LostPromise] {
        let wanted =
            schema.tables.flatMap { $0.propertyIndexes + $0.modelIndexes.filter { !$0.isUnique } }
            + schema.joins.map(\.index)
        return wanted.compactMap { wanted in
            let isThere = indexes.contains { found in
                found.table == wanted.table && found.columns == wanted.columns
                    && (wanted.condition != nil || !found.isPartial)
            }
            if isThere { return nil }
            return LostPromise(
                kind: .speed, entity: wanted.entity.name, key: wanted.keys.first,
                text:
                    "has no index \(wanted.name) on \(wanted.table) (\(wanted.columns.joined(separator: ", "))), so fetches "
                    + "may be slow", statements: [wanted.creationStatement])
        }
    }
}

// MARK: - Triggers

extension LostPromises {
    private var derivedAttributes: [LostPromise] {
        schema.derivedAttributes.compactMap { derived in
            lost(
                derived.triggerStatements, kind: .derived, entity: derived.attribute.entity.name,
                key: derived.attribute.name,
                "\(derived.attribute.entity.name).\(derived.attribute.name)")
        }
    }

    /// Derived attributes that this library cannot compute: only triggers of the framework's own can, if there are any.
    private var underivable: [LostPromise] {
        let known = Set(schema.derivedAttributes.map { ObjectIdentifier($0.attribute) })
        return schema.model.entities.flatMap(\.ownAttributes).compactMap { attribute in
            guard let derivation = attribute.derivation, !attribute.isTransient,
                !known.contains(ObjectIdentifier(attribute))
            else { return nil }
            let entity = attribute.entity.name
            let mark = "_\(entity)_\(attribute.name)_"
            if triggers.keys.contains(where: { $0.hasPrefix("Z_DA_") && position(of: mark, in: $0) != nil }) {
                return nil
            }
            return LostPromise(
                kind: .derived, entity: entity, key: attribute.name,
                text: "has no trigger that computes \(entity).\(attribute.name), which has the derivation "
                    + "\(derivation.expression.text)", statements: [])
        }
    }

    /// The columns by whose value an index of the table finds rows.
    func leadingColumns(ofTable table: String) -> Set<String> {
        Set(indexes.filter { $0.table == table && !$0.isPartial }.compactMap { $0.columns.first ?? nil })
    }

    /// Whether the R-tree itself is there.
    func has(_ index: SpatialIndex) -> Bool {
        virtualTables[index.name] == LostPromises.settled(index.creationStatement)
    }

    /// Whether the R-tree has the rows of its table: it is there, and so are its triggers.
    func keeps(_ index: SpatialIndex) -> Bool {
        has(index)
            && index.triggerStatements.allSatisfy {
                triggers[LostPromises.name(ofTrigger: $0)] == LostPromises.settled($0)
            }
    }

    private var spatialIndexes: [LostPromise] {
        schema.spatialIndexes.compactMap { index in
            let subject = "the R-tree index of \(index.entity.name)"
            guard has(index) else {
                return LostPromise(
                    kind: .spatial, entity: index.entity.name, key: index.keys.first,
                    text: virtualTables[index.name] == nil
                        ? "lacks the R-tree index \(index.name) of \(index.entity.name)"
                        : "has a modified R-tree index \(index.name) of \(index.entity.name), which must be dropped first",
                    statements: [index.creationStatement, index.fillingStatement] + index.triggerStatements)
            }
            // Rows may have changed meanwhile.
            return lost(
                index.triggerStatements, kind: .spatial, entity: index.entity.name, key: index.keys.first, subject,
                then: index.refillingStatements)
        }
    }

    /// R-trees that an application installed by itself, as Photos does. Their triggers are named like those of a model's.
    private var foreignSpatialIndexes: [LostPromise] {
        let own = Set(schema.spatialIndexes.map(\.name))
        return virtualTables.keys.filter { $0.hasPrefix("Z_RT_") && !own.contains($0) }.sorted(by: byteOrder).compactMap
        {
            table in
            let missing = SpatialIndex.triggerNames(ofTable: table).filter { triggers[$0] == nil }
            guard let first = missing.first else { return nil }
            return LostPromise(
                kind: .spatial, entity: nil, key: nil,
                text: "lacks the trigger \(first), which keeps the R-tree \(table) up to date", statements: [])
        }
    }

    /// The first of the triggers that is not there as it should be; nil when all are.
    ///
    /// - Parameter repairs: what makes good for the time without the triggers.
    private func lost(
        _ statements: [String], kind: StoreProblem.Kind, entity: String, key: String?, _ subject: String,
        then repairs: [String] = []
    ) -> LostPromise? {
        let wrong = statements.filter { triggers[LostPromises.name(ofTrigger: $0)] != LostPromises.settled($0) }
        guard let first = wrong.first else { return nil }
        let name = LostPromises.name(ofTrigger: first)
        let more = wrong.count > 1 ? " and \(wrong.count - 1) more" : ""
        let keep = wrong.count > 1 ? "keep" : "keeps"
        let drops = wrong.map(LostPromises.name).filter { triggers[$0] != nil }.map { "DROP TRIGGER \($0)" }
        let verb = triggers[name] == nil ? "lacks the trigger" : "has a modified version of the trigger"
        return LostPromise(
            kind: kind, entity: entity, key: key, text: "\(verb) \(name)\(more), which \(keep) \(subject) up to date",
            statements: drops + wrong + repairs)
    }

    static func name(ofTrigger statement: String) -> String {
        let words = statement.split(separator: " ", maxSplits: 3)
        return words.count > 2 ? String(words[2]) : ""
    }
}
