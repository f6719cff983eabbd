import CCorestone
import CPlatform
import CorestoneGraph
import CorestoneValues

@_cdecl("cst_context_perform") @implementation
public func cst_context_perform(
    _ pointer: OpaquePointer?, _ body: cst_context_perform_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ destroy: cst_destroy_fn?, _ error: ErrorOut
) -> cst_status {
    cst_context_schedule(pointer, cst_schedule(CST_SCHEDULE_ENQUEUED), body, nil, userdata, destroy, error)
}

@_cdecl("cst_context_schedule") @implementation
public func cst_context_schedule(
    _ pointer: OpaquePointer?, _ schedule: cst_schedule, _ body: cst_context_perform_fn?, _ done: cst_context_done_fn?,
    _ userdata: UnsafeMutableRawPointer?, _ destroy: cst_destroy_fn?, _ error: ErrorOut
) -> cst_status {
    // The userdata is freed with its last reference: immediately on failure, otherwise after the body ran or was
    // rejected.
    let work = Work(Userdata(userdata, destroy))
    return boundary(error) {
        let body = try requiredBody(body)
        let isImmediate = schedule == CST_SCHEDULE_IMMEDIATE
        guard isImmediate || schedule == CST_SCHEDULE_ENQUEUED else {
            throw CoreError(
                .invalidArgument,
                "\(schedule) is not a schedule; use CST_SCHEDULE_IMMEDIATE or CST_SCHEDULE_ENQUEUED",
                key: "schedule", value: .int(Int64(schedule)))
        }
        let box = try contextBox(pointer)
        if isImmediate && box.context.isOwn {
            work.box = box
            try box.context.runAndWait { _ in work.run(body, done) }
        } else {
            try work.enqueue(on: box, body, done)
        }
    }
}

/// Returns the function that is to run on a queue. Throws for NULL.
func requiredBody<Function>(_ body: Function?) throws -> Function {
    guard let body else {
        throw CoreError(.invalidArgument, "body is NULL; pass the function to be called", key: "body")
    }
    return body
}

/// A body to be run on the queue of a context.
final class Work {
    private var userdata: Userdata?
    /// The box, which keeps the context's handle valid until the body ran, even if the host releases the handle.
    fileprivate var box: ContextBox?
    /// Whether the context exists for this work only, so that its changes are discarded if the body fails.
    private var isTask = false

    init(_ userdata: Userdata) { self.userdata = userdata }

    func enqueue(
        on box: ContextBox, _ body: @escaping cst_context_perform_fn, _ done: cst_context_done_fn?,
        isTask: Bool = false
    ) throws {
        (self.box, self.isTask) = (box, isTask)
        try box.context.enqueue({ _ in self.run(body, done) }, refused: { self.refuse($0, done) })
    }

    /// Runs the body and `done`, then releases the userdata and the box.
    ///
    /// The queue does not hold a lock during the call, because the host's destructor may call the library.
    fileprivate func run(_ body: cst_context_perform_fn, _ done: cst_context_done_fn?) {
        guard let box, let userdata else { return }
        HandleTable.drain(box.pendingReleases)
        let result = Result {
            try call(body, userdata.pointer, box)
            if done != nil { try box.context.processPendingChanges() }
        }
        if isTask, case .failure = result { box.context.discardTask() }
        // Without `done`, a failure is ignored, as the header documents.
        if let done { notify(done, result, userdata.pointer, box.handle) }
        HandleTable.drain(box.pendingReleases)
        self.userdata = nil
        self.box = nil
    }

    /// Passes an error to `done` instead of running the body.
    fileprivate func refuse(_ error: any Error, _ done: cst_context_done_fn?) {
        guard let box, let userdata else { return }
        if let done { notify(done, .failure(error), userdata.pointer, box.handle) }
        self.userdata = nil
        self.box = nil
    }

    private func notify(
        _ done: cst_context_done_fn, _ result: Result<Void, any Error>, _ userdata: UnsafeMutableRawPointer?,
        _ context: Handle?
    ) {
        var error: OpaquePointer?
        let status = boundary(&error) { try result.get() }
        done(userdata, context, status, error)
        HandleTable.releaseForHost(token(error))
    }
}

@_cdecl("cst_context_lock") @implementation
public func cst_context_lock(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    boundary(error) { try contextBox(pointer).context.lock() }
}

@_cdecl("cst_context_try_lock") @implementation
public func cst_context_try_lock(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    outcome(error) { try contextBox(pointer).context.tryLock() ? .ok : .unchanged }
}

@_cdecl("cst_context_unlock") @implementation
public func cst_context_unlock(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    boundary(error) {
        let box = try contextBox(pointer)
        // On another thread, `unlock` throws the error of a missing lock.
        if box.isOnQueue { try box.enter() }
        try box.context.unlock()
    }
}

@_cdecl("cst_context_set_origin") @implementation
public func cst_context_set_origin(
    _ pointer: OpaquePointer?, _ file: cst_string, _ line: UInt32, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let context = try contextBox(pointer).context
        context.setOrigin(try file.optionalString("file").map { CallSite(file: $0, line: Int(line)) })
    }
}

@_cdecl("cst_context_perform_and_wait") @implementation
public func cst_context_perform_and_wait(
    _ pointer: OpaquePointer?, _ body: cst_context_perform_fn?, _ userdata: UnsafeMutableRawPointer?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let body = try requiredBody(body)
        let box = try contextBox(pointer)
        try withExtendedLifetime(box) {
            try box.context.runAndWait { _ in
                HandleTable.drain(box.pendingReleases)
                defer { HandleTable.drain(box.pendingReleases) }
                try call(body, userdata, box)
            }
        }
    }
}

private func call(_ body: cst_context_perform_fn, _ userdata: UnsafeMutableRawPointer?, _ box: ContextBox) throws {
    try performing {
        _ = try callHost("the block performed on the context\(box.context.name.map { " \"\($0)\"" } ?? "")") {
            body(userdata, box.handle, $0)
        }
    }
}

/// Runs a block of the host that is the only work of a call.
///
/// Objects that calls within the block release are freed when these calls return, unless `block` runs within another
/// callback.
func performing(_ block: () throws -> Void) rethrows {
    let suspended = platform_call_suspend()
    defer { platform_call_resume(suspended) }
    try block()
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
