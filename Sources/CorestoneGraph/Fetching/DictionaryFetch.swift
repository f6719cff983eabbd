import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// The evaluation of a fetch of dictionaries in memory.
///
/// It computes the columns from objects, or from rows that a store returned.
struct DictionaryFetch {
    let request: FetchRequest
    private(set) var columns: [FetchedColumn]
    /// The columns to group by.
    private(set) var keys: [FetchedColumn]
    /// The having predicate, in which columns that the request uses as variables are key paths.
    private(set) var having: Predicate?
    let isGrouped: Bool
    /// The index of the computed column that each sort descriptor of rows names; nil for a key path.
    private let sortColumns: [Int?]
    /// The shape of the rows that stores have computed; nil if rows are objects.
    private var shape: RowShape?

    /// Checks a request and creates its columns.
    ///
    /// - Throws: `Status.invalidArgument` for invalid columns, groups or sort descriptors.
    init(_ request: FetchRequest) throws {
        self.request = request
        let columns =
            request.propertiesToFetch.isEmpty
            ? request.entity.allProperties.filter { $0 is Attribute && !$0.isTransient }.map { .property($0.name) }
            : request.propertiesToFetch
        self.columns = columns
        keys = request.propertiesToGroupBy.map { name in columns.first { $0.name == name } ?? .property(name) }
        let names = Set((columns + keys).map(\.name))
        having = request.effectiveHaving(names)
        let isGrouped = !keys.isEmpty || columns.contains { $0.aggregates(request.entity) }
        self.isGrouped = isGrouped
        sortColumns = request.sortDescriptors.map { isGrouped ? nil : columns.place(named: $0) }
        try check()
    }

    /// Whether rows are sorted by a computed column, so that their objects cannot be sorted before.
    var sortsByColumn: Bool { sortColumns.contains { $0 != nil } }

    /// The indexes of the computed columns by which rows are sorted.
    var sortPlaces: [Int] { columns.indices.filter { sortColumns.contains($0) } }

    /// Computes the rows from objects that satisfy the predicate and are in order, unless `sortsByColumn` is true.
    func rows(of objects: [PropertyValue]) throws -> FetchedRows {
        let isWindowed = !isGrouped && !request.returnsDistinctResults && !sortsByColumn
        let rows =
            if isGrouped { try groups(of: objects) } else if sortsByColumn { try sortedValues(of: objects) } else {
                try values(of: objects)
            }
        return finished(rows, isDistinct: !request.returnsDistinctResults, isWindowed: isWindowed)
    }

    /// Completes the rows that stores returned.
    func completed(_ rows: [[PropertyValue]], _ shape: RowShape) throws -> FetchedRows {
        var fetch = self
        fetch.shape = shape
        fetch.columns = zip(columns, shape.columns).map { $0.computed(by: $1) }
        fetch.keys = zip(keys, shape.keys).map { $0.computed(by: $1) }
        fetch.having = shape.having
        var rows = rows
        if let predicate = shape.predicate {
            rows = try rows.filter { try predicate.evaluate(with: .array($0), arithmetic: .nilPropagating) }
        }
        if !isGrouped, !shape.isOrdered { rows = try fetch.sorted(rows, by: shape.order) }
        // Rows outside of the window are not computed.
        let isCut = !isGrouped && shape.isDistinct && !shape.isWindowed
        if isCut { rows = window(rows) }
        if !isGrouped, fetch.arePlain {
            let width = columns.count
            if rows.first?.count != width { rows = rows.map { Array($0.prefix(width)) } }
        } else {
            let values = rows.map { PropertyValue.array($0) }
            rows = try isGrouped ? fetch.groups(of: values) : fetch.values(of: values)
        }
        return finished(rows, isDistinct: shape.isDistinct, isWindowed: shape.isWindowed || isCut)
    }

    /// Whether the rows already start with the values of the columns.
    private var arePlain: Bool {
        columns.enumerated().allSatisfy { $1.computed.rowPlace == $0 && $1.resultType == .undefined }
    }

    private func values(of rows: [PropertyValue]) throws -> [[PropertyValue]] {
        try rows.map { row in try columns.map { try $0.value(of: row) } }
    }

    /// Sorts rows of a store.
    ///
    /// - Parameter keys: An expression for each sort descriptor, followed by one for the primary key.
    private func sorted(_ rows: [[PropertyValue]], by keys: [Expression]) throws -> [[PropertyValue]] {
        let places = sortColumns + [nil]
        return try sorted(
            rows.map { row in
                let keys = try zip(keys, places).map { key, place in
                    if let place { return try columns[place].value(of: .array(row)) }
                    return try key.value(with: .array(row), arithmetic: .nilPropagating)
                }
                return (row, keys)
            })
    }

    /// Computes the rows from objects, and sorts the rows.
    private func sortedValues(of objects: [PropertyValue]) throws -> [[PropertyValue]] {
        try sorted(
            objects.map { object in
                let row = try columns.map { try $0.value(of: object) }
                let keys = try zip(request.sortDescriptors, sortColumns).map { descriptor, place in
                    if let place { return row[place] }
                    return try KeyPathEvaluation.value(of: object, path: descriptor.path)
                }
                return (row, keys + [try FetchedColumn.property("self.objectID").value(of: object)])
            })
    }

    /// Sorts rows by their keys, the last of which is the primary key.
    private func sorted(_ rows: [(row: [PropertyValue], keys: [PropertyValue])]) throws -> [[PropertyValue]] {
        try rows.sorted { a, b in
            let order = try request.sortDescriptors.order(a.keys, b.keys)
            return order == 0 ? a.keys[a.keys.count - 1].keyOrder(b.keys[b.keys.count - 1]) < 0 : order < 0
        }.map(\.row)
    }

    /// Removes duplicate rows, and applies offset and limit, unless this was done before.
    private func finished(_ rows: [[PropertyValue]], isDistinct: Bool, isWindowed: Bool) -> FetchedRows {
        var rows = rows
        if !isDistinct {
            var seen: Set<[PropertyValue]> = []
            rows = rows.filter { seen.insert($0).inserted }
        }
        return FetchedRows(columns: columns.map(\.name), rows: isWindowed ? rows : window(rows))
    }

    private func window(_ rows: [[PropertyValue]]) -> [[PropertyValue]] {
        let rest = rows.dropFirst(request.offset)
        return Array(request.limit > 0 ? rest.prefix(request.limit) : rest)
    }
}

// MARK: - Groups

/// A group whose columns are being computed.
private struct Group {
    let key: [PropertyValue]
    var rows: [PropertyValue]
    /// The values of the columns. `names` contains these and the grouping values by name.
    var columns: [PropertyValue] = []
    var names: [String: PropertyValue] = [:]
}

extension DictionaryFetch {
    private func groups(of rows: [PropertyValue]) throws -> [[PropertyValue]] {
        var found: [Group] = []
        for var group in try gathered(rows) {
            group.columns = try columns.map { try $0.value(ofGroup: group.rows, in: request.entity) }
            group.names = Dictionary(zip(keys.map(\.name), group.key)) { first, _ in first }
            for (column, value) in zip(columns, group.columns) { group.names[column.name] = value }
            if let having, try !holds(having, group) { continue }
            group.rows = []
            found.append(group)
        }
        if let shape, shape.isGrouped, shape.isOrdered { return found.map(\.columns) }
        return try sorted(found).map(\.columns)
    }

    /// Groups rows with equal keys.
    private func gathered(_ rows: [PropertyValue]) throws -> [Group] {
        if shape?.isGrouped == true {
            return try rows.map { row in Group(key: try keys.map { try $0.value(of: row) }, rows: [row]) }
        }
        // Without keys to group by, there is one group, even without rows.
        if keys.isEmpty { return [Group(key: [], rows: rows)] }
        var places: [[PropertyValue]: Int] = [:]
        var groups: [Group] = []
        for row in rows {
            let key = try keys.map { try $0.value(of: row) }
            if let place = places[key] {
                groups[place].rows.append(row)
            } else {
                places[key] = groups.count
                groups.append(Group(key: key, rows: [row]))
            }
        }
        return groups
    }

    private func holds(_ having: Predicate, _ group: Group) throws -> Bool {
        var failure: (any Error)?
        let computed = having.mapExpressions { expression in
            if case .keyPath(let path) = expression, let value = group.names[path.text] { return .constant(value) }
            do { return try expression.aggregated(over: group.rows, of: request.entity) } catch {
                failure = failure ?? error
                return nil
            }
        }
        if let failure { throw failure }
        return try computed.evaluate(with: group.rows.first ?? .null, arithmetic: .nilPropagating)
    }

    /// Sorts groups by the sort descriptors, then by their grouping values.
    private func sorted(_ groups: [Group]) throws -> [Group] {
        let descriptors = request.sortDescriptors
        let keyed = groups.map { group in
            (group: group, keys: descriptors.map { group.names[$0.keyPath] ?? .null })
        }
        return try keyed.sorted { a, b in
            let order = try descriptors.order(a.keys, b.keys)
            if order != 0 { return order < 0 }
            for (x, y) in zip(a.group.key, b.group.key) {
                let order = x.keyOrder(y)
                if order != 0 { return order < 0 }
            }
            return false
        }.map(\.group)
    }
}

extension PropertyValue {
    /// Compares grouping values: null first, then by value; objects by primary key.
    fileprivate func keyOrder(_ other: PropertyValue) -> Int {
        if isNull || other.isNull { return (isNull ? 0 : 1) - (other.isNull ? 0 : 1) }
        if case .object(let a as ObjectIDReference) = self, case .object(let b as ObjectIDReference) = other {
            return a.id.reference < b.id.reference ? -1 : a.id.reference > b.id.reference ? 1 : 0
        }
        return ordered(against: other) ?? 0
    }
}
