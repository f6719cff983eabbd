import CCorestone
import CorestoneGraph
import CorestoneValues

@_cdecl("cst_history_cursor_wait") @implementation
public func cst_history_cursor_wait(
    _ pointer: OpaquePointer?, _ milliseconds: Int64, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let cursor = try historyCursor(pointer).following()
        return try cursor.wait(milliseconds: milliseconds < 0 ? nil : Int(clamping: milliseconds)) ? .ok : .end
    }
}

@_cdecl("cst_history_cursor_cancel") @implementation
public func cst_history_cursor_cancel(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    boundary(error) { try historyCursor(pointer).following().cancel() }
}

@_cdecl("cst_history_cursor_descriptor") @implementation
public func cst_history_cursor_descriptor(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<Int32>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_descriptor")
        out.pointee = -1
        out.pointee = try historyCursor(pointer).following().descriptor()
    }
}

@_cdecl("cst_history_cursor_copy_value") @implementation
public func cst_history_cursor_copy_value(
    _ pointer: OpaquePointer?, _ change: Int, _ property: cst_string, _ out: UnsafeMutablePointer<cst_value>?,
    _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try required(out, "out_value")
        putNull(out)
        let property = try property.string("property")
        let values = try historyCursor(pointer).values(ofChange: change)
        guard let value = values?[property] else { return .notFound }
        try putOwned(value, out)
        return .ok
    }
}

@_cdecl("cst_coordinator_follow_history") @implementation
public func cst_coordinator_follow_history(
    _ pointer: OpaquePointer?, _ given: UnsafePointer<cst_history_options>?, _ follow: cst_history_fn?,
    _ ended: cst_history_ended_fn?, _ userdata: UnsafeMutableRawPointer?, _ destroy: cst_destroy_fn?,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    // The userdata is freed with its last reference: immediately on failure, otherwise with the observation.
    let payload = Userdata(userdata, destroy)
    return boundary(error) {
        let out = try place(out, "out_observation")
        let box = try coordinator(pointer)
        let request = try historyRequest(given)
        guard let follow else {
            throw CoreError(
                .invalidArgument, "follow is NULL; pass the function to be called with each transaction", key: "follow")
        }
        let observation = try box.coordinator.followHistory(
            request,
            ended: { failure in
                guard let ended else { return }
                let known =
                    failure as? CoreError
                    ?? CoreError(
                        .internal, "cannot follow the history: \(failure); report it as a defect of the library")
                guard let handle = try? HandleTable.make(try ErrorBox(known), .error) else { return }
                ended(payload.pointer, handle)
                HandleTable.releaseForHost(token(handle))
            },
            { transaction, cursor in
                let cursorBox = HistoryCursorBox(cursor, transaction, box)
                let handle = try HandleTable.make(cursorBox, .historyCursor)
                defer { HandleTable.releaseForHost(token(handle)) }
                let view = try cursorBox.view()
                try callHost("the callback follow", file: transaction.store.path) {
                    follow(payload.pointer, handle, view, $0)
                }
            })
        out.pointee = try HandleTable.make(observation, .observation)
    }
}
