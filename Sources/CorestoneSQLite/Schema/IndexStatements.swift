import CorestoneModel
import CorestonePredicate
import CorestoneSQL
import CorestoneValues

/// An index as Core Data creates it.
struct StoreIndex {
    let name: String
    let table: String
    let columns: [String]
    /// The text after each column in the statement, such as its order.
    let suffixes: [String]
    /// The condition of a partial index; nil for other indexes.
    let condition: String?
    let isUnique: Bool
    /// The entity of the index; `keys` are the indexed properties.
    let entity: Entity
    let keys: [String]

    init(
        _ name: String, on table: String, _ columns: [String], suffixes: [String]? = nil, condition: String? = nil,
        isUnique: Bool = false, of entity: Entity, _ keys: [String]
    ) {
        (self.name, self.table, self.columns, self.condition) = (name, table, columns, condition)
        (self.isUnique, self.entity, self.keys) = (isUnique, entity, keys)
        self.suffixes = suffixes ?? columns.map { _ in "" }
    }

    var creationStatement: String {
        let elements = zip(columns, suffixes).map { $0 + $1 }.joined(separator: ", ")
        return "CREATE \(isUnique ? "UNIQUE " : "")INDEX \(SQLiteDialect().quoted(name)) ON \(table) (\(elements))"
            + (condition.map { " WHERE \($0)" } ?? "")
    }
}

extension TableSchema {
    /// The indexes of relationships, and of the entity number if the table holds several entities.
    var propertyIndexes: [StoreIndex] {
        let references = columns.filter { $0.role == .toOne || $0.role == .owner }.map { column in
            StoreIndex(
                "\(name)_\(column.name)_INDEX", on: name, [column.name], of: column.property.entity,
                [column.property.name])
        }
        return references
            + (hasSubentities ? [StoreIndex("\(name)_Z_ENT_INDEX", on: name, ["Z_ENT"], of: root, [])] : [])
    }

    /// The indexes of the model's fetch indexes and unique constraints.
    var modelIndexes: [StoreIndex] {
        // A model from a file may have two indexes with the same name; SQLite compares names case-insensitively.
        var names: Set<String> = []
        let indexes = entities.flatMap { entity in
            entity.indexes.filter { !$0.isRTree }.compactMap { self.index($0, of: entity) }
        }
        return indexes.filter { names.insert($0.name.lowercased()).inserted }
            + entities.flatMap { entity in entity.ownUniqueConstraints.map { uniqueIndex($0, of: entity) } }
    }

    /// Returns the index of a fetch index, or nil for an index that stores do not have.
    ///
    /// Stores do not have an index over relationships only, which are already indexed, nor an index with an expression
    /// or a condition that SQLite cannot index. A property without a column is left out of the index.
    private func index(_ index: FetchIndex, of entity: Entity) -> StoreIndex? {
        guard index.elements.contains(where: { !isRelationship($0, of: entity) }) else { return nil }
        var elements: [(column: String, suffix: String)] = []
        for element in index.elements {
            guard let column = column(of: element, of: entity) else {
                if element.expression != nil { return nil }
                continue
            }
            elements.append((column, " COLLATE BINARY \(element.isAscending ? "ASC" : "DESC")"))
        }
        var condition: String?
        if let predicate = index.partialPredicate {
            guard let text = IndexCondition(table: self, entity: entity).text(of: predicate) else { return nil }
            condition = text
        }
        if elements.isEmpty { return nil }
        return StoreIndex(
            "Z_\(entity.name)_\(index.name)", on: name, elements.map(\.column), suffixes: elements.map(\.suffix),
            condition: condition, of: entity, index.elements.filter { $0.expression == nil }.map(\.property))
    }

    private func isRelationship(_ element: FetchIndex.Element, of entity: Entity) -> Bool {
        element.expression == nil && entity.property(named: element.property) is Relationship
    }

    /// Returns the column of an element: that of a property, or of an expression that SQLite can index.
    private func column(of element: FetchIndex.Element, of entity: Entity) -> String? {
        guard let text = element.expression else {
            return entity.property(named: element.property).flatMap { column(of: $0)?.name }
        }
        return text.expression.flatMap { column(of: $0, of: entity) }
    }

    /// Returns a column, or arithmetic over columns, that SQLite can index.
    ///
    /// `SELF` is the primary key, and `entity` the entity number. Registered functions are not used, because other
    /// programs open the file.
    private func column(of expression: Expression, of entity: Entity) -> String? {
        switch expression {
        case .selfObject: return "Z_PK"
        case .keyPath(let path):
            guard let key = path.single?.text else { return nil }
            switch key {
            case "entity": return "Z_ENT"
            case "objectID", "self": return "Z_PK"
            default: return entity.property(named: key).flatMap { column(of: $0)?.name }
            }
        case .constant(.int(let number)): return String(number)
        case .function(.abs, let arguments):
            return arguments.first.flatMap { column(of: $0, of: entity) }.map { "abs(\($0))" }
        case .function(let function, let arguments):
            guard [.add, .subtract, .multiply].contains(function), arguments.count == 2,
                let symbol = function.infix?.symbol, let left = column(of: arguments[0], of: entity),
                let right = column(of: arguments[1], of: entity)
            else { return nil }
            return "(\(left) \(symbol) \(right))"
        default: return nil
        }
    }

    private func uniqueIndex(_ constraint: [String], of entity: Entity) -> StoreIndex {
        let columns = constraint.compactMap { entity.property(named: $0) }.compactMap { column(of: $0)?.name }
        let parts = String(constraint.joined(separator: "_").map { $0 == "." ? "_" : $0 })
        return StoreIndex(
            "Z_\(entity.name)_UNIQUE_\(parts)", on: name, columns,
            suffixes: columns.map { _ in " COLLATE BINARY ASC" }, isUnique: true, of: entity, constraint)
    }
}

extension Entity {
    /// The constraints that are not inherited: compiled models repeat inherited constraints.
    var ownUniqueConstraints: [[String]] {
        let inherited = Set((parent?.uniqueConstraints ?? []).map(Set.init))
        return uniqueConstraints.filter { !inherited.contains(Set($0)) }
    }
}

/// The condition of a partial index as SQL.
///
/// Constants of the model are written as literals, because an index cannot have parameters.
struct IndexCondition {
    let table: TableSchema
    let entity: Entity

    /// Returns the condition, or nil for a predicate that a partial index cannot express.
    func text(of predicate: PredicateText) -> String? { predicate.predicate.flatMap { text(of: $0) } }

    private func text(of predicate: Predicate) -> String? {
        switch predicate {
        case .constant, .block: return nil
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
