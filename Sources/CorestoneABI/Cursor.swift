import CCorestone
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// A cursor, and the entity of the lists that it returns.
final class CursorBox {
    let cursor: FetchCursor
    let entity: Entity
    /// The box of the context. It is alive as long as the host has a handle of the cursor, because it is the owner of
    /// that handle.
    unowned(unsafe) let box: ContextBox

    init(_ cursor: FetchCursor, entity: Entity, box: ContextBox) {
        self.cursor = cursor
        self.entity = entity
        self.box = box
    }
}

@_cdecl("cst_context_fetch_cursor") @implementation
public func cst_context_fetch_cursor(
    _ pointer: OpaquePointer?, _ requestPointer: OpaquePointer?, _ batchSize: Int,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_cursor")
        out.pointee = nil
        let box = try onQueue(pointer)
        let request = try request(requestPointer)
        // A size above Int.max arrives as a negative number.
        let given = batchSize < 0 ? .max : batchSize
        let cursor = try box.context.cursor(request, batchSize: given == 0 && request.batchSize > 0 ? nil : given)
        out.pointee = try HandleTable.make(
            CursorBox(cursor, entity: request.entity, box: box), .cursor, owner: box)
    }
}

@_cdecl("cst_cursor_copy_next") @implementation
public func cst_cursor_copy_next(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try required(out, "out_results")
        out.pointee = nil
        let cursor = try resolve(pointer, .cursor, as: CursorBox.self)
        try cursor.box.enter()
        let objects = try cursor.cursor.next()
        if objects.isEmpty { return .end }
        out.pointee = try ResultList(objects, entity: cursor.entity, box: cursor.box).makeHandle()
        return .ok
    }
}
