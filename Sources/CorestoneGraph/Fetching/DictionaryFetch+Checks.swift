import CorestoneModel
import CorestonePredicate
import CorestoneValues

// Checks of the columns, groups and sort descriptors.
extension DictionaryFetch {
    func check() throws {
        var names: Set<String> = []
        for column in columns {
            guard names.insert(column.name).inserted else {
                throw invalid(
                    "two columns have the name \"\(column.name)\"; rename one of them or leave it out", column.name)
            }
            switch column {
            case .property(let keyPath): try checkStored(keyPath)
            case .expression(let description):
                for path in description.expression.keyPaths { _ = try request.entity.properties(along: path) }
            }
            if isGrouped { try checkGrouped(column) }
        }
        for name in request.propertiesToGroupBy where !names.contains(name) {
            try checkStored(name, groups: true)
        }
        names.formUnion(request.propertiesToGroupBy)
        if let having { try check(having, names) }
        for descriptor in request.sortDescriptors where isGrouped && !names.contains(descriptor.keyPath) {
            throw invalid(
                "groups cannot be sorted by \"\(descriptor.keyPath)\", which is not one of their columns; sort by a column or by "
                    + "a property to group by", descriptor.keyPath)
        }
    }

    /// Throws if a column of groups has a part that is neither grouped nor aggregated.
    private func checkGrouped(_ column: FetchedColumn) throws {
        let grouped = request.propertiesToGroupBy
        if grouped.contains(column.name) { return }
        let others = column.computed.mapped {
            $0.aggregatedArgument(of: request.entity) == nil ? nil : .constant(.null)
        }
        guard let stray = others.keyPaths.first(where: { !grouped.contains($0.text) }) else { return }
        throw invalid(
            "\"\(column.name)\" has one value per row, not per group; group by it, or aggregate it, as in "
                + "max:(\(stray.text))", column.name)
    }

    /// Throws if a having predicate uses a value that is not a column, not a property to group by and not aggregated.
    private func check(_ having: Predicate, _ names: Set<String>) throws {
        guard !request.propertiesToGroupBy.isEmpty else {
            throw invalid(
                "a having predicate needs properties to group by; set them with cst_fetch_request_set_group_by "
                    + "(group_by, propertiesToGroupBy)", "having")
        }
        var arguments: [Expression] = []
        let others = having.mapExpressions { expression in
            if case .keyPath(let path) = expression, names.contains(path.text) { return .constant(.null) }
            guard let aggregated = expression.aggregatedArgument(of: request.entity) else { return nil }
            arguments.append(aggregated.argument)
            return .constant(.null)
        }
        if let variable = others.freeVariables.first {
            let near =
                nearestName(to: variable, among: names.sorted()).map { "; did you mean $\($0)?" }
                ?? "; add a column of that name"
            throw invalid(
                "the having predicate uses $\(variable), which is neither a column nor a property to group by\(near)",
                variable)
        }
        for path in arguments.flatMap(\.keyPaths) { _ = try request.entity.properties(along: path) }
        guard let stray = others.keyPaths.first else { return }
        let near = nearestName(to: stray.text, among: names.sorted()).map { "did you mean \"\($0)\"?" }
        throw invalid(
            "the having predicate uses \"\(stray.text)\", which is neither a column nor a property to group by; "
                + (near ?? "aggregate it, as in max:(\(stray.text))"), stray.text)
    }

    /// Checks that a key path contains only stored properties, and no to-many relationships.
    ///
    /// - Parameter groups: Whether the key path is a property to group by, not a column.
    private func checkStored(_ keyPath: String, groups: Bool = false) throws {
        let purpose = groups ? "cannot be used for grouping" : "cannot be a column"
        for property in try request.entity.properties(along: KeyPath(keyPath)) {
            if let relationship = property as? Relationship, relationship.isToMany {
                throw invalid(
                    "\(relationship.entity.name).\(relationship.name) is a to-many relationship and \(purpose); "
                        + (groups ? "leave it out" : "count or sum its members in an expression"), keyPath)
            }
            if property.isTransient || property is FetchedProperty {
                throw invalid(
                    "\(property.entity.name).\(property.name) is not stored and \(purpose); leave it out",
                    keyPath)
            }
        }
    }

    private func invalid(_ problem: String, _ key: String) -> CoreError {
        CoreError(
            .invalidArgument, "cannot fetch dictionaries of \(request.entity.name): \(problem)",
            entity: request.entity.name,
            key: key)
    }
}

extension Entity {
    /// Returns the properties along a key path, including elements of composite attributes.
    ///
    /// Properties after a collection operator are those of the members. The list ends before a key that is not a
    /// property, such as `length` of a string.
    func properties(along path: KeyPath) throws -> [Property] {
        var (entity, attribute, found) = (self as Entity?, Attribute?.none, [Property]())
        for key in path.keys where !key.isOperator && !key.isSelf {
            if let composite = attribute {
                guard let element = composite.elements.first(where: { $0.name == key.text }) else { break }
                found.append(element)
                attribute = element
                continue
            }
            guard let current = entity else { break }
            // Keys that every object has, as in `entity.name`.
            if ["entity", "objectID"].contains(key.text), current.property(named: key.text) == nil { break }
            let property = try current.requireProperty(named: key.text)
            found.append(property)
            (entity, attribute) = ((property as? Relationship)?.destination, property as? Attribute)
        }
        return found
    }
}

extension KeyName {
    /// Whether the key returns its own object.
    var isSelf: Bool { text == "self" || text == "SELF" }
}
