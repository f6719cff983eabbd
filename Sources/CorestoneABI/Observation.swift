import CCorestone
import CorestoneGraph
import CorestoneModel
import CorestoneValues

@_cdecl("cst_context_observe") @implementation
public func cst_context_observe(
    _ pointer: OpaquePointer?, _ notification: UInt32, _ observe: cst_context_observe_fn?,
    _ userdata: UnsafeMutableRawPointer?, _ destroy: cst_destroy_fn?, _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: ErrorOut
) -> cst_status {
    // The userdata is freed with its last reference: immediately on failure, otherwise with the observation.
    let payload = Userdata(userdata, destroy)
    return boundary(error) {
        let out = try place(out, "out_observation")
        let context = try contextBox(pointer).context
        guard let observe else { throw missingObserver() }
        let kind: ContextNotification = try notificationKind(notification, constants: "CST_NOTIFICATION_")
        let token = context.observe(kind) { context, changes in
            guard let box = try? contextBox(context) else { return }
            withExtendedLifetime(box) {
                BorrowedChanges.withView(of: changes, kind, box) {
                    observe(payload.pointer, box.handle, notification, $0)
                }
            }
        }
        out.pointee = try HandleTable.make(token, .observation)
    }
}

@_cdecl("cst_object_observe") @implementation
public func cst_object_observe(
    _ pointer: OpaquePointer?, _ keyPath: cst_string, _ options: UInt32, _ observe: cst_object_observe_fn?,
    _ userdata: UnsafeMutableRawPointer?, _ destroy: cst_destroy_fn?, _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: ErrorOut
) -> cst_status {
    let payload = Userdata(userdata, destroy)
    return boundary(error) {
        let out = try place(out, "out_observation")
        let object = try object(pointer)
        let path = try keyPath.string("key_path")
        guard let observe else { throw missingObserver() }
        let known: ObservationOptions = [.initial, .prior]
        guard known.isSuperset(of: ObservationOptions(rawValue: options)) else {
            throw CoreError(
                .invalidArgument,
                "the options of the observation of \(object.objectID.entity.name).\(path) are \(options); "
                    + "use only CST_OBSERVE_INITIAL and CST_OBSERVE_PRIOR",
                entity: object.objectID.entity.name, key: path, value: .int(Int64(options)),
                objectURI: object.objectID.uri)
        }
        let text = Text(path)
        let token = try object.observe(keyPath: path, options: ObservationOptions(rawValue: options)) {
            withBorrowedChange($1, text, of: $0) { observe(payload.pointer, $0, $1) }
        }
        out.pointee = try HandleTable.make(token, .observation)
    }
}

@_cdecl("cst_observation_cancel") @implementation
public func cst_observation_cancel(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    boundary(error) { try resolve(pointer, .observation, as: Observation.self).cancel() }
}

func missingObserver() -> CoreError {
    CoreError(.invalidArgument, "observe is NULL; pass the function to be notified", key: "observe")
}

/// Returns the notification with the number of a constant.
func notificationKind<Kind: RawRepresentable<UInt32>>(_ number: UInt32, constants: String) throws -> Kind {
    try notificationKind(number, choices: "a \(constants) constant")
}

/// Returns the notification with the number of a constant. `choices` names the constants for the error.
func notificationKind<Kind: RawRepresentable<UInt32>>(_ number: UInt32, choices: String) throws -> Kind {
    if let kind = Kind(rawValue: number) { return kind }
    throw CoreError(
        .invalidArgument, "\(number) is not a notification; use \(choices)", key: "notification",
        value: .int(Int64(number)))
}

/// Passes an object and a change of its value to a callback, borrowed until the callback returns.
private func withBorrowedChange(
    _ change: ValueChange, _ path: Text, of object: ManagedObject,
    to body: (OpaquePointer?, UnsafePointer<cst_value_change>) -> Void
) {
    guard let borrowed = try? BorrowedHandle(object) else { return }
    defer { borrowed.end() }
    // A value that does not fit into a cst_value is passed as null.
    var cells = [cst_value(), cst_value()]
    for (place, value) in [change.old, change.new].enumerated() { try? putOwned(value, &cells[place]) }
    defer { for place in cells.indices { dispose(&cells[place]) } }
    change.indexes.withUnsafeBufferPointer { indexes in
        var output = cst_value_change()
        output.kind = change.kind.rawValue
        output.is_prior = change.isPrior
        output.key_path = cst_string(path)
        (output.old_value, output.new_value) = (cells[0], cells[1])
        output.index_count = indexes.count
        output.indexes = indexes.baseAddress
        body(borrowed.handle, &output)
    }
}

/// The function that passes the content of a notification to a callback, borrowed for the call.
private enum BorrowedChanges {
    static func withView(
        of changes: ContextChanges, _ kind: ContextNotification, _ box: ContextBox,
        to body: (UnsafePointer<cst_changes>) -> Void
    ) {
        var handles: [OpaquePointer?] = []
        defer { for handle in handles { HandleTable.releaseForHost(token(handle)) } }
        func list(_ objects: [ManagedObject], _ ids: [ObjectID]) -> OpaquePointer? {
            if objects.isEmpty && ids.isEmpty { return nil }
            let list = ResultList(objects, ids: ids, entity: nil, box: box)
            handles.append(try? list.makeHandle())
            return handles.last ?? nil
        }
        let ids = kind == .didSaveObjectIDs || kind == .didMergeChangesObjectIDs ? changes.ids : ChangedIDs()
        var output = cst_changes()
        output.inserted = list(changes.inserted, ids.inserted)
        output.updated = list(changes.updated, ids.updated)
        output.deleted = list(changes.deleted, ids.deleted)
        output.refreshed = list(changes.refreshed, ids.refreshed)
        output.invalidated = list(changes.invalidated, ids.invalidated)
        output.invalidated_all = changes.invalidatedAll
        if let generation = changes.queryGeneration {
            handles.append(try? HandleTable.make(generation, .queryGeneration))
            output.query_generation = handles.last ?? nil
        }
        body(&output)
    }
}
