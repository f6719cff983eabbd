import CCorestone
import CorestoneGraph
import CorestoneValues

private func id(_ pointer: OpaquePointer?) throws -> ObjectID {
    try resolve(pointer, .objectID, as: ObjectIDBox.self).id
}

@_cdecl("cst_object_id_copy_uri") @implementation
public func cst_object_id_copy_uri(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try required(out, "out_uri").fill(try id(pointer).uri) }
}

@_cdecl("cst_object_id_is_temporary") @implementation
public func cst_object_id_is_temporary(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<Bool>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try required(out, "out_temporary").pointee = try id(pointer).isTemporary }
}

@_cdecl("cst_object_id_entity") @implementation
public func cst_object_id_entity(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_entity")
        out.pointee = try borrowedHandle(try id(pointer).entity)
    }
}

@_cdecl("cst_object_id_equal") @implementation
public func cst_object_id_equal(_ a: OpaquePointer?, _ b: OpaquePointer?) -> Bool {
    guard let a = try? id(a), let b = try? id(b) else { return false }
    return a == b
}

@_cdecl("cst_object_id_hash") @implementation
public func cst_object_id_hash(_ pointer: OpaquePointer?) -> UInt64 {
    guard let id = try? id(pointer) else { return 0 }
    // The multiplication distributes the IDs over the high bits. The result is never 0, which means an invalid handle.
    return UInt64(bitPattern: id.reference) &* 0x9E37_79B9_7F4A_7C15 | 1
}
