import CCorestone
import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// A batch request, and the objects that its box retains.
final class BatchRequestBox {
    private(set) var request: BatchRequest
    /// The changes of the last execution that returned IDs.
    var changes = ChangedIDs()
    private var retained: [AnyObject]

    init(_ request: BatchRequest, keeping retained: [AnyObject] = []) {
        self.request = request
        self.retained = retained
    }

    func retain(_ part: AnyObject) { retained.append(part) }

    /// Replaces the row source of a batch insert.
    func setRowSource(slots: [Int]?, _ begin: @escaping () throws -> BatchInsertRequest.Fill) throws {
        try replaceRequest(BatchInsertRequest(entity: entity(), slots: slots, begin: begin))
    }

    /// Replaces a batch insert, and keeps its stores and whether contexts merge it.
    func replaceRequest(_ fresh: BatchInsertRequest) throws {
        try requireInsertion()
        fresh.affectedStores = request.affectedStores
        fresh.mergesIntoContexts = request.mergesIntoContexts
        request = fresh
    }

    /// Returns the entity of the request, for functions that need a batch insert.
    ///
    /// Throws for a delete request that was not executed yet and whose fetch request has only the name of an entity.
    func entity() throws -> Entity {
        guard let entity = request.entity else {
            throw unsuitable("a batch insert; create the request with cst_batch_insert_new")
        }
        return entity
    }

    func requireInsertion() throws {
        guard request is BatchInsertRequest else {
            throw unsuitable("a batch insert; create the request with cst_batch_insert_new")
        }
    }

    func update() throws -> BatchUpdateRequest {
        guard let update = request as? BatchUpdateRequest else {
            throw unsuitable("a batch update; create the request with cst_batch_update_new")
        }
        return update
    }

    private func unsuitable(_ wanted: String) -> CoreError {
        let subject = request.entity.map { " for \($0.name)" } ?? ""
        let found =
            request is BatchInsertRequest
            ? "a batch insert" : request is BatchUpdateRequest ? "a batch update" : "a batch delete"
        return CoreError(
            .invalidArgument, "the batch request\(subject) is \(found), not \(wanted)", entity: request.entity?.name,
            key: "request")
    }

    /// Returns the slots of keys. Throws for a key of a property that a batch request cannot set.
    func slots(_ keys: some Collection<cst_key>) throws -> [Int] {
        let entity = try entity()
        return try keys.map { key in
            let slot = Int(key & (1 << Entity.slotBits - 1))
            guard slot < Int(entity.slotCount), entity.slotKeys[slot] == key else {
                throw CoreError(
                    .invalidArgument,
                    "\(key) is not the key of a property of \(entity.name); look it up with cst_entity_key",
                    entity: entity.name, key: "keys", value: .int(Int64(key)))
            }
            return try entity.batchSlot(of: entity.properties[slot].path)
        }
    }
}

private func box(_ pointer: OpaquePointer?) throws -> BatchRequestBox { try resolve(pointer, .batchRequest) }

private func putHandle(_ request: BatchRequestBox, _ out: UnsafeMutablePointer<OpaquePointer?>) throws {
    out.pointee = try HandleTable.make(request, .batchRequest)
}

// MARK: - Inserting

@_cdecl("cst_batch_insert_new") @implementation
public func cst_batch_insert_new(
    _ entityPointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_request")
        try putHandle(
            BatchRequestBox(BatchInsertRequest(entity: try entity(entityPointer), slots: []) { { _ in false } }), out)
    }
}

@_cdecl("cst_batch_insert_set_rows") @implementation
public func cst_batch_insert_set_rows(
    _ pointer: OpaquePointer?, _ rows: Int, _ columns: Int, _ keys: UnsafePointer<cst_key>?,
    _ values: UnsafePointer<cst_value>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let request = try box(pointer)
        let slots = try request.slots(try array(keys, columns, "keys"))
        let (total, overflow) = rows.multipliedReportingOverflow(by: columns)
        let entity = try request.entity()
        guard rows >= 0, rows < Int(Int32.max), !overflow else {
            throw CoreError(
                .invalidArgument,
                "rows is \(UInt(bitPattern: rows)), but the limit is 2147483646; insert the rows with several "
                    + "requests of cst_batch_insert_new",
                entity: entity.name, key: "rows", value: sizeValue(rows))
        }
        // nil represents the default.
        let values = try array(values, total, "values").enumerated().map { place, value -> PropertyValue? in
            if value.isDefault { return nil }
            var reader = ValueReader(isKept: true)
            do { return try reader.read(value) } catch let error as CoreError {
                let path = entity.properties[slots[place % slots.count]].path
                throw error.named(entity.name, path).inRow(place / slots.count + 1)
            }
        }
        try request.setRowSource(slots: slots) {
            var row = 0
            return { out in
                guard row < rows else { return false }
                try out.put(slots) { place, slot in
                    guard let value = values[row * slots.count + place] else { return false }
                    try out.set(ValueView(value), slot: slot)
                    return true
                }
                row += 1
                out.ready = rows - row
                return true
            }
        }
    }
}

@_cdecl("cst_batch_insert_set_columns") @implementation
public func cst_batch_insert_set_columns(
    _ pointer: OpaquePointer?, _ rows: Int, _ count: Int, _ columns: UnsafePointer<cst_batch_column>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let request = try box(pointer)
        guard rows >= 0, rows < Int(Int32.max) else {
            throw CoreError(
                .invalidArgument,
                "rows is \(UInt(bitPattern: rows)), but the limit is 2147483646; insert the rows with several "
                    + "requests of cst_batch_insert_new",
                entity: try request.entity().name, key: "rows", value: sizeValue(rows))
        }
        let columns = try array(columns, count, "columns")
        let slots = try request.slots(columns.map(\.key))
        let entity = try request.entity()
        let sources = try zip(columns, slots).map { try BatchColumn($0, entity, slot: $1, rows: rows) }
        try request.setRowSource(slots: slots) {
            var (row, wasWhole) = (0, true)
            return { out in
                guard row < rows else { return false }
                var left: [Int] = []
                for source in sources where try !source.put(row, into: out) { left.append(source.slot) }
                if !left.isEmpty || !wasWhole { out.setSlots(slots, defaulting: left) }
                wasWhole = left.isEmpty
                row += 1
                out.ready = rows - row
                return true
            }
        }
    }
}

@_cdecl("cst_batch_insert_set_handler") @implementation
public func cst_batch_insert_set_handler(
    _ pointer: OpaquePointer?, _ columns: Int, _ keys: UnsafePointer<cst_key>?, _ fill: cst_batch_rows_fn?,
    _ userdata: UnsafeMutableRawPointer?, _ destroy: cst_destroy_fn?, _ error: ErrorOut
) -> cst_status {
    let handler = HostCallback(fill, Userdata(userdata, destroy))
    return boundary(error) {
        let request = try box(pointer)
        let handler: HostCallback<cst_batch_rows_fn> = try handler.required("fill")
        let slots = try request.slots(try array(keys, columns, "keys"))
        let entity = try request.entity().name
        try request.setRowSource(slots: slots) {
            let block = BatchBlock(handler, of: entity, columns: slots.count)
            return { out in
                guard let row = try block.nextRow() else { return false }
                out.ready = block.left
                try out.put(slots) { place, slot in
                    if row[place].isDefault { return false }
                    try out.set(row[place], slot: slot)
                    return true
                }
                return true
            }
        }
    }
}

@_cdecl("cst_batch_insert_set_object_handler") @implementation
public func cst_batch_insert_set_object_handler(
    _ pointer: OpaquePointer?, _ fill: cst_batch_object_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ destroy: cst_destroy_fn?, _ error: ErrorOut
) -> cst_status {
    let handler = HostCallback(fill, Userdata(userdata, destroy))
    return boundary(error) {
        let request = try box(pointer)
        let handler: HostCallback<cst_batch_object_fn> = try handler.required("fill")
        try request.requireInsertion()
        try request.replaceRequest(
            BatchInsertRequest(entity: request.entity()) { (object: ManagedObject) in
                var isDone = false
                try withBorrowedHandle(object) { borrowed in
                    try callHost(
                        "the handler of the batch insert of \(object.entity.name)", entity: object.entity.name
                    ) {
                        handler.function(handler.userdata, borrowed, &isDone, $0)
                    }
                }
                return isDone
            })
    }
}

// MARK: - Updating

@_cdecl("cst_batch_update_new") @implementation
public func cst_batch_update_new(
    _ entityPointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_request")
        try putHandle(BatchRequestBox(BatchUpdateRequest(entity: try entity(entityPointer))), out)
    }
}

@_cdecl("cst_batch_update_set_predicate") @implementation
public func cst_batch_update_set_predicate(
    _ pointer: OpaquePointer?, _ predicatePointer: OpaquePointer?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let request = try box(pointer)
        let predicate = try predicatePointer.map { try predicateBox($0) }
        try request.update().predicate = predicate?.predicate
        if let predicate { request.retain(predicate) }
    }
}

@_cdecl("cst_batch_update_set_includes_subentities") @implementation
public func cst_batch_update_set_includes_subentities(
    _ pointer: OpaquePointer?, _ includes: Bool, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try box(pointer).update().includesSubentities = includes }
}

@_cdecl("cst_batch_update_set") @implementation
public func cst_batch_update_set(
    _ pointer: OpaquePointer?, _ property: cst_string, _ value: UnsafePointer<cst_value>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let request = try box(pointer)
        let update = try request.update()
        let name = try property.string("property")
        guard let value else {
            let entity = request.request.entity?.name
            let property = entity.map { "\($0).\(name)" } ?? "\"\(name)\""
            throw CoreError(
                .invalidArgument, "the value for \(property) is NULL; pass a value of type CST_NULL to set null",
                entity: entity, key: name)
        }
        if value.pointee.type == CST_EXPRESSION {
            let expression = try expressionBox(value.pointee.as.expression)
            request.retain(expression)
            update.propertiesToUpdate[name] = expression.expression
        } else {
            var reader = ValueReader(isKept: true)
            let given = try naming(request.request.entity?.name, name) { try reader.read(value.pointee) }
            update.propertiesToUpdate[name] = .constant(given)
        }
    }
}

// MARK: - Deleting

@_cdecl("cst_batch_delete_new") @implementation
public func cst_batch_delete_new(
    _ requestPointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_request")
        let fetch = try requestBox(requestPointer)
        try putHandle(BatchRequestBox(BatchDeleteRequest(fetchRequest: fetch.request), keeping: [fetch]), out)
    }
}

@_cdecl("cst_batch_delete_new_with_ids") @implementation
public func cst_batch_delete_new_with_ids(
    _ count: Int, _ ids: UnsafePointer<OpaquePointer?>?, _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_request")
        let ids = try array(ids, count, "ids").map { try resolve($0, .objectID, as: ObjectIDBox.self).id }
        try putHandle(BatchRequestBox(try BatchDeleteRequest(objectIDs: ids)), out)
    }
}

// MARK: - Executing

@_cdecl("cst_batch_set_stores") @implementation
public func cst_batch_set_stores(
    _ pointer: OpaquePointer?, _ count: Int, _ stores: UnsafePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let request = try box(pointer).request
        let given = try array(stores, count, "stores").map { try resolve($0, .store, as: StoreBox.self).store }
        request.affectedStores = stores == nil ? nil : given
    }
}

@_cdecl("cst_batch_set_merges") @implementation
public func cst_batch_set_merges(_ pointer: OpaquePointer?, _ merges: Bool, _ error: ErrorOut) -> cst_status {
    boundary(error) { try box(pointer).request.mergesIntoContexts = merges }
}

@_cdecl("cst_context_execute_batch") @implementation
public func cst_context_execute_batch(
    _ pointer: OpaquePointer?, _ requestPointer: OpaquePointer?, _ outCount: UnsafeMutablePointer<UInt64>?,
    _ outIDs: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        outCount?.pointee = 0
        outIDs?.pointee = nil
        let box = try onQueue(pointer)
        let batch = try resolve(requestPointer, .batchRequest, as: BatchRequestBox.self)
        let request = batch.request
        request.resultType = outIDs == nil ? .count : .objectIDs
        let result: BatchResult = try box.closingTemporaryContexts { try box.context.execute(request) }
        outCount?.pointee = UInt64(result.count)
        if let outIDs {
            batch.changes = result.changes
            outIDs.pointee = try ResultList([], ids: result.objectIDs, entity: request.entity, box: box).makeHandle()
        }
    }
}

@_cdecl("cst_context_copy_batch_ids") @implementation
public func cst_context_copy_batch_ids(
    _ pointer: OpaquePointer?, _ requestPointer: OpaquePointer?, _ change: UInt32,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_ids")
        let context = try onQueue(pointer)
        let batch = try box(requestPointer)
        let ids: [ObjectID]
        switch Int(change) {
        case CST_BATCH_INSERTED: ids = batch.changes.inserted
        case CST_BATCH_UPDATED: ids = batch.changes.updated
        case CST_BATCH_DELETED: ids = batch.changes.deleted
        case CST_BATCH_REFRESHED: ids = batch.changes.refreshed
        default:
            throw CoreError(
                .invalidArgument, "\(change) is not a kind of change; use a CST_BATCH_ constant",
                entity: batch.request.entity?.name, key: "change", value: .int(Int64(change)))
        }
        out.pointee = try ResultList([], ids: ids, entity: batch.request.entity, box: context).makeHandle()
    }
}
