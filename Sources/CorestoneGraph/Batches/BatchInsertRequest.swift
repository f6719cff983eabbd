import CorestoneModel
import CorestoneValues

/// Writes many new rows of one entity.
///
/// Attributes that a row does not name get their defaults. Relationships cannot be set. Where a row has the values of another one
/// that have to be unique, the merge policy of the context decides: `error` fails, `objectTrump` updates that row with what this one
/// names, `overwrite` with all that this one has, `storeTrump` and `rollback` leave that row as it is.
public final class BatchInsertRequest: BatchRequest, @unchecked Sendable {
    /// Puts the next row into place; false when there is none.
    package typealias Fill = (BatchRows) throws -> Bool

    /// What begins anew with each execution.
    private let begin: (BatchRun) throws -> Fill
    /// Which slots every row names; nil for what its dictionary has.
    private let named: [Int]?

    /// - Parameter begin: gives what fills rows.
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

    /// Rows by the names of their attributes. Any sequence will do: one that makes its rows as they are asked for is never in memory
    /// as a whole.
    public convenience init<Rows: Sequence>(entity: Entity, rows: Rows) where Rows.Element == [String: PropertyValue] {
        self.init(entity: entity) { _ in
            var iterator = rows.makeIterator()
            return { row in
                guard let next = iterator.next() else { return false }
                try row.take(next)
                return true
            }
        }
    }

    /// Rows that a handler fills, one after the other, from an empty dictionary, until it answers true; what it has filled then is
    /// left out.
    public convenience init(
        entity: Entity, dictionaryHandler: @escaping (inout [String: PropertyValue]) throws -> Bool
    ) {
        self.init(entity: entity) { _ in
            { row in
                var values: [String: PropertyValue] = [:]
                if try dictionaryHandler(&values) { return false }
                try row.take(values)
                return true
            }
        }
    }

    /// Rows that a handler sets on an object, always the same one, fresh each time, until it answers true; what it has set then is left
    /// out. The object belongs to no context of the host's, and ends with the request.
    public convenience init(
        entity: Entity, managedObjectHandler: @escaping (ManagedObject) throws -> Bool
    ) {
        self.init(entity: entity) { run in
            let context = run.makeContext()
            let object = try context.insert(entity)
            return { row in
                object.resetForBatch()
                if try managedObjectHandler(object) { return false }
                guard object.context === context, !object.isGone, !object.isDeleted else { throw object.leftBatch() }
                try row.take(object)
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

    override func write(_ run: BatchRun, _ changes: inout ForeignChanges) throws {
        let entity = run.entity
        if entity.isAbstract { try ManagedObject.requireConcrete(entity) }
        let rows = BatchRows(entity, try begin(run), named: named, checkCancelled: run.checkCancelled)
        let policy = run.context.mergePolicy.type
        let uniqueness = BatchUniqueness(run: run, rows: rows, policy: policy)
        if try !run.transaction.insert(rows, policy, &changes, settling: uniqueness.settle) {
            try BatchInsertion(run: run, rows: rows, uniqueness: uniqueness).write(&changes)
        }
        changes.condense()
    }
}

extension ManagedObject {
    /// As it was when it was inserted.
    fileprivate func resetForBatch() {
        dropChanges()
        dropToOneTargets()
        applyDefaults()
    }

    fileprivate func leftBatch() -> CoreError {
        CoreError(
            .objectGone,
            "the handler of a batch insert of \(entity.name) deleted its object or reset the context; only set attributes in it",
            entity: entity.name)
    }
}
