import CCorestone
import CPlatform
import CorestoneGraph
import CorestoneValues

private func box(_ error: OpaquePointer?) -> ErrorBox? { try? resolve(error, .error) }

@_cdecl("cst_error_status") @implementation
public func cst_error_status(_ error: OpaquePointer?) -> cst_status {
    if platform_is_forked() { return Status.forked.rawValue }
    return box(error)?.error.status.rawValue ?? Status.invalidHandle.rawValue
}

@_cdecl("cst_error_code") @implementation
public func cst_error_code(_ error: OpaquePointer?) -> Int64 { Int64(box(error)?.error.code ?? 0) }

@_cdecl("cst_error_domain") @implementation
public func cst_error_domain(_ error: OpaquePointer?) -> cst_string { cst_string(box(error)?.domain) }

@_cdecl("cst_error_message") @implementation
public func cst_error_message(_ error: OpaquePointer?) -> cst_string { cst_string(box(error)?.message) }

@_cdecl("cst_error_entity") @implementation
public func cst_error_entity(_ error: OpaquePointer?) -> cst_string { cst_string(box(error)?.entity) }

@_cdecl("cst_error_key") @implementation
public func cst_error_key(_ error: OpaquePointer?) -> cst_string { cst_string(box(error)?.key) }

@_cdecl("cst_error_object_uri") @implementation
public func cst_error_object_uri(_ error: OpaquePointer?) -> cst_string { cst_string(box(error)?.objectURI) }

@_cdecl("cst_error_file") @implementation
public func cst_error_file(_ error: OpaquePointer?) -> cst_string { cst_string(box(error)?.file) }

@_cdecl("cst_error_predicate") @implementation
public func cst_error_predicate(_ error: OpaquePointer?) -> cst_string { cst_string(box(error)?.predicate) }

@_cdecl("cst_error_value") @implementation
public func cst_error_value(_ error: OpaquePointer?, _ out: UnsafeMutablePointer<cst_value>?) -> cst_status {
    outcome(nil) {
        let out = try required(out, "out_value")
        putNull(out)
        let box = try resolve(error, .error, as: ErrorBox.self)
        return box.putValue(out) ? .ok : .notFound
    }
}

@_cdecl("cst_error_sqlite_code") @implementation
public func cst_error_sqlite_code(_ error: OpaquePointer?) -> Int32 { box(error)?.error.sqliteCode ?? 0 }

@_cdecl("cst_error_offset") @implementation
public func cst_error_offset(_ error: OpaquePointer?) -> Int64 { Int64(box(error)?.error.offset ?? -1) }

@_cdecl("cst_error_detail_count") @implementation
public func cst_error_detail_count(_ error: OpaquePointer?) -> Int { box(error)?.details.count ?? 0 }

@_cdecl("cst_error_detail_at") @implementation
public func cst_error_detail_at(_ error: OpaquePointer?, _ index: Int) -> OpaquePointer? {
    guard !platform_is_forked(), let box = box(error), box.details.indices.contains(index) else { return nil }
    return handle(box.details[index])
}

@_cdecl("cst_error_copy_description") @implementation
public func cst_error_copy_description(_ error: OpaquePointer?, _ out: UnsafeMutablePointer<cst_buffer>?) -> cst_status
{
    boundary(nil) {
        let out = try required(out, "out_text")
        try out.fill(try resolve(error, .error, as: ErrorBox.self).error.description)
    }
}

@_cdecl("cst_error_new_custom") @implementation
public func cst_error_new_custom(
    _ domain: cst_string, _ code: Int64, _ message: cst_string, _ userdata: UnsafeMutableRawPointer?,
    _ destroy: cst_destroy_fn?, _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> cst_status {
    // The userdata is freed with its last reference: immediately on failure, otherwise with the error.
    let payload = Userdata(userdata, destroy)
    return boundary(nil) {
        let out = try place(out, "out_error")
        let text = try message.optionalString("message") ?? ""
        let error = CoreError(
            .callback, text,
            domain: try domain.optionalString("domain") ?? "Host",
            customCode: Int(code), payload: payload, isHosts: true)
        out.pointee = try HandleTable.make(try ErrorBox(error), .error)
    }
}

@_cdecl("cst_error_userdata") @implementation
public func cst_error_userdata(_ error: OpaquePointer?) -> UnsafeMutableRawPointer? {
    if platform_is_forked() { return nil }
    return (box(error)?.error.payload as? Userdata)?.pointer
}
