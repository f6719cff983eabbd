import CCorestone
import CorestoneGraph
import CorestoneValues

@_cdecl("cst_coordinator_observe") @implementation
public func cst_coordinator_observe(
    _ pointer: OpaquePointer?, _ notification: UInt32, _ observe: cst_coordinator_observe_fn?,
    _ userdata: UnsafeMutableRawPointer?, _ destroy: cst_destroy_fn?, _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: ErrorOut
) -> cst_status {
    let payload = Userdata(userdata, destroy)
    return boundary(error) {
        let out = try place(out, "out_observation")
        let coordinator = try coordinator(pointer).coordinator
        guard let observe else { throw missingObserver() }
        let kind: CoordinatorNotification = try notificationKind(
            notification,
            choices: "CST_COORDINATOR_STORES_DID_CHANGE, CST_COORDINATOR_WILL_REMOVE_STORE or "
                + "CST_COORDINATOR_REMOTE_CHANGE")
        let own = token(pointer)
        let observation = coordinator.observe(kind) { _, changes in
            // If the host has released the coordinator's handle, the observer is not called.
            guard HandleTable.retain(own) else { return }
            defer { HandleTable.release(own) }
            BorrowedStores.withView(of: changes) { observe(payload.pointer, handle(own), notification, $0) }
        }
        out.pointee = try HandleTable.make(observation, .observation)
    }
}

/// The function that passes the content of a notification to a callback, borrowed for the call.
private enum BorrowedStores {
    static func withView(of changes: StoreChanges, to body: (UnsafePointer<cst_store_changes>) -> Void) {
        var handles: [OpaquePointer?] = []
        defer { for handle in handles { HandleTable.releaseForHost(token(handle)) } }
        func releaseAfterwards(_ handle: OpaquePointer?) -> OpaquePointer? {
            handles.append(handle)
            return handle
        }
        func borrowedHandle(_ store: Store) -> OpaquePointer? {
            releaseAfterwards(try? HandleTable.make(StoreBox(store), .store))
        }
        let (added, removed) = (changes.added.compactMap(borrowedHandle), changes.removed.compactMap(borrowedHandle))
        var output = cst_store_changes()
        if let replacement = changes.uuidChanged {
            let ids = replacement.migratedIDs
            (output.old_store, output.new_store) = (borrowedHandle(replacement.old), borrowedHandle(replacement.new))
            output.migrated_ids = releaseAfterwards(
                try? ResultList([], ids: ids, entity: ids.first?.entity, box: nil).makeHandle())
        }
        optionalPointers(added) { places in
            (output.added_count, output.added) = (places.count, places.baseAddress)
            optionalPointers(removed) { places in
                (output.removed_count, output.removed) = (places.count, places.baseAddress)
                guard let change = changes.remote else { return body(&output) }
                change.withView(borrowedHandle(change.store)) { remote in
                    output.remote = remote
                    body(&output)
                }
            }
        }
    }

    private static func optionalPointers(
        _ handles: [OpaquePointer], _ body: (UnsafeBufferPointer<OpaquePointer?>) -> Void
    ) { handles.map { Optional($0) }.withUnsafeBufferPointer(body) }
}
