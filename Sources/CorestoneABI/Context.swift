import CCorestone
import CPlatform
import CorestoneGraph
import CorestoneModel
import CorestoneValues

@_cdecl("cst_context_new") @implementation
public func cst_context_new(
    _ pointer: OpaquePointer?, _ queue: cst_queue, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_context")
        let coordinator = try coordinator(pointer).coordinator
        guard let queue = Context.QueueType(rawValue: queue) else {
            throw CoreError(
                .invalidArgument,
                "\(queue) is not a queue type; use CST_QUEUE_CALLER, CST_QUEUE_PRIVATE or CST_QUEUE_MAIN",
                key: "queue", value: .int(Int64(queue)))
        }
        guard HandleTable.retain(token(pointer)) else { throw invalidHandle(pointer, .coordinator) }
        let box = ContextBox(Context(on: coordinator, parent: nil, queue: queue), coordinatorToken: token(pointer))
        out.pointee = try box.makeHandle()
    }
}

@_cdecl("cst_context_close") @implementation
public func cst_context_close(_ pointer: OpaquePointer?, _ unsaved: UInt32, _ error: ErrorOut) -> cst_status {
    outcome(error) {
        try contextBox(pointer).context.close(try unsavedPolicy(unsaved)) ? .ok : .unchanged
    }
}

@_cdecl("cst_context_coordinator") @implementation
public func cst_context_coordinator(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_coordinator")
        out.pointee = handle(try contextBox(pointer).coordinatorToken)
    }
}

// MARK: - Objects

@_cdecl("cst_context_insert") @implementation
public func cst_context_insert(
    _ pointer: OpaquePointer?, _ entityPointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_object")
        let context = try onQueue(pointer).context
        out.pointee = try ownedHandle(try context.insert(try entity(entityPointer)))
    }
}

@_cdecl("cst_context_insert_many") @implementation
public func cst_context_insert_many(
    _ pointer: OpaquePointer?, _ entityPointer: OpaquePointer?, _ rows: Int, _ columns: Int,
    _ keys: UnsafePointer<cst_key>?, _ values: UnsafePointer<cst_value>?, _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let context = try onQueue(pointer).context
        let entity = try entity(entityPointer)
        let keys = try array(keys, columns, "keys")
        let (total, overflow) = rows.multipliedReportingOverflow(by: columns)
        guard rows >= 0, rows < Int(Int32.max), !overflow else {
            throw CoreError(
                .invalidArgument,
                "rows is \(UInt(bitPattern: rows)), but the limit is 2147483646; insert the objects with several calls "
                    + "of cst_context_insert_many (insert_many)",
                entity: entity.name, key: "rows", value: sizeValue(rows))
        }
        let values = try array(values, total, "values")
        try insertMany(context, entity, rows: rows, keys: keys, values: values, out)
    }
}

/// Inserts all objects, or no object: after a failure, the objects that were inserted so far are deleted.
private func insertMany(
    _ context: Context, _ entity: Entity, rows: Int, keys: UnsafeBufferPointer<cst_key>,
    values: UnsafeBufferPointer<cst_value>, _ out: UnsafeMutablePointer<OpaquePointer?>?
) throws {
    var objects: [ManagedObject] = []
    objects.reserveCapacity(rows)
    var handled = 0
    do {
        for row in 0..<rows {
            let object = try context.insert(entity)
            objects.append(object)
            for (column, key) in keys.enumerated() {
                try object.set(try object.given(values[row * keys.count + column], key: key), key: key)
            }
        }
        guard let out else { return }
        for object in objects {
            out[handled] = try ownedHandle(object)
            handled += 1
        }
    } catch {
        for place in 0..<handled {
            HandleTable.releaseForHost(token(out?[place]))
            out?[place] = nil
        }
        try undoInsertions(objects, context, keys)
        throw error
    }
}

/// Deletes objects that were just inserted.
///
/// Their to-one relationships are first set to null, so that delete rules do not affect the targets.
private func undoInsertions(
    _ objects: [ManagedObject], _ context: Context, _ keys: UnsafeBufferPointer<cst_key>
) throws {
    for object in objects {
        for key in keys where object.isToOne(key: key) { try object.set(.null, key: key) }
        try context.delete(object)
    }
    try context.processPendingChanges()
}

@_cdecl("cst_context_insert_object") @implementation
public func cst_context_insert_object(
    _ pointer: OpaquePointer?, _ objectPointer: OpaquePointer?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let box = try onQueue(pointer)
        let object = try object(objectPointer)
        if object.context === box.context { return .unchanged }
        for taken in try box.context.insert(object) { keepAlive(box, for: taken) }
        return .ok
    }
}

@_cdecl("cst_context_delete") @implementation
public func cst_context_delete(
    _ pointer: OpaquePointer?, _ object: OpaquePointer?, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try onQueue(pointer).context.delete(try argument(object)) }
}

// MARK: - Changes

@_cdecl("cst_context_has_changes") @implementation
public func cst_context_has_changes(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<Bool>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try required(out, "out_changes").pointee = try onQueue(pointer).context.hasChanges }
}

@_cdecl("cst_context_has_persistent_changes") @implementation
public func cst_context_has_persistent_changes(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<Bool>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try required(out, "out_changes").pointee = try onQueue(pointer).context.hasPersistentChanges }
}

@_cdecl("cst_context_process_pending_changes") @implementation
public func cst_context_process_pending_changes(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    boundary(error) { try onQueue(pointer).context.processPendingChanges() }
}

@_cdecl("cst_context_save") @implementation
public func cst_context_save(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    boundary(error) { try onQueue(pointer).context.save() }
}

@_cdecl("cst_context_validate") @implementation
public func cst_context_validate(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    boundary(error) { try onQueue(pointer).context.validate() }
}

@_cdecl("cst_context_rollback") @implementation
public func cst_context_rollback(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    boundary(error) { try onQueue(pointer).context.rollback() }
}

@_cdecl("cst_context_reset") @implementation
public func cst_context_reset(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    boundary(error) { try onQueue(pointer).context.reset() }
}

@_cdecl("cst_context_copy_changed") @implementation
public func cst_context_copy_changed(
    _ pointer: OpaquePointer?, _ which: UInt32, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_results")
        let box = try onQueue(pointer)
        out.pointee = try ResultList(changed(which, box.context), entity: nil, box: box).makeHandle()
    }
}

@_cdecl("cst_context_changed_count") @implementation
public func cst_context_changed_count(
    _ pointer: OpaquePointer?, _ which: UInt32, _ out: UnsafeMutablePointer<UInt64>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_count")
        out.pointee = 0
        out.pointee = UInt64(try changed(which, onQueue(pointer).context).count)
    }
}

private func changed(_ which: UInt32, _ context: Context) throws -> [ManagedObject] {
    switch Int(which) {
    case Int(CST_CHANGED_INSERTED): context.insertedObjects
    case Int(CST_CHANGED_UPDATED): context.updatedObjects
    case Int(CST_CHANGED_DELETED): context.deletedObjects
    case Int(CST_CHANGED_REGISTERED): context.registeredObjects
    default:
        throw CoreError(
            .invalidArgument,
            "\(which) is not a set of objects; use CST_CHANGED_INSERTED, CST_CHANGED_UPDATED, CST_CHANGED_DELETED or "
                + "CST_CHANGED_REGISTERED", key: "which", value: .int(Int64(which)))
    }
}

// MARK: - Fetching

@_cdecl("cst_context_fetch") @implementation
public func cst_context_fetch(
    _ pointer: OpaquePointer?, _ requestPointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_results")
        let box = try onQueue(pointer)
        let request = try request(requestPointer)
        out.pointee = try ResultList(try box.context.fetch(request), entity: request.entity, box: box).makeHandle()
    }
}

@_cdecl("cst_context_fetch_ids") @implementation
public func cst_context_fetch_ids(
    _ pointer: OpaquePointer?, _ requestPointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_results")
        let box = try onQueue(pointer)
        let request = try request(requestPointer)
        let ids = try box.context.fetchIDs(request)
        out.pointee = try ResultList([], ids: ids, entity: request.entity, box: box).makeHandle()
    }
}

@_cdecl("cst_context_count") @implementation
public func cst_context_count(
    _ pointer: OpaquePointer?, _ requestPointer: OpaquePointer?, _ out: UnsafeMutablePointer<UInt64>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_count")
        out.pointee = 0
        out.pointee = UInt64(try onQueue(pointer).context.count(try request(requestPointer)))
    }
}

@_cdecl("cst_context_explain") @implementation
public func cst_context_explain(
    _ pointer: OpaquePointer?, _ requestPointer: OpaquePointer?, _ form: UInt32,
    _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_explanation")
        let context = try onQueue(pointer).context
        let request = try request(requestPointer)
        let (rows, json) = (UInt32(CST_EXPLAIN_ROWS), UInt32(CST_EXPLAIN_JSON))
        guard form & ~rows <= json else {
            throw CoreError(
                .invalidArgument,
                "\(form) is not a form of explanation; use CST_EXPLAIN_TEXT or CST_EXPLAIN_JSON, with or without "
                    + "CST_EXPLAIN_ROWS", entity: request.entityName, key: "form", value: .int(Int64(form)))
        }
        let found = try form & rows == 0 ? context.explain(request) : context.explainDictionaries(request)
        try out.fill(form & ~rows == json ? JSONText(found.report).text : found.description)
    }
}

private func id(_ pointer: OpaquePointer?) throws -> ObjectID {
    try resolve(pointer, .objectID, as: ObjectIDBox.self).id
}

@_cdecl("cst_context_object_with_id") @implementation
public func cst_context_object_with_id(
    _ pointer: OpaquePointer?, _ idPointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: ErrorOut
) -> cst_status {
    if let out, let found = registeredHandle(pointer, idPointer) {
        out.pointee = found
        return Status.ok.rawValue
    }
    return boundary(error) {
        let out = try place(out, "out_object")
        let box = try onQueue(pointer)
        guard let identifier = platform_handle_find(token(idPointer), HandleType.objectID.rawValue) else {
            throw invalidHandle(idPointer, .objectID)
        }
        out.pointee = try Unmanaged<ObjectIDBox>.fromOpaque(identifier.pointee.object)._withUnsafeGuaranteedRef {
            try ownedHandle(try box.context.object(with: $0.id))
        }
    }
}

/// Returns the handle of the registered object of an ID, with a reference for the host, for the frequent case.
///
/// This is the case of an object with a handle in a context without pending releases. The look-up neither retains nor
/// allocates anything. In all other cases it returns nil, and the caller takes the general path.
@inline(__always)
private func registeredHandle(_ pointer: OpaquePointer?, _ idPointer: OpaquePointer?) -> OpaquePointer? {
    guard let owner = platform_handle_find(token(pointer), HandleType.context.rawValue),
        let identifier = platform_handle_find(token(idPointer), HandleType.objectID.rawValue)
    else { return nil }
    let slot = Unmanaged<ContextBox>.fromOpaque(owner.pointee.object)._withUnsafeGuaranteedRef { box in
        guard box.isOnQueue, platform_load64(box.pendingReleases) == 0 else { return UInt(0) }
        return Unmanaged<ObjectIDBox>.fromOpaque(identifier.pointee.object)._withUnsafeGuaranteedRef {
            box.context.registeredHostSlot(of: $0.id)
        }
    }
    return slot != 0 && HandleTable.retainForHost(HandleToken(slot)) ? handle(HandleToken(slot)) : nil
}

@_cdecl("cst_context_existing_object") @implementation
public func cst_context_existing_object(
    _ pointer: OpaquePointer?, _ idPointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_object")
        let context = try onQueue(pointer).context
        out.pointee = try ownedHandle(try context.existingObject(with: try id(idPointer)))
    }
}

@_cdecl("cst_context_registered_object") @implementation
public func cst_context_registered_object(
    _ pointer: OpaquePointer?, _ idPointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_object")
        let context = try onQueue(pointer).context
        guard let object = context.registeredObject(with: try id(idPointer)) else { return .notFound }
        out.pointee = try ownedHandle(object)
        return .ok
    }
}

@_cdecl("cst_context_assign") @implementation
public func cst_context_assign(
    _ pointer: OpaquePointer?, _ objectPointer: OpaquePointer?, _ store: OpaquePointer?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let context = try onQueue(pointer).context
        let store = try resolve(store, .store, as: StoreBox.self).store
        try context.assign(try object(objectPointer), to: store)
    }
}

@_cdecl("cst_context_obtain_permanent_ids") @implementation
public func cst_context_obtain_permanent_ids(
    _ pointer: OpaquePointer?, _ count: Int, _ objects: UnsafePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let context = try onQueue(pointer).context
        try context.obtainPermanentIDs(for: try managedObjects(objects, count, "objects"))
    }
}

@_cdecl("cst_context_refresh_all") @implementation
public func cst_context_refresh_all(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    boundary(error) { try onQueue(pointer).context.refreshAll() }
}

/// Returns the objects of an array of handles, each of which must be valid.
func managedObjects(
    _ start: UnsafePointer<OpaquePointer?>?, _ count: Int, _ name: StaticString
) throws -> [ManagedObject] {
    try array(start, count, name).map { try argument($0) }
}
