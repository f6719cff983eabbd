import CorestoneModel

/// The source of the values of a column in the new model.
enum ColumnSource {
    /// A column of the former table with exactly the values of the new column.
    case column(String)
    /// Expressions over the former row, for rows of entities with the given former numbers. Other rows have null.
    case expressions([(numbers: [Int64], text: String)])
    /// Pairs of a relationship that the former model stores in another form.
    case links
    /// No source: the column is new.
    case new
}

/// A search for the sources of the columns of one table.
struct ColumnSources {
    let mapping: ModelMapping
    let former: StoreSchema
    let wanted: StoreSchema
    let formerTable: TableSchema
    let table: TableSchema

    /// Returns the sources in the order of the columns of the new table.
    func all() -> [ColumnSource] { table.columns.map(source) }

    func source(of column: ColumnSchema) -> ColumnSource {
        switch column.role {
        case .attribute: return attribute(column)
        case .toOne: return reference(column) { formerTable.column(of: $0)?.name }
        case .targetEntity: return targetEntity(column)
        case .order: return order(column)
        case .owner: return owner(column) { formerTable.ownerColumn(of: $0)?.name }
        }
    }

    /// Returns the former entity and the property's source for each entity of the table that has a property.
    ///
    /// Entities that did not exist in the former model are left out. The source is nil if the property is new.
    private func sources(of property: Property) -> [(entity: Entity, former: Entity, source: Property?)] {
        table.entities.compactMap { entity in
            guard let former = mapping.source(of: entity), entity.property(named: property.path) === property else {
                return nil
            }
            return (entity, former, mapping.pair(to: entity).pair(to: property)?.source)
        }
    }

    /// Combines the parts into one source.
    ///
    /// - Returns: `.column` if one former column has the values of exactly these rows, `.new` without parts, and
    ///   `.expressions` otherwise.
    private func combined(_ parts: [(former: Entity, property: Property, column: String, text: String)]) -> ColumnSource
    {
        guard let first = parts.first else { return .new }
        let isPlain = parts.allSatisfy { $0.column == first.column && $0.text == first.column }
        if isPlain, holders(of: first.property) == Set(parts.map { former.number(of: $0.former) }) {
            return .column(first.column)
        }
        var order: [String] = []
        var numbers: [String: [Int64]] = [:]
        for part in parts {
            if numbers[part.text] == nil { order.append(part.text) }
            numbers[part.text, default: []].append(former.number(of: part.former))
        }
        return .expressions(order.map { (numbers[$0] ?? [], $0) })
    }

    /// Returns the former numbers of the entities that had a property and still exist in this table.
    private func holders(of property: Property) -> Set<Int64> {
        Set(
            property.entity.withDescendants.filter { mapping.destination(of: $0)?.root === table.root }
                .map { former.number(of: $0) })
    }

    private func attribute(_ column: ColumnSchema) -> ColumnSource {
        combined(
            sources(of: column.property).compactMap { entity, former, source in
                guard let source = source as? Attribute, let name = formerTable.column(of: source)?.name,
                    let attribute = column.property as? Attribute
                else { return nil }
                return (former, source, name, ValueConversion(from: source, to: attribute).expression(name))
            })
    }

    private func reference(_ column: ColumnSchema, _ name: (Relationship) -> String?) -> ColumnSource {
        let parts = sources(of: column.property).compactMap {
            entity, former, source -> (former: Entity, property: Property, column: String, text: String)? in
            guard let source = source as? Relationship, !source.isToMany, let name = name(source) else { return nil }
            return (former, source, name, name)
        }
        return parts.isEmpty ? links(column) : combined(parts)
    }

    /// Returns the source of the entity numbers of the targets.
    ///
    /// The source is the former column of entity numbers. If the former destination had only one possible entity, the
    /// source is an expression with the number of that entity.
    private func targetEntity(_ column: ColumnSchema) -> ColumnSource {
        let parts = sources(of: column.property).compactMap {
            entity, former, source -> (former: Entity, property: Property, column: String, text: String)? in
            guard let source = source as? Relationship, !source.isToMany, let key = formerTable.column(of: source)?.name
            else { return nil }
            if let name = formerTable.targetEntityColumn(of: source)?.name { return (former, source, name, name) }
            guard let target = mapping.destination(of: source.destination) else { return nil }
            let number = wanted.number(of: target)
            return (former, source, key, "CASE WHEN \(key) IS NULL THEN NULL ELSE \(number) END")
        }
        return parts.isEmpty ? links(column) : combined(parts)
    }

    /// Returns the source of the order keys of a to-one relationship or of a to-many relationship without an inverse.
    private func order(_ column: ColumnSchema) -> ColumnSource {
        guard let relationship = column.property as? Relationship else { return .new }
        if relationship.isToMany { return owner(column) { formerTable.orderColumn(of: $0)?.name } }
        let parts = sources(of: relationship).compactMap {
            entity, former, source -> (former: Entity, property: Property, column: String, text: String)? in
            guard let source = source as? Relationship, !source.isToMany,
                let name = formerTable.orderColumn(of: source)?.name
            else { return nil }
            return (former, source, name, name)
        }
        if !parts.isEmpty { return combined(parts) }
        if case .links = self.reference(table.column(of: relationship) ?? column, { formerTable.column(of: $0)?.name })
        {
            return .links
        }
        return .new
    }

    /// Returns the source of a column in the members' table for a to-many relationship without an inverse.
    private func owner(_ column: ColumnSchema, _ name: (Relationship) -> String?) -> ColumnSource {
        guard let relationship = column.property as? Relationship else { return .new }
        let sources = LinkOrigin.sources(of: relationship, mapping)
        guard sources.count == 1, let source = sources.first, source.isToMany, source.inverse == nil,
            former.table(of: source.destination) === formerTable
        else { return links(column) }
        return name(source).map { .column($0) } ?? .new
    }

    private func links(_ column: ColumnSchema) -> ColumnSource {
        guard let relationship = column.property as? Relationship,
            LinkOrigin(of: relationship, mapping: mapping, former: former) != nil
        else { return .new }
        return .links
    }
}
