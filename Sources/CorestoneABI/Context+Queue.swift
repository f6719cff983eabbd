import CCorestone
import CPlatform
import CorestoneGraph
import CorestoneValues

@_cdecl("cst_context_perform") @implementation
public func cst_context_perform(
    _ pointer: OpaquePointer?, _ body: cst_context_perform_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ destroy: cst_destroy_fn?, _ error: ErrorOut
) -> cst_status {
    // Freed when the last reference goes: at once on failure, else after the body ran.
    let payload = Userdata(userdata, destroy)
    return boundary(error) {
        guard let body else { throw CoreError(.invalidArgument, "body is NULL; there is nothing to perform") }
        let context = try contextBox(pointer).context
        // The queue keeps the context's handle until the body ran, whatever the host releases meanwhile.
        guard platform_handle_retain(token(pointer)) else { throw invalidHandle(pointer, .context) }
        let kept = KeptToken(UInt(token(pointer)))
        try context.enqueue { context in
            withExtendedLifetime((payload, kept)) {
                drainReleases(context)
                // Nobody waits for a failure of an asynchronous body; the header says that it is dropped.
                _ = try? call(body, payload.pointer, kept.token)
            }
        }
    }
}

@_cdecl("cst_context_perform_and_wait") @implementation
public func cst_context_perform_and_wait(
    _ pointer: OpaquePointer?, _ body: cst_context_perform_fn?, _ userdata: UnsafeMutableRawPointer?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        guard let body else { throw CoreError(.invalidArgument, "body is NULL; there is nothing to perform") }
        let context = try contextBox(pointer).context
        guard platform_handle_retain(token(pointer)) else { throw invalidHandle(pointer, .context) }
        let kept = KeptToken(UInt(token(pointer)))
        try context.runAndWait { context in
            drainReleases(context)
            defer { drainReleases(context) }
            try call(body, userdata, kept.token)
        }
    }
}

/// A token that lives as long as this does.
private final class KeptToken {
    let token: UInt
    init(_ token: UInt) { self.token = token }
    deinit { releaseToken(UInt64(token)) }
}

/// Calls the host; its failure becomes the detail of `callback`.
private func call(_ body: cst_context_perform_fn, _ userdata: UnsafeMutableRawPointer?, _ context: UInt) throws {
    var failure: OpaquePointer?
    let status = body(userdata, handle(context), &failure)
    defer { if failure != nil { releaseToken(token(failure)) } }
    guard status < 0 else { return }
    let detail = try? resolve(failure, .error, as: ErrorBox.self).error
    throw CoreError(
        .callback, detail.map { "the host's callback failed: \($0.message)" } ?? "the host's callback failed with status \(status)",
        entity: detail?.entity, key: detail?.key, value: detail?.value, objectURI: detail?.objectURI,
        children: detail.map { [$0] } ?? [])
}

@_cdecl("cst_context_set_interrupt") @implementation
public func cst_context_set_interrupt(
    _ pointer: OpaquePointer?, _ check: cst_context_interrupt_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ destroy: cst_destroy_fn?, _ error: ErrorOut
) -> cst_status {
    let payload = Userdata(userdata, destroy)
    return boundary(error) {
        let box = try contextBox(pointer)
        try box.context.checkQueue()
        box.interrupt = check == nil ? nil : payload
        box.context.interruptCheck = check.map { check in { check(payload.pointer) } }
    }
}
