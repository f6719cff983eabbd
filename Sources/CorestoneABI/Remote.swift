import CCorestone
import CorestoneGraph

@_cdecl("cst_context_set_merges_remote_changes") @implementation
public func cst_context_set_merges_remote_changes(
    _ pointer: OpaquePointer?, _ merges: Bool, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try contextBox(pointer).context.setMergesRemoteChanges(merges) }
}

@_cdecl("cst_context_merges_remote_changes") @implementation
public func cst_context_merges_remote_changes(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<Bool>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        try required(out, "out_merges").pointee = try contextBox(pointer).context.automaticallyMergesRemoteChanges
    }
}

extension RemoteChange {
    /// Passes the change to a callback, borrowed for the call. The caller owns the handle of the store.
    func withView(_ store: OpaquePointer?, to body: (UnsafePointer<cst_remote_change>) -> Void) {
        var output = cst_remote_change()
        output.store = store
        output.store_identifier = cst_store_identifier(store)
        output.path = cst_store_path(store)
        output.has_history = historyToken != nil
        output.transaction = historyToken?.transactionNumber(ofStore: storeIdentifier) ?? 0
        output.is_own = isOwn
        output.file = file.rawValue
        withUnsafePointer(to: &output, body)
    }
}
