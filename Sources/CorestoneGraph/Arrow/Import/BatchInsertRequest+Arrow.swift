import CorestoneModel
import CorestoneValues

extension BatchInsertRequest {
    /// Creates a request for the rows of an Arrow stream, whose columns are attributes or elements of composite ones.
    ///
    /// The schema is read immediately, and the rows by the first execution. A second execution fails, because a stream
    /// can be read only once.
    ///
    /// - Parameters:
    ///   - place: A `struct ArrowArrayStream`, which is moved. It is released with the request, or if the initialiser
    ///     throws.
    ///   - updatesExisting: Whether a row with the keys of a stored row (`ArrowImportOptions.keys`) updates that row.
    ///     The keys must have a unique constraint. Otherwise the merge policy of the context applies.
    /// - Throws: The errors of `Context.insertArrow` for columns.
    public convenience init(
        entity: Entity, arrow place: UnsafeMutableRawPointer, options: ArrowImportOptions = ArrowImportOptions(),
        updatesExisting: Bool = false
    ) throws {
        let stream = try ArrowInputStream(moving: place, for: entity)
        guard updatesExisting || options.keys.isEmpty else {
            throw CoreError(
                .invalidArgument,
                "keys apply only to an upsert; omit them, or set CST_ARROW_IMPORT_UPDATE (match, updatesExisting)",
                entity: entity.name, key: "keys")
        }
        let plan = try stream.withSchema { try ArrowImportPlan($0, entity, options) }
        for relationship in plan.relationships {
            let noun = relationship.keys.count > 1 ? "columns" : "column"
            throw CoreError(
                .invalidArgument,
                "\(entity.name).\(relationship.relationship.name) is a relationship, but a batch request sets only "
                    + "attributes; leave the \(noun) \(relationship.columns) out, or call cst_context_insert_arrow "
                    + "(insert_arrow, insertArrow)",
                entity: entity.name, key: relationship.relationship.name)
        }
        for column in plan.attributes { _ = try entity.batchSlot(of: column.attribute.path) }
        let source = ArrowBatchSource(stream, plan, options.progress)
        self.init(entity: entity, slots: plan.attributes.map { Int($0.attribute.slot) }) { try source.begin() }
        if updatesExisting { uniqueKeys = try plan.uniqueKeys(options.keys) }
    }
}

extension ArrowImportPlan {
    /// Returns the attributes of the unique constraint by which a batch request finds existing rows.
    fileprivate func uniqueKeys(_ keys: [String]) throws -> Set<String> {
        let paths = Set(try keyColumns(keys, allowsObjectID: false).map(\.attribute.path))
        guard entity.allUniqueConstraints.contains(where: { Set($0.attributes) == paths }) else {
            throw CoreError(
                .invalidArgument,
                "\(entity.name) does not have a unique constraint on \(keys.listed), which an upsert by a batch "
                    + "request needs; add one to the model, or call cst_context_upsert_arrow "
                    + "(upsert_arrow, upsertArrow)",
                entity: entity.name, key: keys.first)
        }
        return paths
    }
}

/// The rows of an Arrow stream for a batch request.
final class ArrowBatchSource: @unchecked Sendable {
    private let stream: ArrowInputStream
    private let plan: ArrowImportPlan
    private let progress: ((Int, Bool) -> Bool)?
    private var isUsed = false
    private var row = 0

    init(_ stream: ArrowInputStream, _ plan: ArrowImportPlan, _ progress: ((Int, Bool) -> Bool)?) {
        (self.stream, self.plan, self.progress) = (stream, plan, progress)
    }

    /// Starts the only execution.
    func begin() throws -> BatchInsertRequest.Fill {
        guard !isUsed else {
            throw CoreError(
                .invalidArgument,
                "the Arrow stream of the batch insert of \(plan.entity.name) was already read; set another stream with "
                    + "cst_batch_insert_set_arrow, or create another request with cst_batch_insert_new "
                    + "(BatchInsertRequest)",
                entity: plan.entity.name)
        }
        isUsed = true
        return { [self] rows in try fill(rows) }
    }

    private func fill(_ rows: BatchRows) throws -> Bool {
        while row == plan.count {
            guard let batch = try stream.next() else {
                try report(plan.base + plan.count, isEnd: true)
                return false
            }
            try plan.load(batch)
            row = 0
        }
        if (plan.base + row) & 0x1FFF == 0, plan.base + row > 0 { try report(plan.base + row) }
        for column in plan.attributes {
            try rows.set(value(column, rows), slot: Int(column.attribute.slot))
        }
        row += 1
        rows.ready = plan.count - row
        return true
    }

    @inline(__always)
    private func value(_ column: ArrowColumn, _ rows: BatchRows) throws -> ValueView {
        do { return try column.view(row) } catch let error as CoreError {
            throw column.located(error).inRow(rows.number + 1)
        }
    }

    private func report(_ rows: Int, isEnd: Bool = false) throws {
        if progress?(rows, isEnd) == false { throw CoreError.cancelledImport(of: plan.entity) }
    }
}
