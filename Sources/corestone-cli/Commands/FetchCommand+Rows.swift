import Corestone

// Rows that a request computes: groups, and columns beside the properties of objects.
extension FetchCommand {
    /// The columns that the command prints, and the request that computes them.
    struct Plan {
        let entity: Entity
        /// The printed columns.
        var columns: [FetchColumn]
        /// The columns to group by.
        var keys: [FetchColumn] = []
        /// Columns that are computed only for the order.
        var hidden: [FetchColumn] = []
        var isGrouped = false

        /// The names that sort keys of the command can refer to.
        var named: [FetchColumn] { columns + keys + hidden }

        /// Whether a request for rows is required.
        var isComputed: Bool { isGrouped || !computed.isEmpty }

        /// The columns that objects do not contain, each once.
        var computed: [FetchColumn] { (columns + hidden).filter { $0.field == nil } }
    }

    /// Returns the plan, and the sort descriptors of the request.
    ///
    /// - Throws: An error for an invalid or unknown column.
    func plan(_ entity: Entity) throws -> (Plan, [SortDescriptor]) {
        var plan = Plan(entity: entity, columns: [])
        if let list = options["columns"] {
            // A column may be the name of a key, and a key may be the name of a column.
            let named = try options["group-by"].map { try FetchColumn.parse($0, "group-by", entity, isNamed: true) }
            plan.columns = try FetchColumn.parse(list, "columns", entity, known: named ?? [])
        }
        if let list = options["group-by"] {
            plan.keys = try FetchColumn.parse(list, "group-by", entity, known: plan.columns)
            if options["columns"] == nil { plan.columns = plan.keys + [.count] }
        }
        if options["columns"] == nil, plan.keys.isEmpty {
            plan.columns = Field.all(of: entity).map { FetchColumn(name: $0.name, source: .field($0)) }
        }
        plan.isGrouped = !plan.keys.isEmpty || plan.columns.contains { $0.fetched.aggregates(entity) }
        if plan.isGrouped { try plan.checkGroups() }
        let sort = try sortKeys.map { try plan.descriptor($0) }
        return (plan, sort)
    }

    /// Returns the request for rows.
    func rowsRequest(_ plan: Plan, _ sort: [SortDescriptor]) throws -> FetchRequest {
        let request = FetchRequest(
            entity: plan.entity, predicate: predicate, sortDescriptors: sort, limit: limit, offset: offset)
        request.resultType = .dictionaries
        if plan.isGrouped {
            let keys = plan.keys.filter { key in !plan.columns.contains { $0.name == key.name } }
            request.propertiesToFetch = (plan.columns + keys + plan.hidden).map(\.fetched)
            request.propertiesToGroupBy = plan.keys.map(\.name)
            let names = Set(plan.named.map(\.name))
            request.havingPredicate = having.map { having in
                having.mapExpressions { expression in
                    guard expression == .key(FetchColumn.count.name), !names.contains(FetchColumn.count.name) else {
                        return nil
                    }
                    return FetchColumn.count.expression
                }
            }
        } else {
            request.propertiesToFetch =
                [.expression(ExpressionDescription(name: "@id", expression: .selfObject))]
                + plan.computed.map(\.fetched)
            request.batchSize = FetchCommand.batchSize
        }
        return request
    }

    /// Prints groups, or one row of aggregates.
    func printGroups(_ plan: Plan, _ request: FetchRequest, in context: Context, to output: Output) throws {
        let rows = try context.fetchDictionaries(request)
        let width = plan.columns.count
        func values(_ number: Int) throws -> [FieldValue?] {
            try rows.row(at: number).prefix(width).map { FieldValue($0) }
        }
        var printer = try printer(of: plan.columns, plan.keys.isEmpty ? "row" : "group", plan.entity, output)
        try printer.begin(rows.count, values, to: output)
        for number in 0..<rows.count { try printer.print(try values(number), to: output) }
        try printer.end(to: output)
    }

    /// Prints objects with computed columns.
    ///
    /// The rows are read in batches, and so are the objects if properties are printed.
    func printRows(
        _ plan: Plan, _ request: FetchRequest, _ reader: FieldReader, in context: Context, to output: Output
    ) throws {
        let rows = try context.fetchDictionaries(request)
        let objects = ObjectBatches(plan, Context(coordinator: context.coordinator), reader)
        var printer = try printer(of: plan.columns, "object", plan.entity, output)
        var start = 0
        repeat {
            let batch = try rows.rows(in: start..<min(start + FetchCommand.batchSize, rows.count))
            try objects.read(batch)
            func values(_ number: Int) throws -> [FieldValue?] { try objects.values(batch[batch.startIndex + number]) }
            if start == 0 { try printer.begin(batch.count, values, to: output) }
            for number in batch.indices.map({ $0 - batch.startIndex }) {
                try printer.print(try values(number), to: output)
            }
            start += batch.count
        } while start < rows.count
        try printer.end(to: output)
    }
}

extension FetchCommand.Plan {
    /// Throws if a column of groups is a property that only objects have.
    fileprivate func checkGroups() throws {
        let names = Set(keys.map(\.name))
        for column in columns {
            if case .id? = column.field, !names.contains(column.name) {
                throw UsageError(
                    "\"\(column.name)\" has one value for each object, but the rows are groups of \(entity.name); leave "
                        + "it out, or count the objects with @count")
            }
        }
    }

    /// Returns the sort descriptor for a key of `--sort`.
    ///
    /// An expression that is not a column becomes a hidden column.
    fileprivate mutating func descriptor(_ text: String) throws -> SortDescriptor {
        let isDescending = text.hasPrefix("-")
        let key = isDescending || text.hasPrefix("+") ? String(text.dropFirst()) : text
        func descriptor(_ name: String) -> SortDescriptor {
            SortDescriptor(path: KeyPath(name), ascending: !isDescending)
        }
        if named.contains(where: { $0.name == key && (isGrouped || $0.field == nil) }) { return descriptor(key) }
        if let column = named.first(where: { $0.name == key }), column.field.map({ $0.name != key }) == true {
            return descriptor(column.expression.format)
        }
        let expression = try ColumnText.expression(key)
        if case .keyPath(let path) = expression {
            try checkKey(path, key)
            if !isGrouped { return descriptor(path.text) }
        }
        if let column = named.first(where: { $0.expression == expression }) { return descriptor(column.name) }
        hidden.append(
            FetchColumn(name: key, source: .computed(key == "@count" ? FetchColumn.count.expression : expression)))
        return descriptor(key)
    }

    /// Throws if a sort key is neither a column nor a property, but is similar to the name of a column.
    private func checkKey(_ path: KeyPath, _ key: String) throws {
        guard let first = path.single, !first.isOperator,
            !entity.withDescendants.contains(where: { $0.property(named: first.text) != nil })
        else { return }
        let names = named.filter { $0.field == nil }.map(\.name)
        guard let near = nearestName(to: key, among: names) else { return }
        throw UsageError("cannot sort \(entity.name) by \"\(key)\", which is not a column; did you mean \"\(near)\"?")
    }
}

/// The objects of a batch of rows, and the values of their columns.
private final class ObjectBatches {
    private let plan: FetchCommand.Plan
    private let context: Context
    private let reader: FieldReader
    /// The index in a row for each column; nil for a property of the object.
    private let places: [Int?]
    private let toMany: Set<String>
    /// Whether properties of objects are printed, so that objects must be read.
    private let needsObjects: Bool
    private var objects: [ObjectID: ManagedObject] = [:]

    init(_ plan: FetchCommand.Plan, _ context: Context, _ reader: FieldReader) {
        (self.plan, self.context, self.reader) = (plan, context, reader)
        let names = plan.computed.map(\.name)
        // The first value of a row is the object ID.
        places = plan.columns.map { column in
            column.field == nil ? names.firstIndex(of: column.name).map { $0 + 1 } : nil
        }
        let fields = plan.columns.compactMap(\.field)
        toMany = Set(fields.filter(\.isToMany).map(\.name))
        needsObjects = fields.contains { field in
            switch field {
            case .id, .entity: false
            case .attribute, .toOne, .toMany: true
            }
        }
    }

    /// Reads the objects of rows.
    func read(_ rows: ArraySlice<[PropertyValue]>) throws {
        guard needsObjects else { return }
        // The reset breaks retain cycles between objects, so that the former batch is deallocated.
        objects = [:]
        try context.reset()
        let ids = rows.map { $0[0] }
        let found = try context.fetch(
            FetchRequest(
                entity: plan.entity, predicate: .comparison(Comparison(.selfObject, .in, .constant(.array(ids))))))
        try Field.loadMembers(of: toMany, found, in: context)
        for object in found { objects[object.objectID] = object }
    }

    func values(_ row: [PropertyValue]) throws -> [FieldValue?] {
        let id = ObjectID.from(row[0])
        return try zip(plan.columns, places).map { column, place in
            if let place { return FieldValue(row[place]) }
            switch (column.field, id) {
            case (.id?, let id?): return .target(id)
            case (.entity?, let id?): return .text(id.entity.name)
            case (let field?, let id?): return try objects[id].map { try reader.value(of: field, in: $0) } ?? .nothing
            default: return .nothing
            }
        }
    }
}

extension FieldValue {
    /// Creates the value of a computed column.
    fileprivate init(_ value: PropertyValue) {
        self = value.isNull ? .nothing : ObjectID.from(value).map { .target($0) } ?? .value(value)
    }
}
