import CCorestone
import CorestoneGraph
import CorestoneValues

/// An editor of the host.
private final class HostEditor: Editor {
    private let commit: cst_context_perform_fn
    private let discard: cst_context_perform_fn?
    private let userdata: Userdata
    /// The context, which owns the editor.
    private unowned let context: Context

    init(
        _ context: Context, _ commit: cst_context_perform_fn, _ discard: cst_context_perform_fn?, _ userdata: Userdata
    ) { (self.context, self.commit, self.discard, self.userdata) = (context, commit, discard, userdata) }

    func commitEditing() throws {
        let box = try contextBox(context)
        _ = try callHost("the function that commits the editing") { commit(userdata.pointer, box.handle, $0) }
    }

    func discardEditing() {
        guard let discard, let box = try? contextBox(context) else { return }
        _ = try? callHost("the function that discards the editing") { discard(userdata.pointer, box.handle, $0) }
    }
}

@_cdecl("cst_context_begin_editing") @implementation
public func cst_context_begin_editing(
    _ pointer: OpaquePointer?, _ commit: cst_context_perform_fn?, _ discard: cst_context_perform_fn?,
    _ userdata: UnsafeMutableRawPointer?, _ destroy: cst_destroy_fn?, _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: ErrorOut
) -> cst_status {
    // The userdata is freed with its last reference: immediately on failure, otherwise with the editor.
    let payload = Userdata(userdata, destroy)
    return boundary(error) {
        let out = try place(out, "out_editing")
        let context = try contextBox(pointer).context
        guard let commit else {
            throw CoreError(
                .invalidArgument, "commit is NULL; pass the function that applies the changes of the editor",
                key: "commit")
        }
        out.pointee = try HandleTable.make(
            context.edit(with: HostEditor(context, commit, discard, payload)), .observation)
    }
}

@_cdecl("cst_context_commit_editing") @implementation
public func cst_context_commit_editing(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    boundary(error) { try onQueue(pointer).context.commitEditing() }
}

@_cdecl("cst_context_discard_editing") @implementation
public func cst_context_discard_editing(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    boundary(error) { try onQueue(pointer).context.discardEditing() }
}
