import CorestoneModel
import CorestoneValues

/// A missing or modified part of the schema that the model requires.
///
/// It is an index, a trigger or an R-tree table that another program dropped or changed.
struct SchemaDefect {
    let kind: StoreProblem.Kind
    let entity: String?
    let key: String?
    /// The missing or modified part and the consequence. Completes "the store …".
    let text: String
    /// The statements that recreate the part.
    let statements: [String]
    /// All properties of a unique constraint; empty for other parts.
    var keys: [String] = []

    /// The text for a report, with the statements that recreate the part.
    var explanation: String {
        let remedy = statements.isEmpty ? "" : ". Correct the schema with: \(statements.joined(separator: "; "))"
        return "the store \(text)\(remedy)"
    }
}

/// A comparison of the indexes, triggers and R-trees that a model requires with those of the file.
///
/// Names and spelling of indexes are ignored, because they vary. Older versions of Core Data declared unique
/// constraints in the table and used other names for the indexes of attributes, and migrations keep old names.
struct SchemaDrift {
    private let schema: StoreSchema
    private var indexes: [FileIndex] = []
    /// The normalised SQL of each trigger, by name.
    private var triggers: [String: String] = [:]
    private var virtualTables: [String: String] = [:]

    /// An index that the file has.
    private struct FileIndex {
        let table: String
        /// The columns; nil for an expression.
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
                triggers[name] = SchemaDrift.normalised(text)
            } else {
                virtualTables[name] = SchemaDrift.normalised(text)
            }
        }
    }

    /// Returns a statement without quotes and repeated spaces, which SQLite may change when it rewrites the schema.
    private static func normalised(_ text: String) -> String {
        text.filter { $0 != "\"" }.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// The missing or modified parts that writers depend on.
    var all: [SchemaDefect] {
        unenforcedConstraints.map(uniqueIndexDefect) + derivedAttributes + underivable + spatialIndexes
            + foreignSpatialIndexes
    }
}

// MARK: - Indexes

extension SchemaDrift {
    /// The unique constraints that no index of the file enforces.
    var unenforcedConstraints: [StoreIndex] {
        schema.tables.flatMap(\.modelIndexes).filter { wanted in
            wanted.isUnique && !wanted.columns.isEmpty
                // An index over fewer of the columns is stricter.
                && !indexes.contains { found in
                    found.table == wanted.table && found.isUnique && !found.isPartial
                        && found.columns.allSatisfy { $0.map(wanted.columns.contains) == true }
                }
        }
    }

    private func uniqueIndexDefect(_ index: StoreIndex) -> SchemaDefect {
        let names = index.keys.map { "\(index.entity.name).\($0)" }.joined(separator: " and ")
        let subject = index.keys.count == 1 ? names : "the combination of \(names)"
        return SchemaDefect(
            kind: .constraint, entity: index.entity.name, key: index.keys.first,
            text: "lacks the unique index \(index.name), so nothing prevents duplicates of \(subject)",
            statements: [index.creationStatement], keys: index.keys)
    }

    /// The missing indexes that affect only the speed of fetches.
    var missingSpeedIndexes: [SchemaDefect] {
        let wanted =
            schema.tables.flatMap { $0.propertyIndexes + $0.modelIndexes.filter { !$0.isUnique } }
            + schema.joins.map(\.index)
        return wanted.compactMap { wanted in
            let isThere = indexes.contains { found in
                found.table == wanted.table && found.columns == wanted.columns
                    && (wanted.condition != nil || !found.isPartial)
            }
            if isThere { return nil }
            return SchemaDefect(
                kind: .speed, entity: wanted.entity.name, key: wanted.keys.first,
                text:
                    "does not have the index \(wanted.name) on \(wanted.table) (\(wanted.columns.joined(separator: ", "))), so fetches "
                    + "may be slow", statements: [wanted.creationStatement])
        }
    }
}

// MARK: - Triggers

extension SchemaDrift {
    private var derivedAttributes: [SchemaDefect] {
        schema.derivedAttributes.compactMap { derived in
            triggerDefect(
                derived.triggerStatements, kind: .derived, entity: derived.attribute.entity.name,
                key: derived.attribute.name,
                "\(derived.attribute.entity.name).\(derived.attribute.name)")
        }
    }

    /// The derived attributes that neither this library nor a trigger in the file can compute.
    ///
    /// Only triggers of Apple's framework compute attributes that this library cannot compute.
    private var underivable: [SchemaDefect] {
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
            return SchemaDefect(
                kind: .derived, entity: entity, key: attribute.name,
                text: "does not have a trigger that computes \(entity).\(attribute.name), which has the derivation "
                    + "\"\(derivation.expression.text)\"", statements: [])
        }
    }

    /// Returns the first columns of the table's indexes, except partial ones and expressions.
    func leadingColumns(ofTable table: String) -> Set<String> {
        Set(indexes.filter { $0.table == table && !$0.isPartial }.compactMap { $0.columns.first ?? nil })
    }

    /// Whether the R-tree exists in the required form.
    func isIntact(_ index: SpatialIndex) -> Bool {
        virtualTables[index.name] == SchemaDrift.normalised(index.creationStatement)
    }

    /// Whether the R-tree is kept up to date: the R-tree and its triggers exist in the required form.
    func isMaintained(_ index: SpatialIndex) -> Bool {
        isIntact(index)
            && index.triggerStatements.allSatisfy {
                triggers[SchemaDrift.name(ofTrigger: $0)] == SchemaDrift.normalised($0)
            }
    }

    private var spatialIndexes: [SchemaDefect] {
        schema.spatialIndexes.compactMap { index in
            let subject = "the R-tree index of \(index.entity.name)"
            guard isIntact(index) else {
                return SchemaDefect(
                    kind: .spatial, entity: index.entity.name, key: index.keys.first,
                    text: virtualTables[index.name] == nil
                        ? "lacks the R-tree index \(index.name) of \(index.entity.name)"
                        : "has a modified R-tree index \(index.name) of \(index.entity.name), which must be dropped first",
                    statements: [index.creationStatement, index.fillingStatement] + index.triggerStatements)
            }
            // Rows may have changed while the triggers were missing.
            return triggerDefect(
                index.triggerStatements, kind: .spatial, entity: index.entity.name, key: index.keys.first, subject,
                then: index.refillingStatements)
        }
    }

    /// The missing triggers of R-trees that an application created without a model index, as Photos does. Such triggers
    /// are named like those of a model's R-trees.
    private var foreignSpatialIndexes: [SchemaDefect] {
        let own = Set(schema.spatialIndexes.map(\.name))
        return virtualTables.keys.filter { $0.hasPrefix("Z_RT_") && !own.contains($0) }.sorted(by: byteOrder).compactMap
        {
            table in
            let missing = SpatialIndex.triggerNames(ofTable: table).filter { triggers[$0] == nil }
            guard let first = missing.first else { return nil }
            return SchemaDefect(
                kind: .spatial, entity: nil, key: nil,
                text: "lacks the trigger \(first), which keeps the R-tree \(table) up to date", statements: [])
        }
    }

    /// Returns the defect of missing or modified triggers; nil if all triggers have the required form.
    ///
    /// - Parameter repairs: Statements that correct the rows that changed without the triggers.
    private func triggerDefect(
        _ statements: [String], kind: StoreProblem.Kind, entity: String, key: String?, _ subject: String,
        then repairs: [String] = []
    ) -> SchemaDefect? {
        let wrong = statements.filter { triggers[SchemaDrift.name(ofTrigger: $0)] != SchemaDrift.normalised($0) }
        guard let first = wrong.first else { return nil }
        let name = SchemaDrift.name(ofTrigger: first)
        let more = wrong.count > 1 ? " and \(wrong.count - 1) more" : ""
        let keep = wrong.count > 1 ? "keep" : "keeps"
        let drops = wrong.map(SchemaDrift.name).filter { triggers[$0] != nil }.map { "DROP TRIGGER \($0)" }
        let verb = triggers[name] == nil ? "lacks the trigger" : "has a modified version of the trigger"
        return SchemaDefect(
            kind: kind, entity: entity, key: key, text: "\(verb) \(name)\(more), which \(keep) \(subject) up to date",
            statements: drops + wrong + repairs)
    }

    static func name(ofTrigger statement: String) -> String {
        let words = statement.split(separator: " ", maxSplits: 3)
        return words.count > 2 ? String(words[2]) : ""
    }
}
