import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension ArrowStream {
    /// Objects as record batches of Arrow, with the values that they have now, saved or not. On the queue of their context.
    /// - Parameters:
    ///   - objects: of one context, or of none.
    ///   - entity: theirs, or one from which theirs inherit; nil for that of the first object.
    ///   - keyPaths: see `Context.fetchArrow`.
    /// - Throws: `.invalidArgument` for key paths that lead to no column, and without an entity; what a fault throws.
    public convenience init(
        _ objects: [ManagedObject], of entity: Entity? = nil, keyPaths: [String] = [],
        options: ArrowOptions = ArrowOptions()
    ) throws {
        try self.init(Results(objects), of: entity, keyPaths: keyPaths, options: options)
    }

    /// The same for the objects of a list, which may be lazy: rows are read a batch at a time. Those of objects that were
    /// deleted since the list was made have no values.
    /// - Parameter context: that of the objects; nil for that of the first one.
    public convenience init(
        _ results: Results, in context: Context? = nil, of entity: Entity? = nil, keyPaths: [String] = [],
        options: ArrowOptions = ArrowOptions()
    ) throws {
        try options.check()
        let first = results.isEmpty ? nil : try results.object(at: 0)
        guard let entity = entity ?? first?.entity else {
            throw CoreError(
                .invalidArgument,
                "cannot export an empty list of objects without an entity; skip it, or in Swift pass the entity")
        }
        let row = ArrowField(row: try ArrowFields(entity, includesSubentities: true, options).fields(keyPaths))
        let batches = ArrowBatches(row, batchSize: options.batchSize)
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

    /// Rows of dictionaries as record batches of Arrow.
    ///
    /// A column that is an attribute has the attribute's type, any other one the type of its values: numbers of several kinds are
    /// doubles, objects are URIs, and without any value the type is null.
    ///
    /// - Parameters:
    ///   - entity: of the request that gave the rows, for the types of its attributes.
    ///   - requested: the columns of that request.
    /// - Throws: `.typeMismatch` for a column whose values have no type in common.
    public convenience init(
        _ rows: FetchedRows, of entity: Entity? = nil, columns requested: [FetchedColumn] = [],
        options: ArrowOptions = ArrowOptions()
    ) throws {
        try options.check()
        let values = try rows.rows
        let fields = try rows.columns.enumerated().map { place, name in
            try entity.flatMap { rows.attributeField(name, $0, requested, options) }
                ?? ArrowField(name, place, of: values, options, entity)
        }
        let batches = ArrowBatches(ArrowField(row: fields), batchSize: options.batchSize)
        for row in values {
            try batches.append { builder in
                for (child, value) in zip(builder.children, row) { try child.append(value) }
                builder.endRows(1)
            }
        }
        try self.init(batches, of: entity)
    }
}

extension FetchedRows {
    /// The field of a column that is an attribute; nil for others.
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
    /// The field of a column by its values.
    fileprivate convenience init(
        _ name: String, _ place: Int, of rows: [[PropertyValue]], _ options: ArrowOptions, _ entity: Entity?
    ) throws {
        var type = ArrowType.null
        for row in rows {
            let own = ArrowType(row[place])
            guard let joined = own.flatMap(type.joined) else {
                let former = own == nil ? nil : rows.first { !$0[place].isNull }?[place].kind
                let common = former.map { " in common with \($0) in a row before it" } ?? ""
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
