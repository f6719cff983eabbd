import CorestoneModel
import CorestonePredicate
import CorestoneValues

// What cannot be.
extension DictionaryFetch {
    func check() throws {
        var names: Set<String> = []
        for column in columns {
            guard names.insert(column.name).inserted else {
                throw invalid("two columns are called \(column.name); give one of them another name", column.name)
            }
            switch column {
            case .property(let keyPath): try checkStored(keyPath)
            case .expression(let description):
                for path in description.expression.keyPaths { _ = try request.entity.properties(along: path) }
            }
            if isGrouped { try checkGrouped(column) }
        }
        for name in request.propertiesToGroupBy where !names.contains(name) { try checkStored(name) }
        names.formUnion(request.propertiesToGroupBy)
        if let having { try check(having, names) }
        for descriptor in request.sortDescriptors where isGrouped && !names.contains(descriptor.keyPath) {
            throw invalid(
                "groups cannot be sorted by \(descriptor.keyPath), which is no column of theirs; sort by a column, or by what "
                    + "is grouped by", descriptor.keyPath)
        }
    }

    /// What a column of groups has beside what is computed over them must be the same for all rows of one.
    private func checkGrouped(_ column: FetchedColumn) throws {
        let grouped = request.propertiesToGroupBy
        if grouped.contains(column.name) { return }
        let others = column.computed.mapped {
            $0.aggregatedArgument(of: request.entity) == nil ? nil : .constant(.null)
        }
        guard let stray = others.keyPaths.first(where: { !grouped.contains($0.text) }) else { return }
        throw invalid(
            "\(column.name) has a value for each row, not for a group; group by it, or compute it over the group, as "
                + "max:(\(stray.text)) does", column.name)
    }

    /// What a having predicate asks of a group must be a column of it, or computed over its rows.
    private func check(_ having: Predicate, _ names: Set<String>) throws {
        guard !request.propertiesToGroupBy.isEmpty else {
            throw invalid("a having predicate needs properties to group by", nil)
        }
        var arguments: [Expression] = []
        let others = having.mapExpressions { expression in
            if case .keyPath(let path) = expression, names.contains(path.text) { return .constant(.null) }
            guard let aggregated = expression.aggregatedArgument(of: request.entity) else { return nil }
            arguments.append(aggregated.argument)
            return .constant(.null)
        }
        if let variable = others.freeVariables.first {
            let near = nearestName(to: variable, among: names.sorted()).map { "; did you mean $\($0)?" } ?? ""
            throw invalid(
                "the having predicate names $\(variable), which is neither a column nor grouped by\(near)", variable)
        }
        for path in arguments.flatMap(\.keyPaths) { _ = try request.entity.properties(along: path) }
        guard let stray = others.keyPaths.first else { return }
        let near = nearestName(to: stray.text, among: names.sorted()).map { "; did you mean \($0)?" } ?? ""
        throw invalid(
            "the having predicate names \(stray.text), which is no column, is not grouped by, and is not computed over the "
                + "group, as max:(\(stray.text)) would be\(near)", stray.text)
    }

    private func checkStored(_ keyPath: String) throws {
        for property in try request.entity.properties(along: KeyPath(keyPath)) {
            if let relationship = property as? Relationship, relationship.isToMany {
                throw invalid(
                    "\(relationship.entity.name).\(relationship.name) is a to-many relationship, of which a column has no value; "
                        + "count or sum its members in an expression", keyPath)
            }
            if property.isTransient || property is FetchedProperty {
                throw invalid(
                    "\(property.entity.name).\(property.name) is not stored, so no column can have it", keyPath)
            }
        }
    }

    private func invalid(_ what: String, _ key: String?) -> CoreError {
        CoreError(
            .invalidArgument, "cannot fetch dictionaries of \(request.entity.name): \(what)",
            entity: request.entity.name,
            key: key)
    }
}

extension Entity {
    /// The properties that a key path names; those behind a collection operator are its members'.
    func properties(along path: KeyPath) throws -> [Property] {
        var (entity, found) = (self as Entity?, [Property]())
        for key in path.keys where !key.isOperator && key.text != "self" && key.text != "SELF" {
            guard let current = entity else { break }
            // What every object has: `entity.name`.
            if ["entity", "objectID"].contains(key.text), current.property(named: key.text) == nil { break }
            let property = try current.requireProperty(named: key.text)
            found.append(property)
            entity = (property as? Relationship)?.destination
        }
        return found
    }
}
