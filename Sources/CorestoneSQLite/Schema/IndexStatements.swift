import CorestoneModel
import CorestonePredicate
import CorestoneValues

// The statements that make the indexes of a table, as Core Data writes them (store-format.md 1.4).
extension TableSchema {
    /// Indexes of relationships, and of the entity when the table holds several.
    var propertyIndexStatements: [String] {
        var statements = columns.filter { $0.role == .toOne || $0.role == .owner }.map {
            "CREATE INDEX \(name)_\($0.name)_INDEX ON \(name) (\($0.name))"
        }
        if hasSubentities { statements.append("CREATE INDEX \(name)_Z_ENT_INDEX ON \(name) (Z_ENT)") }
        return statements
    }

    /// Fetch indexes and unique constraints of the model.
    var modelIndexStatements: [String] {
        entities.flatMap { entity in
            entity.indexes.filter { !$0.isRTree }.compactMap { statement(for: $0, of: entity) }
        } + entities.flatMap { entity in entity.ownUniqueConstraints.map { uniqueIndex($0, of: entity) } }
    }

    /// nil for an index that no store has: of relationships alone, which have theirs already, or of something for which
    /// there is no column.
    private func statement(for index: FetchIndex, of entity: Entity) -> String? {
        guard index.elements.contains(where: { !isRelationship($0, of: entity) }) else { return nil }
        var elements: [String] = []
        for element in index.elements {
            guard let column = column(of: element, of: entity) else {
                if element.expression != nil { return nil }
                continue
            }
            elements.append("\(column) COLLATE BINARY \(element.isAscending ? "ASC" : "DESC")")
        }
        var condition = ""
        if let predicate = index.partialPredicate {
            guard let text = IndexCondition(table: self, entity: entity).text(of: predicate) else { return nil }
            condition = " WHERE \(text)"
        }
        if elements.isEmpty { return nil }
        return
            "CREATE INDEX Z_\(entity.name)_\(index.name) ON \(name) (\(elements.joined(separator: ", ")))\(condition)"
    }

    private func isRelationship(_ element: FetchIndex.Element, of entity: Entity) -> Bool {
        element.expression == nil && entity.property(named: element.property) is Relationship
    }

    /// The object itself is its key, its entity the number of that.
    private func column(of element: FetchIndex.Element, of entity: Entity) -> String? {
        guard let text = element.expression else {
            return entity.property(named: element.property).flatMap { column(of: $0)?.name }
        }
        switch text.expression {
        case .selfObject?: return "Z_PK"
        case .keyPath(let path)?:
            guard let key = path.single?.text else { return nil }
            switch key {
            case "entity": return "Z_ENT"
            case "objectID", "self": return "Z_PK"
            default: return entity.property(named: key).flatMap { column(of: $0)?.name }
            }
        default: return nil
        }
    }

    private func uniqueIndex(_ constraint: [String], of entity: Entity) -> String {
        let columns = constraint.compactMap { entity.property(named: $0) }.compactMap { column(of: $0) }
        let elements = columns.map { "\($0.name) COLLATE BINARY ASC" }.joined(separator: ", ")
        let index = "Z_\(entity.name)_UNIQUE_\(constraint.joined(separator: "_"))"
        return "CREATE UNIQUE INDEX \(index) ON \(name) (\(elements))"
    }
}

extension Entity {
    /// The constraints that the parent does not have already: compiled models repeat those that they inherit.
    var ownUniqueConstraints: [[String]] {
        let inherited = Set((parent?.uniqueConstraints ?? []).map(Set.init))
        return uniqueConstraints.filter { !inherited.contains(Set($0)) }
    }
}

/// The condition of a partial index as SQL. Constants come from the model and are written as literals: an index has no
/// parameters.
struct IndexCondition {
    let table: TableSchema
    let entity: Entity

    /// nil for what a partial index cannot say.
    func text(of predicate: PredicateText) -> String? { predicate.predicate.flatMap { text(of: $0) } }

    private func text(of predicate: Predicate) -> String? {
        switch predicate {
        case .constant: return nil
        case .comparison(let comparison): return text(of: comparison)
        case .compound(let compound):
            let parts = compound.parts.compactMap { text(of: $0) }
            guard parts.count == compound.parts.count, !parts.isEmpty else { return nil }
            switch compound.type {
            case .not: return "NOT (\(parts[0]))"
            case .and: return "(\(parts.joined(separator: " AND ")))"
            case .or: return "(\(parts.joined(separator: " OR ")))"
            }
        }
    }

    private func text(of comparison: Comparison) -> String? {
        guard comparison.modifier == .direct, comparison.options.isEmpty, let left = column(comparison.left),
            case .constant(let value) = comparison.right
        else { return nil }
        if value.isNull {
            switch comparison.operator {
            case .equal: return "\(left) IS NULL"
            case .notEqual: return "\(left) IS NOT NULL"
            default: return nil
            }
        }
        guard let right = literal(value) else { return nil }
        switch comparison.operator {
        case .equal: return "\(left) = \(right)"
        case .notEqual: return "\(left) <> \(right)"
        case .less, .lessOrEqual, .greater, .greaterOrEqual: return "\(left) \(comparison.operator.symbol) \(right)"
        default: return nil
        }
    }

    private func column(_ expression: Expression) -> String? {
        guard case .keyPath(let path) = expression, let key = path.single?.text,
            let property = entity.property(named: key)
        else { return nil }
        return table.column(of: property)?.name
    }

    private func literal(_ value: PropertyValue) -> String? {
        switch value {
        case .bool(let flag): flag ? "1" : "0"
        case .int(let number): String(number)
        case .double(let number), .date(let number): number.isFinite ? "\(number)" : nil
        case .text(let text):
            "'" + text.string.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
        default: nil
        }
    }
}
