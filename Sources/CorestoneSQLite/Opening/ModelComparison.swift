import CorestoneModel
import CorestoneValues

/// Whether a file was written with the model that is to be used with it.
struct ModelComparison {
    let model: Model
    /// The store's entity numbers, by name.
    let numbers: [String: Int64]
    let document: StoreDocument
    let connection: Connection
    let place: StorePlace
    /// The tables that the file has.
    let tables: [String: Void]

    /// The places of the model's entities in the file; throws what differs.
    func schema() throws -> StoreSchema {
        if let stored = document.hashes {
            let wanted = StoreDocument.versionHashes(of: model)
            let changed = wanted.keys.filter { stored[$0] != nil && stored[$0] != wanted[$0] }.sorted(by: byteOrder)
            let added = wanted.keys.filter { stored[$0] == nil }.sorted(by: byteOrder)
            let removed = stored.keys.filter { wanted[$0] == nil }.sorted(by: byteOrder)
            guard changed.isEmpty && added.isEmpty && removed.isEmpty else {
                throw try mismatch(changed: changed, added: added, removed: removed)
            }
        }
        var list: [Int64] = []
        for entity in model.entities {
            guard let number = numbers[entity.name] else {
                throw try mismatch(changed: [], added: [entity.name], removed: [])
            }
            list.append(number)
        }
        let schema = StoreSchema(model: model, numbers: list, existingTables: Set(tables.keys))
        if let difference = try firstDifference(schema, onlyMissing: true) {
            throw error([difference.text], entity: difference.entity, key: difference.key)
        }
        return schema
    }

    private func mismatch(changed: [String], added: [String], removed: [String]) throws -> CoreError {
        var parts: [String] = []
        func list(_ names: [String]) -> String {
            let shown = names.prefix(5).joined(separator: ", ")
            return names.count > 5 ? "\(shown) and \(names.count - 5) more" : shown
        }
        if !changed.isEmpty {
            parts.append("\(list(changed)) differ\(changed.count == 1 ? "s" : "") from what the store was written with")
        }
        if !added.isEmpty { parts.append("the store does not know \(list(added))") }
        if !removed.isEmpty { parts.append("the model lacks \(list(removed))") }
        var difference = try propertyDifference(changed)
        if difference == nil, model.entities.allSatisfy({ numbers[$0.name] != nil }) {
            let schema = StoreSchema(
                model: model, numbers: model.entities.map { numbers[$0.name] ?? 0 }, existingTables: Set(tables.keys))
            difference = try firstDifference(schema, onlyMissing: false)
        }
        if let difference { parts.append(difference.text) }
        return error(parts, entity: difference?.entity ?? (changed + added + removed).first, key: difference?.key)
    }

    /// The first property in which a changed entity differs from the model that the store carries.
    private func propertyDifference(_ changed: [String]) throws -> Difference? {
        guard !changed.isEmpty, tables["Z_MODELCACHE"] != nil else { return nil }
        let purpose = "read the model of \(place.given)"
        let statement = try connection.prepare("SELECT Z_CONTENT FROM Z_MODELCACHE LIMIT 1", purpose)
        guard try statement.step(purpose), let cached = try? Model(modelCache: statement.blob(0) ?? []) else {
            return nil
        }
        let differences = cached.differences(from: model)
        // Parents first: what they changed, their children changed with them.
        for entity in model.preorder where changed.contains(entity.name) {
            if let first = differences.first(where: { $0.entity == entity.name }) {
                return Difference(text: first.text, entity: entity.name, key: first.key)
            }
        }
        return nil
    }

    private func error(_ parts: [String], entity: String?, key: String?) -> CoreError {
        CoreError(
            .modelMismatch, code: .persistentStoreIncompatibleVersionHash,
            "the model does not match \(place.given): \(parts.joined(separator: "; ")); "
                + "open the store with the model it was written with, or migrate it",
            entity: entity, key: key, file: place.given)
    }

    private struct Difference {
        let text: String
        let entity: String
        let key: String?
    }

    /// The first column that only one of the two has.
    private func firstDifference(_ schema: StoreSchema, onlyMissing: Bool) throws -> Difference? {
        for table in schema.tables {
            guard tables[table.name] != nil else {
                return Difference(
                    text: "the store has no table \(table.name) for \(table.root.name)", entity: table.root.name,
                    key: nil)
            }
            let present = try columns(of: table.name)
            for column in table.columns {
                let property = column.property
                let owner = "\(property.entity.name).\(property.name)"
                guard let type = present[column.name] else {
                    return Difference(
                        text: "the store has no column \(column.name) for \(owner)", entity: property.entity.name,
                        key: property.name)
                }
                if !onlyMissing, !type.isEmpty, type != column.declaredType {
                    return Difference(
                        text: "\(owner) is stored as \(type), but the model's type is stored as \(column.declaredType)",
                        entity: property.entity.name, key: property.name)
                }
            }
            if onlyMissing { continue }
            let known = Set(table.columns.map(\.name) + ["Z_PK", "Z_ENT", "Z_OPT"])
            if let extra = present.keys.filter({ !known.contains($0) }).min(by: byteOrder) {
                return Difference(
                    text:
                        "the store has a column \(extra) in \(table.name), which the model's \(table.root.name) lacks",
                    entity: table.root.name, key: nil)
            }
        }
        for join in schema.joins {
            let relationship = join.naming
            let present = tables[join.name] == nil ? [:] : try columns(of: join.name)
            let names = [join.namingColumn, join.otherColumn].flatMap { [$0.name] + ($0.orderName.map { [$0] } ?? []) }
            guard let missing = names.first(where: { present[$0] == nil }) else { continue }
            let what = tables[join.name] == nil ? "table \(join.name)" : "column \(missing) in \(join.name)"
            return Difference(
                text: "the store has no \(what) for \(relationship.entity.name).\(relationship.name)",
                entity: relationship.entity.name, key: relationship.name)
        }
        return nil
    }

    /// Declared types by column name.
    private func columns(of table: String) throws -> [String: String] {
        let purpose = "read the columns of \(table) in \(place.given)"
        let statement = try connection.prepare("PRAGMA table_info(\(table))", purpose)
        var types: [String: String] = [:]
        while try statement.step(purpose) {
            if let name = statement.text(1) { types[name] = statement.text(2) ?? "" }
        }
        return types
    }
}
