import CCorestone
import CorestoneGraph
import CorestoneValues

@_cdecl("cst_coordinator_set_name") @implementation
public func cst_coordinator_set_name(_ pointer: OpaquePointer?, _ name: cst_string, _ error: ErrorOut) -> cst_status {
    boundary(error) { try coordinator(pointer).coordinator.name = try name.optionalString("name") }
}

@_cdecl("cst_coordinator_copy_name") @implementation
public func cst_coordinator_copy_name(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try required(out, "out_name")
        guard let name = try coordinator(pointer).coordinator.name else { return .notFound }
        try out.fill(name)
        return .ok
    }
}
