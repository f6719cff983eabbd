import Corestone

extension ShownSubject {
    /// Prints a description, a table of the entities, and a table for each of them.
    func printTables(_ entities: [Entity], isWhole: Bool, to output: Output) throws {
        if isWhole {
            try output.line(bold: path)
            for line in headLines { try output.paragraph(line, indent: 2, orWidth: 100) }
            try output.line()
        }
        try print(overview(entities), to: output)
        for entity in entities {
            try output.line()
            try output.line(bold: DisplayWidth.cut(entity.name, to: output.width ?? .max))
            try output.paragraph(summary(of: entity), indent: 2, orWidth: 100)
            try print(properties(of: entity), to: output, indent: 2)
        }
    }

    private struct Rows {
        let columns: [Table.Column]
        let rows: [[String]]
    }

    private func print(_ rows: Rows, to output: Output, indent: Int = 0) throws {
        let table = Table(rows.columns, sample: rows.rows, width: output.width.map { max(1, $0 - indent) })
        let margin = String(repeating: " ", count: indent)
        if rows.columns.contains(where: { !$0.title.isEmpty }) { try output.line(margin + table.head) }
        for row in rows.rows { try output.line(margin + table.line(row)) }
    }

    // MARK: Overview

    private var headLines: [String] {
        var lines: [String] = []
        switch origin {
        case .store(let store, let metadata):
            let writer = metadata.frameworkVersion > 0 ? ", written by framework \(metadata.frameworkVersion)" : ""
            lines.append("store \(store.identifier)\(writer), read by \(words(for: store.modelSource))")
            if let reason = ShownSubject.obstacle(store) { lines.append("read-only: \(reason)") }
        case .model(let versions):
            lines.append(
                "model"
                    + (model.versionIdentifiers.isEmpty ? "" : " \(model.versionIdentifiers.joined(separator: ", "))"))
            if versions.count > 1 {
                lines.append(
                    "versions: "
                        + versions.map { $0.isCurrent ? "\($0.name) (current)" : $0.name }.joined(separator: ", "))
            }
        }
        let objects = counts.map { counts in
            ", " + plural(model.roots.reduce(0) { $0 + (counts[$1.name]?.all ?? 0) }, "object")
        }
        lines.append(plural(model.entities.count, "entity", "entities") + (objects ?? ""))
        for configuration in model.configurations {
            lines.append("configuration \(configuration.name): \(configuration.entityNames.joined(separator: ", "))")
        }
        if !model.fetchRequestTemplates.isEmpty {
            lines.append("fetch requests: \(model.fetchRequestTemplates.keys.sorted().joined(separator: ", "))")
        }
        return lines
    }

    private func overview(_ entities: [Entity]) -> Rows {
        let counted = counts != nil
        let columns =
            [Table.Column("ENTITY")] + (counted ? [Table.Column("OBJECTS", .right)] : [])
            + [.init("ATTRIBUTES", .right), .init("RELATIONSHIPS", .right), .init("INDEXES", .right)]
        let rows = entities.map { entity in
            let depth = sequence(first: entity, next: \.parent).reduce(-1) { count, _ in count + 1 }
            let numbers = [
                entity.attributes.count, entity.relationships.count,
                entity.indexes.count + entity.uniqueConstraints.count,
            ]
            return [String(repeating: "  ", count: depth) + entity.name]
                + (counted ? [count(of: entity).map { String($0.all) } ?? ""] : []) + numbers.map(String.init)
        }
        return Rows(columns: columns, rows: rows)
    }

    // MARK: One entity

    private func summary(of entity: Entity) -> String {
        var parts: [String] = []
        if entity.isAbstract { parts.append("abstract") }
        if let parent = entity.parent { parts.append("inherits from \(parent.name)") }
        if let count = count(of: entity) {
            let own = count.own == count.all || entity.isAbstract ? "" : " (\(count.own) of its own)"
            parts.append(plural(count.all, "object") + own)
        }
        return parts.joined(separator: "; ")
    }

    private func properties(of entity: Entity) -> Rows {
        var rows: [[String]] = []
        for attribute in entity.attributes {
            rows.append([attribute.path, attribute.type.sourceName, ShownSubject.notes(on: attribute, of: entity)])
        }
        for relationship in entity.relationships {
            rows.append([
                relationship.name, (relationship.isToMany ? "⇉ " : "→ ") + relationship.destinationName,
                ShownSubject.notes(on: relationship, of: entity),
            ])
        }
        for property in entity.fetchedProperties {
            rows.append([
                property.name, "fetches \(property.fetchRequest.entityName)",
                property.fetchRequest.predicate?.text ?? "all",
            ])
        }
        for index in entity.indexes {
            let elements = index.elements.map { element in
                (element.expression?.text ?? element.property) + (element.isAscending ? "" : " descending")
            }
            let predicate = index.partialPredicate.map { " where \($0.text)" } ?? ""
            rows.append([
                index.name, index.isRTree ? "R-tree index" : "index", elements.joined(separator: ", ") + predicate,
            ])
        }
        for constraint in entity.uniqueConstraints { rows.append(["", "unique", constraint.joined(separator: ", ")]) }
        return Rows(columns: [Table.Column(""), Table.Column(""), Table.Column("")], rows: rows)
    }

    static func notes(on attribute: Attribute, of entity: Entity) -> String {
        var notes: [String] = attribute.isOptional ? ["optional"] : []
        if attribute.isTransient { notes.append("transient") }
        if let text = attribute.defaultValue.plainText { notes.append("default \(text)") }
        if let derivation = attribute.derivation { notes.append("derived from \(derivation.expression.text)") }
        if attribute.allowsExternalStorage { notes.append("external storage") }
        return joined(notes, attribute, entity)
    }

    static func notes(on relationship: Relationship, of entity: Entity) -> String {
        var notes: [String] = relationship.isOptional ? ["optional"] : []
        if relationship.isToMany { notes.append(relationship.isOrdered ? "to-many, ordered" : "to-many") }
        if relationship.minimumCount > 0 { notes.append("at least \(relationship.minimumCount)") }
        if relationship.maximumCount > 1 { notes.append("at most \(relationship.maximumCount)") }
        if let inverse = relationship.inverse { notes.append("inverse \(inverse.name)") }
        switch relationship.deleteRule {
        case .nullify: break
        case .noAction: notes.append("deletion does nothing")
        case .cascade: notes.append("deletion cascades")
        case .deny: notes.append("deletion denied")
        }
        return joined(notes, relationship, entity)
    }

    private static func joined(_ notes: [String], _ property: Property, _ entity: Entity) -> String {
        (notes + (property.entity === entity ? [] : ["from \(property.entity.name)"])).joined(separator: ", ")
    }
}

/// Returns a number with its noun: "1 object", "2 objects".
func plural(_ count: Int, _ one: String, _ many: String? = nil) -> String {
    "\(count) \(count == 1 ? one : many ?? one + "s")"
}
