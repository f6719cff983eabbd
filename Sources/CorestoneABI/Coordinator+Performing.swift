import CCorestone
import CorestoneGraph
import CorestoneValues

@_cdecl("cst_coordinator_perform") @implementation
public func cst_coordinator_perform(
    _ pointer: OpaquePointer?, _ body: cst_coordinator_perform_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ destroy: cst_destroy_fn?, _ error: ErrorOut
) -> cst_status {
    // The userdata is freed with its last reference: immediately on failure, otherwise after the body ran.
    let payload = Userdata(userdata, destroy)
    return boundary(error) {
        let body = try requiredBody(body)
        // A failure of an asynchronous body is ignored, as the header documents.
        try coordinator(pointer).coordinator.perform {
            withCallScope {
                performing { _ = try? callHost("the block performed on the coordinator") { body(payload.pointer, $0) } }
            }
        }
    }
}

@_cdecl("cst_coordinator_perform_and_wait") @implementation
public func cst_coordinator_perform_and_wait(
    _ pointer: OpaquePointer?, _ body: cst_coordinator_perform_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let body = try requiredBody(body)
        try coordinator(pointer).coordinator.performAndWait {
            try performing { _ = try callHost("the block performed on the coordinator") { body(userdata, $0) } }
        }
    }
}
