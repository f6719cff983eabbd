import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The use of version hashes when a store is opened.
enum VersionRule {
    /// The hashes are compared with those of the model.
    case compared
    /// The hashes are not compared; only the tables must match the model.
    case notCompared
    /// The application ignores the hashes: properties and tables that the file lacks are null or empty.
    case ignored
}

/// A check whether a file was written with a model, by the version hashes and by its tables.
///
/// An error names the first difference by entity and property.
struct ModelComparison {
    let model: Model
    let source: ModelSource
    let contents: StoreContents
    let connection: Connection
    let forWriting: Bool
    var versions = VersionRule.compared
    /// For messages, the description of several versions, the nearest of which is `model`; nil for one model.
    var candidates: String?

    struct Result {
        /// The tables and columns of the model's entities in the file.
        let schema: StoreSchema
        /// The reason why the tables may be read but not written; nil if they may be written.
        let doubt: String?
        /// The tables and columns that the file lacks; empty unless `versions` is `.ignored`.
        let gaps: ModelGaps
    }

    func run() throws -> Result {
        if versions == .ignored { return try compareShapes() }
        let doubt = versions == .compared ? try compareHashes() : nil
        let unknown = model.entities.filter { contents.number(ofEntity: $0.name) == nil }.map(\.name)
        guard unknown.isEmpty else {
            throw error(["the store does not have \(ModelComparison.list(unknown))"], entity: unknown.first)
        }
        let schema = schema()
        if let difference = missing(in: schema) { throw error(difference) }
        return Result(schema: schema, doubt: doubt ?? tableDoubt(schema), gaps: ModelGaps())
    }

    /// Returns why existing tables may be read but not written; nil if they may be written.
    func tableDoubt(_ schema: StoreSchema) -> String? {
        if let table = schema.tables.first(where: { contents.unkeyedTables.contains($0.name) }) {
            return "in its table \(table.name) \(unkeyedTableExplanation(of: table.root))"
        }
        if let table = schema.tables.first(where: { !$0.hasVersions }) {
            return
                "its table \(table.name) does not have the column Z_OPT for the versions of \(table.root.name); "
                + "add it with: ALTER TABLE \(table.name) ADD COLUMN Z_OPT INTEGER DEFAULT 1"
        }
        return nil
    }

    /// Returns the schema with the entity numbers of the file. Entities that the file lacks have the next numbers.
    func schema() -> StoreSchema {
        var numbers = model.entities.map { contents.number(ofEntity: $0.name) ?? 0 }
        var last = contents.entities.map(\.number).max() ?? 0
        for entity in model.preorder where numbers[Int(entity.index)] == 0 {
            last += 1
            numbers[Int(entity.index)] = last
        }
        return StoreSchema(model: model, numbers: numbers, tables: contents.tables)
    }

    struct Difference {
        let text: String
        let entity: String
        let key: String?
    }
}

// MARK: - By hashes

extension ModelComparison {
    /// Throws an error for differences between the hashes.
    ///
    /// - Returns: The reason to open read-only if the hashes differ, but the tables can be read; nil if the hashes
    ///   match or are not compared.
    private func compareHashes() throws -> String? {
        // Only writers need the cached model to match the metadata.
        guard source == .given || source == .cached && forWriting, let stored = contents.document.hashes else {
            return nil
        }
        let wanted = StoreDocument.versionHashes(of: model)
        let changed = wanted.keys.filter { stored[$0] != nil && stored[$0] != wanted[$0] }.sorted(by: byteOrder)
        let added = wanted.keys.filter { stored[$0] == nil }.sorted(by: byteOrder)
        let removed = stored.keys.filter { wanted[$0] == nil }.sorted(by: byteOrder)
        if changed.isEmpty && added.isEmpty && removed.isEmpty { return nil }
        if source == .cached {
            return "its cached model does not match its metadata (a migration may be unfinished)"
        }
        let cached = try? contents.cachedModel(connection)
        var difference = cached.flatMap { propertyDifference(changed + added + removed, from: $0) }
        if difference == nil, added.isEmpty, removed.isEmpty {
            if cached != nil {
                let list = ModelComparison.list(changed)
                return changed.count == 1
                    ? "its version hash of \(list) differs from that of the model, although the models are the same"
                    : "its version hashes of \(list) differ from those of the model, although the models are the same"
            }
            difference = tableDifference()
        }
        var parts: [String] = []
        if !changed.isEmpty {
            let verb = changed.count == 1 ? "differs" : "differ"
            let stored = difference == nil ? " from the version in the store" : ""
            parts.append("\(ModelComparison.list(changed)) \(verb)\(stored)")
        }
        if !added.isEmpty { parts.append("the store does not have \(ModelComparison.list(added))") }
        if !removed.isEmpty { parts.append("the model does not have \(ModelComparison.list(removed))") }
        // With other parts, the message would be too long. The details list every difference.
        if let difference, added.isEmpty, removed.isEmpty { parts.append(difference.text) }
        throw error(
            parts, entity: difference?.entity ?? (changed + added + removed).first, key: difference?.key,
            children: cached?.mismatchDetails(with: model, file: contents.place.given) ?? [])
    }

    /// Returns the first property of these entities that differs between the store's cached model and the model.
    ///
    /// Superentities come first, because their changes also change the hashes of their subentities.
    private func propertyDifference(_ entities: [String], from cached: Model) -> Difference? {
        let found = cached.differences(from: model)
        let order = model.preorder.map(\.name)
        let names = order.filter(entities.contains) + entities.filter { !order.contains($0) }
        let first = names.lazy.compactMap { name in found.first { $0.entity == name } }.first
        return first.map { Difference(text: $0.text, entity: $0.entity, key: $0.key) }
    }

    private static func list(_ names: [String]) -> String {
        names.count > 5 ? "\(names.prefix(5).joined(separator: ", ")) and \(names.count - 5) more" : names.listed
    }

    func error(_ difference: Difference, value: PropertyValue? = nil) -> CoreError {
        error([difference.text], entity: difference.entity, key: difference.key, value: value)
    }

    private func error(
        _ parts: [String], entity: String?, key: String? = nil, value: PropertyValue? = nil, children: [CoreError] = []
    ) -> CoreError {
        let others = parts.dropLast().map { "\($0), " }.joined()
        return CoreError(
            .modelMismatch, code: .persistentStoreIncompatibleVersionHash,
            message("\(others)\(others.isEmpty ? "" : "and ")\(parts.last ?? "")"),
            entity: entity, key: key, value: value, children: children, file: contents.place.given)
    }

    private func message(_ problem: String) -> String {
        let store = contents.place.given
        if let candidates {
            return "\(store) does not match any of \(candidates). The nearest is "
                + "\(model.versionName ?? "an unnamed version"): \(problem); "
                + "migrate the store to one of the versions with CST_STORE_MIGRATE (migrate, corestone migrate)"
        }
        if source == .inferred {
            return
                "the model inferred from the tables of \(store) does not match them: \(problem); restore the store and its "
                + "write-ahead log from a backup"
        }
        guard source == .given else {
            return "the model in \(store) does not match its tables: \(problem); restore the store and its write-ahead "
                + "log from a backup"
        }
        return
            "the model does not match \(store): \(problem); open the store with the model it was written with, or "
            + "migrate it with CST_STORE_MIGRATE (migrate, corestone migrate)"
    }
}

// MARK: - By tables

extension ModelComparison {
    /// Returns the first table or column of the model that the file lacks.
    private func missing(in schema: StoreSchema) -> Difference? {
        if let difference = missingKey(in: schema) { return difference }
        switch ModelGaps(of: schema, in: contents).first {
        case nil: return nil
        case .table(let table)?:
            return Difference(
                text: "the store does not have the table \(table.name) for \(table.root.name)",
                entity: table.root.name, key: nil)
        case .column(_, let column)?:
            let property = column.property
            return Difference(
                text: "the store does not have the column \(column.name) for \(property.entity.name).\(property.path)",
                entity: property.entity.name, key: property.path)
        case .join(let join)?: return missing(join, "table \(join.name)")
        case .joinColumn(let join, let column)?: return missing(join, "column \(column) in \(join.name)")
        }
    }

    private func missing(_ join: JoinTable, _ part: String) -> Difference {
        let relationship = join.naming
        return Difference(
            text: "the store does not have the \(part) for \(relationship.entity.name).\(relationship.name)",
            entity: relationship.entity.name, key: relationship.name)
    }

    /// Returns the first table that lacks a column which all tables of objects have.
    func missingKey(in schema: StoreSchema) -> Difference? {
        for table in schema.tables {
            guard let present = contents.tables[table.name] else { continue }
            for column in ["Z_PK", "Z_ENT"] where present[column] == nil {
                return Difference(
                    text: "the store does not have the column \(column) in \(table.name)",
                    entity: table.root.name, key: nil)
            }
        }
        return nil
    }

    /// Compares only the columns, for a store without a cached model.
    ///
    /// - Returns: The first column that is missing, has another type, or is unknown to the model.
    private func tableDifference() -> Difference? {
        let schema = schema()
        if let difference = missing(in: schema) { return difference }
        for table in schema.tables {
            if let difference = typeDifference(in: table) { return difference }
            let present = contents.tables[table.name] ?? [:]
            let known = Set(table.columns.map(\.name) + ["Z_PK", "Z_ENT", "Z_OPT"])
            if let extra = present.keys.filter({ !known.contains($0) }).min(by: byteOrder) {
                return Difference(
                    text:
                        "the store has a column \(extra) in \(table.name), which \(table.root.name) does not have in the model",
                    entity: table.root.name, key: nil)
            }
        }
        return nil
    }

    /// Returns the first column with another declared type.
    func typeDifference(in table: TableSchema) -> Difference? {
        let present = contents.tables[table.name] ?? [:]
        for column in table.columns {
            guard let type = present[column.name], !type.isEmpty, type != column.declaredType else { continue }
            let property = column.property
            return Difference(
                text:
                    "\(property.entity.name).\(property.path) is stored as \(type), but its type in the model "
                    + "requires \(column.declaredType)",
                entity: property.entity.name, key: property.path)
        }
        return nil
    }
}
