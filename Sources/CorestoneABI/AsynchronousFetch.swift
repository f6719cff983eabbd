import CCorestone
import CorestoneGraph
import CorestoneValues

/// The object behind a `cst_asynchronous_fetch`.
private final class AsynchronousFetchBox {
    let request: FetchRequest
    /// The context's box, which is the owner of the handle. The box is alive as long as the host has a handle of the
    /// fetch, and until the fetch has ended. A strong reference would leak both objects when another thread releases
    /// the last handle: the context's box then has to free the fetch, but the fetch would keep the box alive.
    unowned(unsafe) let box: ContextBox
    /// The result of the fetch. It is set once, before the fetch can end.
    var result: AsynchronousFetchResult?

    init(_ request: FetchRequest, _ box: ContextBox) { (self.request, self.box) = (request, box) }
}

private func fetchBox(_ pointer: OpaquePointer?) throws -> AsynchronousFetchBox {
    try resolve(pointer, .asynchronousFetch)
}

/// The host's completion callback, and the handle of the fetch that the callback receives. Both are released when the
/// fetch has ended.
private final class FetchEnd {
    private let done: cst_fetch_done_fn?
    private var userdata: Userdata?
    var token: HandleToken = 0

    init(_ done: cst_fetch_done_fn?, _ userdata: Userdata) { (self.done, self.userdata) = (done, userdata) }

    func notify(_ box: ContextBox) {
        HandleTable.drain(box.pendingReleases)
        done?(userdata?.pointer, handle(token))
        userdata = nil
        if token != 0 { HandleTable.release(token) }
        token = 0
        HandleTable.drain(box.pendingReleases)
    }
}

@_cdecl("cst_context_fetch_asynchronously") @implementation
public func cst_context_fetch_asynchronously(
    _ pointer: OpaquePointer?, _ requestPointer: OpaquePointer?, _ estimate: UInt64, _ done: cst_fetch_done_fn?,
    _ userdata: UnsafeMutableRawPointer?, _ destroy: cst_destroy_fn?, _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: ErrorOut
) -> cst_status {
    // The userdata is freed with its last reference: immediately on failure, otherwise at the end of the fetch.
    let end = FetchEnd(done, Userdata(userdata, destroy))
    return boundary(error) {
        let out = try place(out, "out_fetch")
        let box = try onQueue(pointer)
        let own = AsynchronousFetchBox(try request(requestPointer).copy(), box)
        let asynchronous = AsynchronousFetchRequest(own.request) { _ in end.notify(box) }
        asynchronous.estimatedResultCount = Int(clamping: estimate)
        guard case .asynchronous(let result) = try box.context.execute(asynchronous) else { return }
        own.result = result
        let made = try HandleTable.make(own, .asynchronousFetch, owner: box)
        if HandleTable.retain(token(made)) { end.token = token(made) }
        out.pointee = made
    }
}

@_cdecl("cst_asynchronous_fetch_cancel") @implementation
public func cst_asynchronous_fetch_cancel(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    outcome(error) {
        guard let result = try fetchBox(pointer).result, !result.progress.isFinished else { return .unchanged }
        result.cancel()
        return .ok
    }
}

@_cdecl("cst_asynchronous_fetch_progress") @implementation
public func cst_asynchronous_fetch_progress(
    _ pointer: OpaquePointer?, _ outCompleted: UnsafeMutablePointer<UInt64>?,
    _ outTotal: UnsafeMutablePointer<UInt64>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let outCompleted = try required(outCompleted, "out_completed"), outTotal = try required(outTotal, "out_total")
        (outCompleted.pointee, outTotal.pointee) = (0, 0)
        guard let progress = try fetchBox(pointer).result?.progress else { return .ok }
        outCompleted.pointee = UInt64(progress.completedUnitCount)
        outTotal.pointee = UInt64(progress.totalUnitCount)
        return progress.isFinished ? .end : .ok
    }
}

@_cdecl("cst_asynchronous_fetch_copy_result") @implementation
public func cst_asynchronous_fetch_copy_result(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<cst_request_result>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try required(out, "out_result")
        out.pointee = cst_request_result()
        let own = try fetchBox(pointer)
        try own.box.enter()
        if let failure = own.result?.operationError { throw failure }
        guard let found = own.result?.finalResult else { return .notFound }
        out.pointee = try requestResult(found, own.request, own.box)
        return .ok
    }
}
