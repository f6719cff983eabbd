import CCorestone
import CorestoneGraph
import CorestoneModel
import CorestoneContainers
import CorestoneValues

/// A document, and the borrowed handle of its context.
final class DocumentBox {
    let document: Document
    private let context: ContextBox
    let contextHandle: Handle?

    /// Creates a box, which takes ownership of one of the library's references to the coordinator's token.
    init(_ document: Document, coordinatorToken: HandleToken) throws {
        self.document = document
        context = ContextBox(document.context, coordinatorToken: coordinatorToken)
        contextHandle = try context.makeBorrowedHandle()
    }
}

private func document(_ pointer: OpaquePointer?) throws -> Document {
    try resolve(pointer, .document, as: DocumentBox.self).document
}

private func ownedHandle(_ document: Document, model: OpaquePointer?) throws -> Handle? {
    let coordinator = try coordinatorHandle(document.coordinator, model: model)
    defer { HandleTable.releaseForHost(token(coordinator)) }
    guard HandleTable.retain(token(coordinator)) else { throw invalidHandle(coordinator, .coordinator) }
    return try HandleTable.make(try DocumentBox(document, coordinatorToken: token(coordinator)), .document)
}

private func queueType(_ queue: cst_queue) throws -> Context.QueueType {
    if let type = Context.QueueType(rawValue: queue) { return type }
    throw CoreError(
        .invalidArgument,
        "\(queue) is not a queue type; use CST_QUEUE_CALLER, CST_QUEUE_PRIVATE or CST_QUEUE_MAIN", key: "queue",
        value: .int(Int64(queue)))
}

@_cdecl("cst_document_new") @implementation
public func cst_document_new(
    _ modelPointer: OpaquePointer?, _ type: cst_string, _ queue: cst_queue,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_document")
        let made = try Document(
            model: try model(modelPointer), type: try storeType(type) ?? .sqlite, queue: try queueType(queue))
        out.pointee = try ownedHandle(made, model: modelPointer)
    }
}

@_cdecl("cst_document_open") @implementation
public func cst_document_open(
    _ path: cst_string, _ modelPointer: OpaquePointer?, _ settings: UnsafePointer<cst_store_options>?,
    _ queue: cst_queue, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_document")
        let opened = try Document.open(
            try path.filePath("path"), model: try modelPointer.map { try model($0) },
            options: try storeOptions(settings), queue: try queueType(queue))
        out.pointee = try ownedHandle(opened, model: modelPointer)
    }
}

@_cdecl("cst_document_context") @implementation
public func cst_document_context(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_context")
        out.pointee = try resolve(pointer, .document, as: DocumentBox.self).contextHandle
    }
}

@_cdecl("cst_document_copy_path") @implementation
public func cst_document_copy_path(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try required(out, "out_path")
        guard let path = try document(pointer).path else { return .notFound }
        try out.fill(path)
        return .ok
    }
}

@_cdecl("cst_document_state") @implementation
public func cst_document_state(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<UInt32>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try required(out, "out_flags").pointee = try document(pointer).state.rawValue }
}

@_cdecl("cst_document_has_unsaved_changes") @implementation
public func cst_document_has_unsaved_changes(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<Bool>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try required(out, "out_unsaved").pointee = try document(pointer).hasUnsavedChanges() }
}

@_cdecl("cst_document_copy_error") @implementation
public func cst_document_copy_error(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_failure")
        guard let failure = try document(pointer).lastError else { return .notFound }
        out.pointee = try HandleTable.make(try ErrorBox(failure), .error)
        return .ok
    }
}

@_cdecl("cst_document_observe") @implementation
public func cst_document_observe(
    _ pointer: OpaquePointer?, _ observe: cst_document_observe_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ destroy: cst_destroy_fn?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    let payload = Userdata(userdata, destroy)
    return boundary(error) {
        let out = try place(out, "out_observation")
        let document = try document(pointer)
        guard let observe else { throw missingObserver() }
        out.pointee = try HandleTable.make(
            document.observe { observe(payload.pointer, $0.rawValue) }, .observation)
    }
}

@_cdecl("cst_document_set_autosave") @implementation
public func cst_document_set_autosave(
    _ pointer: OpaquePointer?, _ changes: UInt32, _ idle: UInt32, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        try document(pointer).setAutosave(afterChanges: Int(changes), idleSeconds: Double(idle) / 1000)
    }
}

@_cdecl("cst_document_save") @implementation
public func cst_document_save(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    boundary(error) { try document(pointer).save() }
}

@_cdecl("cst_document_save_as") @implementation
public func cst_document_save_as(
    _ pointer: OpaquePointer?, _ type: cst_string, _ path: cst_string, _ replaces: Bool, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        try document(pointer).saveAs(try path.filePath("path"), type: try storeType(type), replaces: replaces)
    }
}

@_cdecl("cst_document_revert") @implementation
public func cst_document_revert(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    boundary(error) { try document(pointer).revert() }
}

@_cdecl("cst_document_close") @implementation
public func cst_document_close(_ pointer: OpaquePointer?, _ unsaved: UInt32, _ error: ErrorOut) -> cst_status {
    boundary(error) { try document(pointer).close(try unsavedPolicy(unsaved)) }
}
