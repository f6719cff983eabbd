import CCorestone
import CorestoneGraph
import CorestoneModel
import CorestoneValues

@_cdecl("cst_context_new_child") @implementation
public func cst_context_new_child(
    _ pointer: OpaquePointer?, _ queue: cst_queue, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_context")
        let parent = try contextBox(pointer)
        guard let queue = Context.QueueType(rawValue: queue) else {
            throw CoreError(
                .invalidArgument,
                "\(queue) is not a queue type; use CST_QUEUE_CALLER, CST_QUEUE_PRIVATE or CST_QUEUE_MAIN",
                key: "queue", value: .int(Int64(queue)))
        }
        guard HandleTable.retain(parent.coordinatorToken) else { throw invalidHandle(pointer, .context) }
        let child = Context(on: parent.context.coordinator, parent: parent.context, queue: queue)
        out.pointee = try ContextBox(child, coordinatorToken: parent.coordinatorToken, parent: parent).makeHandle()
    }
}

@_cdecl("cst_context_parent") @implementation
public func cst_context_parent(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_parent")
        guard let parent = try contextBox(pointer).parent else { return .notFound }
        out.pointee = parent.handle
        return .ok
    }
}

@_cdecl("cst_context_set_automatically_merges") @implementation
public func cst_context_set_automatically_merges(
    _ pointer: OpaquePointer?, _ merges: Bool, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try contextBox(pointer).context.automaticallyMergesChangesFromParent = merges }
}

@_cdecl("cst_context_automatically_merges") @implementation
public func cst_context_automatically_merges(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<Bool>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        try required(out, "out_merges").pointee = try contextBox(pointer).context.automaticallyMergesChangesFromParent
    }
}

@_cdecl("cst_context_merge_changes") @implementation
public func cst_context_merge_changes(
    _ pointer: OpaquePointer?, _ insertedCount: Int, _ inserted: UnsafePointer<OpaquePointer?>?, _ updatedCount: Int,
    _ updated: UnsafePointer<OpaquePointer?>?, _ deletedCount: Int, _ deleted: UnsafePointer<OpaquePointer?>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let context = try onQueue(pointer).context
        func ids(_ start: UnsafePointer<OpaquePointer?>?, _ count: Int, _ name: StaticString) throws -> [ObjectID] {
            try array(start, count, name).map { try resolve($0, .objectID, as: ObjectIDBox.self).id }
        }
        try context.mergeChanges(
            ChangedIDs(
                inserted: try ids(inserted, insertedCount, "inserted"),
                updated: try ids(updated, updatedCount, "updated"),
                deleted: try ids(deleted, deletedCount, "deleted")))
    }
}

@_cdecl("cst_context_merge_remote_changes") @implementation
public func cst_context_merge_remote_changes(
    _ pointer: OpaquePointer?, _ insertedCount: Int, _ inserted: UnsafePointer<cst_string>?, _ updatedCount: Int,
    _ updated: UnsafePointer<cst_string>?, _ deletedCount: Int, _ deleted: UnsafePointer<cst_string>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let context = try onQueue(pointer).context
        func uris(_ start: UnsafePointer<cst_string>?, _ count: Int, _ name: StaticString) throws -> [RemoteObject] {
            try strings(start, count, name).map { .uri($0) }
        }
        try Context.mergeChanges(
            fromRemoteContextSave: [
                "inserted": try uris(inserted, insertedCount, "inserted"),
                "updated": try uris(updated, updatedCount, "updated"),
                "deleted": try uris(deleted, deletedCount, "deleted"),
            ], into: [context])
    }
}
