import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension ArrowStream {
    /// Creates a stream of the current values of objects.
    ///
    /// Unsaved changes are included. Must be called on the queue of the objects' context.
    ///
    /// - Parameters:
    ///   - objects: The objects, either all of one context or all without a context.
    ///   - entity: The entity of the objects or a superentity; nil for the entity of the first object.
    ///   - keyPaths: The columns; see `Context.fetchArrow`.
    /// - Throws: `.invalidArgument` if a key path cannot be a column, or if there are no objects and `entity` is nil.
    ///   The errors of firing a fault.
    public convenience init(
        _ objects: [ManagedObject], of entity: Entity? = nil, keyPaths: [String] = [],
        options: ArrowOptions = ArrowOptions()
    ) throws {
        try self.init(Results(objects), of: entity, keyPaths: keyPaths, options: options)
    }

    /// Creates a stream of the objects of a list. The rows of a lazy list are read in batches.
    ///
    /// The row of an object that was deleted after the fetch contains only nulls.
    ///
    /// - Parameter context: The context of the objects; nil for the context of the first object.
    public convenience init(
        _ results: Results, in context: Context? = nil, of entity: Entity? = nil, keyPaths: [String] = [],
        options: ArrowOptions = ArrowOptions()
    ) throws {
        try options.check(entity?.name)
        let first = results.isEmpty ? nil : try results.object(at: 0)
        guard let entity = entity ?? first?.entity else {
            throw CoreError(
                .invalidArgument,
                "cannot export an empty list of objects without an entity; export only lists with objects, or in Swift "
                    + "pass the entity", key: "results")
        }
        let row = ArrowField(row: try ArrowFields(entity, includesSubentities: true, options).fields(keyPaths))
        for column in row.children { column.isOfList = true }
        let batches = ArrowBatches(row, of: entity, batchSize: options.batchSize)
        let context = context ?? first?.context
        try context?.checkQueue()
        for start in stride(from: 0, to: results.count, by: 1000) {
            let part = try (start..<min(start + 1000, results.count)).map { try results.object(at: $0) }
            if let context {
                try context.withAncestors { try batches.append(part, from: start, of: context) }
            } else {
                try batches.append(part, of: nil)
            }
        }
        try self.init(batches, of: entity)
    }

    /// Creates a stream of the rows of fetched dictionaries.
    ///
    /// The column of a property of `entity` has the property's type. Any other column has the type of its values:
    /// integers and decimals together are exported as decimals, other mixed numbers as doubles, objects as URIs. A
    /// column without values has the type null.
    ///
    /// - Parameters:
    ///   - entity: The entity of the request that returned the rows, for the types of its properties.
    ///   - requested: The columns of that request.
    /// - Throws: `.typeMismatch` if a value does not have an Arrow type, or if the values of a column do not have a
    ///   common type.
    public convenience init(
        _ rows: FetchedRows, of entity: Entity? = nil, columns requested: [FetchedColumn] = [],
        options: ArrowOptions = ArrowOptions()
    ) throws {
        try options.check(entity?.name)
        let values = try rows.rows
        let fields = try rows.columns.enumerated().map { place, name in
            try entity.flatMap { rows.attributeField(name, $0, requested, options) }
                ?? ArrowField(name, place, of: values, options, entity)
        }
        try self.init(rows, ArrowField(row: fields), of: entity, options)
    }

    convenience init(_ rows: FetchedRows, _ row: ArrowField, of entity: Entity?, _ options: ArrowOptions) throws {
        let batches = ArrowBatches(row, of: entity, batchSize: options.batchSize)
        for values in try rows.rows {
            try batches.append { builder in
                for (child, value) in zip(builder.children, values) { try child.append(value) }
                builder.endRows(1)
            }
        }
        try self.init(batches, of: entity)
    }
}

extension FetchedRows {
    /// Returns the field of a column whose name is an exportable key path; nil for other columns and for expressions.
    fileprivate func attributeField(
        _ name: String, _ entity: Entity, _ requested: [FetchedColumn], _ options: ArrowOptions
    ) -> ArrowField? {
        let isComputed = requested.contains { column in
            if case .expression(let description) = column { description.name == name } else { false }
        }
        return isComputed ? nil : try? ArrowFields(entity, includesSubentities: true, options).fields([name])[0]
    }
}

extension ArrowField {
    /// Creates the field of a column from its values.
    fileprivate convenience init(
        _ name: String, _ place: Int, of rows: [[PropertyValue]], _ options: ArrowOptions, _ entity: Entity?
    ) throws {
        var type = ArrowType.null
        for row in rows {
            let own = ArrowType(row[place])
            guard let joined = own.flatMap(type.joined) else {
                let former = own == nil ? nil : rows.first { !$0[place].isNull }?[place].kind
                let common = former.map { " in common with \($0) in an earlier row" } ?? ""
                throw CoreError(
                    .typeMismatch,
                    "the column \"\(name)\" has \(row[place].kind), which does not have an Arrow type\(common); leave the column out",
                    entity: entity?.name, key: name, value: row[place])
            }
            type = joined
        }
        if case .decimal = type, options.showsDecimalsAsText { type = .text }
        self.init(name, type, .values)
    }
}
