import CorestoneModel
import CorestoneValues

/// A request to insert many rows of one entity.
///
/// Attributes that a row omits get their defaults. Relationships cannot be set. If a row violates a unique constraint,
/// the merge policy of the context applies. `error` makes the request fail. `objectTrump` updates a conflicting row of
/// the same entity with the values that the new row sets, `overwrite` with all values of the new row. Both delete other
/// conflicting rows. `storeTrump` and `rollback` skip the new row.
public final class BatchInsertRequest: BatchRequest, @unchecked Sendable {
    /// A function that fills the next row. It returns false after the last row.
    package typealias Fill = (BatchRows) throws -> Bool

    /// A function that starts an execution. It returns the function that fills the rows.
    private let begin: (BatchRun) throws -> Fill
    /// The slots that every row sets; nil if they can differ between rows.
    private let named: [Int]?
    /// The attributes of the only unique constraint whose conflicts update the stored row.
    ///
    /// If nil, the merge policy of the context resolves the conflicts of all unique constraints.
    var uniqueKeys: Set<String>?

    /// Creates a request whose rows a function fills.
    ///
    /// - Parameter begin: Returns the function that fills the rows of one execution.
    package init(entity: Entity, slots: [Int]?, begin: @escaping () throws -> Fill) {
        self.begin = { _ in try begin() }
        named = slots
        super.init(entity: entity)
    }

    private init(entity: Entity, begin: @escaping (BatchRun) throws -> Fill) {
        self.begin = begin
        named = nil
        super.init(entity: entity)
    }

    /// Creates a request for rows whose keys are names of attributes or paths of composite elements.
    ///
    /// Each row is read from the sequence when it is inserted.
    public convenience init<Rows: Sequence>(entity: Entity, rows: Rows) where Rows.Element == [String: PropertyValue] {
        self.init(entity: entity) { _ in
            var iterator = rows.makeIterator()
            return { row in
                guard let next = iterator.next() else { return false }
                try row.setRow(next)
                return true
            }
        }
    }

    /// Creates a request whose handler fills one empty dictionary per row.
    ///
    /// The handler returns false for each row, and true after the last row.
    public convenience init(
        entity: Entity, dictionaryHandler: @escaping (inout [String: PropertyValue]) throws -> Bool
    ) {
        self.init(entity: entity) { _ in
            { row in
                var values: [String: PropertyValue] = [:]
                if try dictionaryHandler(&values) { return false }
                try row.setRow(values)
                return true
            }
        }
    }

    /// Creates a request whose handler sets each row's values on the same object.
    ///
    /// The handler returns false for each row, and true after the last row. The object has default values before each
    /// call. It belongs to an internal context and is valid only during the request.
    public convenience init(
        entity: Entity, managedObjectHandler: @escaping (ManagedObject) throws -> Bool
    ) {
        self.init(entity: entity) { run in
            let context = run.makeContext()
            let object = try context.insert(entity)
            return { row in
                object.resetForBatch()
                if try managedObjectHandler(object) { return false }
                guard object.context === context, !object.isGone, !object.isDeleted else {
                    throw object.removedBatchObjectError()
                }
                try row.setRow(object)
                return true
            }
        }
    }

    public override var requestType: UInt32 { RequestType.batchInsert.rawValue }

    override func stores(of entity: Entity, in context: Context) throws -> [Store] {
        if affectedStores == nil { return [try context.coordinator.writableStore(for: entity)] }
        let stores = try super.stores(of: entity, in: context)
        return (stores.first { !$0.isReadOnly } ?? stores.first).map { [$0] } ?? []
    }

    override func write(_ run: BatchRun, _ changes: inout ExternalChanges) throws {
        let entity = run.entity
        if entity.isAbstract { try ManagedObject.requireConcrete(entity) }
        let rows = BatchRows(
            entity, try begin(run), named: named, uniqueKeys: uniqueKeys, checkCancelled: run.checkCancelled)
        let policy = uniqueKeys == nil ? run.context.mergePolicy.type : .objectTrump
        let uniqueness = BatchUniqueness(run: run, rows: rows, policy: policy)
        if try !run.transaction.insert(rows, policy, &changes, resolving: uniqueness.resolve) {
            try BatchInsertion(run: run, rows: rows, uniqueness: uniqueness).write(&changes)
        }
        changes.condense()
    }
}

extension ManagedObject {
    /// Resets the object to its state after insertion.
    fileprivate func resetForBatch() {
        dropChanges()
        dropToOneTargets()
        applyDefaults()
    }

    fileprivate func removedBatchObjectError() -> CoreError {
        CoreError(
            .objectGone,
            "the handler of a batch insert of \(entity.name) deleted its object, or rolled back or reset the "
                + "context; only set attributes of the object",
            entity: entity.name)
    }
}
