import CCorestone
import CPlatform
import CorestoneGraph
import CorestoneValues

@_cdecl("cst_context_set_name") @implementation
public func cst_context_set_name(_ pointer: OpaquePointer?, _ name: cst_string, _ error: ErrorOut) -> cst_status {
    boundary(error) {
        let context = try contextBox(pointer).context
        try context.checkQueue()
        context.name = try name.optionalString("name")
    }
}

@_cdecl("cst_context_set_transaction_author") @implementation
public func cst_context_set_transaction_author(
    _ pointer: OpaquePointer?, _ author: cst_string, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let context = try contextBox(pointer).context
        try context.checkQueue()
        context.transactionAuthor = try author.optionalString("author")
    }
}

@_cdecl("cst_context_copy_name") @implementation
public func cst_context_copy_name(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) { try fill(out, "out_name", onQueue(pointer).context.name) }
}

@_cdecl("cst_context_copy_transaction_author") @implementation
public func cst_context_copy_transaction_author(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) { try fill(out, "out_author", onQueue(pointer).context.transactionAuthor) }
}

private func fill(_ out: UnsafeMutablePointer<cst_buffer>?, _ name: StaticString, _ text: String?) throws -> Status {
    try required(out, name).fill(text ?? "")
    return text == nil ? .notFound : .ok
}

// MARK: - User info of a context

@_cdecl("cst_context_set_user_info") @implementation
public func cst_context_set_user_info(
    _ pointer: OpaquePointer?, _ userdata: UnsafeMutableRawPointer?, _ destroy: cst_destroy_fn?, _ error: ErrorOut
) -> cst_status {
    let payload = Userdata(userdata, destroy)
    return boundary(error) {
        let context = try onQueue(pointer).context
        // The former user info is freed last, because its destructor may read the user info of the context.
        let former = context.userInfo
        defer { withExtendedLifetime(former) {} }
        context.userInfo = payload
    }
}

@_cdecl("cst_context_user_info") @implementation
public func cst_context_user_info(_ pointer: OpaquePointer?) -> UnsafeMutableRawPointer? {
    if platform_is_forked() { return nil }
    return ((try? onQueue(pointer).context.userInfo) as? Userdata)?.pointer
}
