import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension Context {
    /// The values of columns instead of objects: attributes, what expressions compute, and sums, counts and the like over all
    /// rows or over groups of them.
    ///
    /// It reads what is saved: unsaved changes do not count, whatever the request says.
    /// - Throws: `Status.invalidArgument` for columns that cannot be: a to-many relationship, a transient attribute, one that
    ///   is neither grouped nor computed over the group; and what a fetch throws.
    public func fetchDictionaries(_ request: FetchRequest) throws -> FetchedRows {
        try request.resolve(in: coordinator.model)
        return try DictionaryFetch(request).run(in: self)
    }
}

/// One fetch of dictionaries. Rows are chosen by the store, columns computed here.
private struct DictionaryFetch {
    private let request: FetchRequest
    private let columns: [FetchedColumn]
    private let isGrouped: Bool

    init(_ request: FetchRequest) throws {
        self.request = request
        columns =
            request.propertiesToFetch.isEmpty
            ? DictionaryFetch.attributes(of: request.entity) : request.propertiesToFetch
        isGrouped =
            !request.propertiesToGroupBy.isEmpty || columns.contains { $0.aggregates(request.entity) }
        try check()
    }

    private static func attributes(of entity: Entity) -> [FetchedColumn] {
        entity.allProperties.filter { $0 is Attribute && !$0.isTransient }.map { .property($0.name) }
    }

    func run(in context: Context) throws -> FetchedRows {
        let isWindowedHere = isGrouped || request.returnsDistinctResults
        let objects = try context.fetch(savedObjects(isWindowed: !isWindowedHere)).map { SavedState.of($0) }
        var rows =
            isGrouped
            ? try groupedRows(objects) : try objects.map { object in try columns.map { try $0.value(of: object) } }
        if request.returnsDistinctResults {
            var seen: Set<[PropertyValue]> = []
            rows = rows.filter { seen.insert($0).inserted }
        }
        if isWindowedHere {
            rows = Array(rows.dropFirst(request.offset))
            if request.limit > 0 { rows = Array(rows.prefix(request.limit)) }
        }
        return FetchedRows(columns: columns.map(\.name), rows: rows)
    }

    private func savedObjects(isWindowed: Bool) -> FetchRequest {
        let objects = FetchRequest(entity: request.entity, predicate: request.predicate)
        objects.affectedStores = request.affectedStores
        objects.includesSubentities = request.includesSubentities
        objects.includesPendingChanges = false
        objects.nulls = request.nulls
        objects.allowsSplit = request.allowsSplit
        objects.relationshipKeyPathsForPrefetching = request.relationshipKeyPathsForPrefetching
        if !isGrouped { objects.sortDescriptors = request.sortDescriptors }
        if isWindowed { (objects.limit, objects.offset) = (request.limit, request.offset) }
        return objects
    }
}

// MARK: - Groups

extension DictionaryFetch {
    private func groupedRows(_ objects: [PropertyValue]) throws -> [[PropertyValue]] {
        let keys = request.propertiesToGroupBy.map { name in columns.first { $0.name == name } ?? .property(name) }
        var places: [[PropertyValue]: Int] = [:]
        // Over no rows at all there is still one sum.
        var groups: [(key: [PropertyValue], rows: [PropertyValue])] = keys.isEmpty ? [([], objects)] : []
        for object in objects where !keys.isEmpty {
            let key = try keys.map { try $0.value(of: object) }
            if let place = places[key] {
                groups[place].rows.append(object)
            } else {
                places[key] = groups.count
                groups.append((key, [object]))
            }
        }
        var found: [(row: [PropertyValue], names: [String: PropertyValue])] = []
        for group in groups {
            let row = try columns.map { try $0.value(ofGroup: group.rows, in: request.entity) }
            var names = Dictionary(zip(keys.map(\.name), group.key)) { first, _ in first }
            for (column, value) in zip(columns, row) { names[column.name] = value }
            if let having = request.havingPredicate, try !holds(having, names, group.rows) { continue }
            found.append((row, names))
        }
        return try sorted(found).map(\.row)
    }

    private func holds(_ having: Predicate, _ names: [String: PropertyValue], _ rows: [PropertyValue]) throws -> Bool {
        var failure: (any Error)?
        let computed = having.mapExpressions { expression in
            if case .keyPath(let path) = expression, let value = names[path.text] { return .constant(value) }
            do { return try expression.aggregated(over: rows, of: request.entity) } catch {
                failure = failure ?? error
                return nil
            }
        }
        if let failure { throw failure }
        return try computed.evaluate(with: .dictionary([:]), arithmetic: .nilPropagating)
    }

    private func sorted(
        _ rows: [(row: [PropertyValue], names: [String: PropertyValue])]
    ) throws -> [(row: [PropertyValue], names: [String: PropertyValue])] {
        let keyed = try rows.enumerated().map { place, row in
            let keys = try request.sortDescriptors.map { descriptor in
                guard let value = row.names[descriptor.keyPath] else {
                    throw invalid(
                        "groups cannot be sorted by \(descriptor.keyPath), which is no column of theirs; sort by a column, or by "
                            + "what is grouped by", descriptor.keyPath)
                }
                return value
            }
            return (place: place, row: row, keys: keys)
        }
        return try keyed.sorted { a, b in
            let order = try request.sortDescriptors.order(a.keys, b.keys)
            if order != 0 { return order < 0 }
            return a.place < b.place
        }.map(\.row)
    }
}

// MARK: - What cannot be

extension DictionaryFetch {
    private func check() throws {
        var names: Set<String> = []
        for column in columns {
            guard names.insert(column.name).inserted else {
                throw invalid("two columns are called \(column.name); give one of them another name", column.name)
            }
            switch column {
            case .property(let keyPath): try checkStored(keyPath)
            case .expression(let description): try checkKeys(of: description)
            }
            let isConstant =
                if case .expression(let description) = column { description.expression.keyPaths.isEmpty } else { false }
            guard !isGrouped || isConstant || column.aggregates(request.entity) || isGroupedBy(column) else {
                throw invalid(
                    "\(column.name) has a value for each row, not for a group; group by it, or compute it over the group, as "
                        + "max:(\(column.name)) does", column.name)
            }
        }
        for name in request.propertiesToGroupBy where !names.contains(name) { try checkStored(name) }
        if let having = request.havingPredicate { try check(having, names.union(request.propertiesToGroupBy)) }
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
        for path in arguments.flatMap(\.keyPaths) { _ = try properties(along: path) }
        guard let stray = others.keyPaths.first else { return }
        let near = nearestName(to: stray.text, among: names.sorted()).map { "; did you mean \($0)?" } ?? ""
        throw invalid(
            "the having predicate names \(stray.text), which is no column, is not grouped by, and is not computed over the "
                + "group, as max:(\(stray.text)) would be\(near)", stray.text)
    }

    private func isGroupedBy(_ column: FetchedColumn) -> Bool {
        if request.propertiesToGroupBy.contains(column.name) { return true }
        guard case .expression(let description) = column else { return false }
        return description.expression.keyPaths.allSatisfy { request.propertiesToGroupBy.contains($0.text) }
    }

    private func checkStored(_ keyPath: String) throws {
        for property in try properties(along: KeyPath(keyPath)) {
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

    private func checkKeys(of description: ExpressionDescription) throws {
        for path in description.expression.keyPaths { _ = try properties(along: path) }
    }

    /// The properties that a key path names; those behind a collection operator are its members'.
    private func properties(along path: KeyPath) throws -> [Property] {
        var (entity, found) = (request.entity as Entity?, [Property]())
        for key in path.keys where !key.isOperator && key.text != "self" && key.text != "SELF" {
            guard let current = entity else { break }
            let property = try current.requireProperty(named: key.text)
            found.append(property)
            entity = (property as? Relationship)?.destination
        }
        return found
    }

    private func invalid(_ what: String, _ key: String?) -> CoreError {
        CoreError(
            .invalidArgument, "cannot fetch dictionaries of \(request.entity.name): \(what)",
            entity: request.entity.name,
            key: key)
    }
}
