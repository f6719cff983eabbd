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
    let work = Work(Userdata(userdata, destroy))
    return boundary(error) {
        guard let body else { throw CoreError(.invalidArgument, "body is NULL; there is nothing to perform") }
        let box = try contextBox(pointer)
        // The queue keeps the context's handle until the body ran, whatever the host releases meanwhile.
        work.box = box
        try box.context.enqueue { _ in work.run(body) }
    }
}

/// A body that waits for its turn.
private final class Work {
    private var userdata: Userdata?
    var box: ContextBox?

    init(_ userdata: Userdata) { self.userdata = userdata }

    /// Lets go of everything before it returns, while no lock of the queue is held: the host's destructor may call us.
    func run(_ body: cst_context_perform_fn) {
        guard let box, let userdata else { return }
        HandleTable.drain(box.pendingReleases)
        // Nobody waits for a failure of an asynchronous body; the header says that it is dropped.
        _ = try? call(body, userdata.pointer, box.handle)
        HandleTable.drain(box.pendingReleases)
        self.userdata = nil
        self.box = nil
    }
}

@_cdecl("cst_context_perform_and_wait") @implementation
public func cst_context_perform_and_wait(
    _ pointer: OpaquePointer?, _ body: cst_context_perform_fn?, _ userdata: UnsafeMutableRawPointer?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        guard let body else { throw CoreError(.invalidArgument, "body is NULL; there is nothing to perform") }
        let box = try contextBox(pointer)
        try withExtendedLifetime(box) {
            try box.context.runAndWait { _ in
                HandleTable.drain(box.pendingReleases)
                defer { HandleTable.drain(box.pendingReleases) }
                try call(body, userdata, box.handle)
            }
        }
    }
}

/// Calls the host; its failure becomes the detail of `callback`.
private func call(_ body: cst_context_perform_fn, _ userdata: UnsafeMutableRawPointer?, _ context: Handle?) throws {
    var failure: OpaquePointer?
    let status = body(userdata, context, &failure)
    defer { _ = HandleTable.releaseForHost(token(failure)) }
    guard status < 0 else { return }
    let detail = try? resolve(failure, .error, as: ErrorBox.self).error
    throw CoreError(
        .callback,
        detail.map { "the host's callback failed: \($0.message)" }
            ?? "the host's callback failed with status \(status)",
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
        box.context.interruptCheck = check.map { check in { check(payload.pointer) } }
    }
}
