import CCorestone
import CorestoneGraph
import CorestoneValues

/// A controller, and the objects that its handle keeps alive.
final class ControllerBox {
    let controller: FetchedResultsController
    /// The box of the context. It is alive as long as the host has a handle of the controller, because it is the owner
    /// of that handle.
    unowned(unsafe) let box: ContextBox
    private let request: FetchRequestBox
    var delegate: HostDelegate? {
        didSet { controller.delegate = delegate }
    }

    init(_ controller: FetchedResultsController, _ request: FetchRequestBox, _ box: ContextBox) {
        (self.controller, self.request, self.box) = (controller, request, box)
    }

    func makeHandle() throws -> Handle? { try HandleTable.make(self, .controller, owner: box) }
}

/// Returns the box of a controller's handle. Throws if the calling thread may not use the controller's context.
private func controllerBox(_ pointer: OpaquePointer?) throws -> ControllerBox {
    let box = try resolve(pointer, .controller, as: ControllerBox.self)
    try box.box.enter()
    return box
}

@_cdecl("cst_controller_new") @implementation
public func cst_controller_new(
    _ pointer: OpaquePointer?, _ requestPointer: OpaquePointer?, _ sectionKeyPath: cst_string, _ cacheName: cst_string,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_controller")
        let box = try onQueue(pointer)
        let request = try requestBox(requestPointer)
        let controller = FetchedResultsController(
            fetchRequest: request.request, managedObjectContext: box.context,
            sectionNameKeyPath: try sectionKeyPath.optionalString("section_key_path"),
            cacheName: try cacheName.optionalString("cache_name"))
        out.pointee = try ControllerBox(controller, request, box).makeHandle()
    }
}

@_cdecl("cst_controller_new_with_sections") @implementation
public func cst_controller_new_with_sections(
    _ pointer: OpaquePointer?, _ requestPointer: OpaquePointer?, _ sectionName: cst_section_name_fn?,
    _ userdata: UnsafeMutableRawPointer?, _ destroy: cst_destroy_fn?, _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: ErrorOut
) -> cst_status {
    let host = HostCallback(sectionName, Userdata(userdata, destroy))
    return boundary(error) {
        let out = try place(out, "out_controller")
        let box = try onQueue(pointer)
        let request = try requestBox(requestPointer)
        let naming = try host.required("section_name")
        let controller = FetchedResultsController(
            fetchRequest: request.request, managedObjectContext: box.context
        ) { object in
            try withBorrowedHandle(object) { borrowed in
                try text("the host's section_name for an object of \(object.entity.name)", object) {
                    naming.function(naming.userdata, borrowed, $0, $1)
                }
            }
        }
        out.pointee = try ControllerBox(controller, request, box).makeHandle()
    }
}

/// Calls a callback of the host, and returns its string, or nil for null.
private func text(
    _ callback: @autoclosure () -> String, _ object: ManagedObject,
    _ body: (UnsafeMutablePointer<cst_value>, ErrorOut) -> cst_status
) throws -> String? {
    var answer = cst_value()
    let entity = object.entity.name
    try callHost(callback(), entity: entity, objectURI: object.objectID.uri) { body(&answer, $0) }
    switch try readingResult(callback(), entity: entity, objectURI: object.objectID.uri, { try hostValue(answer) }) {
    case .null: return nil
    case .text(let text): return text.string
    case let value:
        throw CoreError(
            .typeMismatch, "\(callback()) returned \(value.excerpt), not a string; return a string or null",
            entity: entity, value: value, objectURI: object.objectID.uri)
    }
}

@_cdecl("cst_controller_set_dependencies") @implementation
public func cst_controller_set_dependencies(
    _ pointer: OpaquePointer?, _ count: Int, _ paths: UnsafePointer<cst_string>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try controllerBox(pointer).controller.dependencyKeyPaths = try strings(paths, count, "paths") }
}

@_cdecl("cst_controller_set_delegate") @implementation
public func cst_controller_set_delegate(
    _ pointer: OpaquePointer?, _ delegate: UnsafePointer<cst_controller_delegate>?, _ error: ErrorOut
) -> cst_status {
    // The userdata is freed with its last reference: immediately on failure, otherwise with the delegate.
    let host = Result { try delegate.map { try HostDelegate.of(options($0, cst_controller_delegate(), "delegate")) } }
    return boundary(error) {
        let box = try controllerBox(pointer)
        let delegate = try host.get()
        delegate?.handle = pointer
        delegate?.box = box.box
        // The former delegate is freed last, because one of its functions may be the caller.
        let former = box.delegate
        box.delegate = delegate
        withExtendedLifetime(former) {}
    }
}

@_cdecl("cst_controller_perform_fetch") @implementation
public func cst_controller_perform_fetch(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    boundary(error) { try controllerBox(pointer).controller.performFetch() }
}

@_cdecl("cst_controller_copy_snapshot") @implementation
public func cst_controller_copy_snapshot(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_snapshot")
        let box = try controllerBox(pointer)
        guard let snapshot = box.controller.snapshot else { return .notFound }
        out.pointee = try SnapshotBox(snapshot, box.box).makeHandle()
        return .ok
    }
}

@_cdecl("cst_controller_copy_objects") @implementation
public func cst_controller_copy_objects(
    _ pointer: OpaquePointer?, _ section: Int, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_objects")
        let box = try controllerBox(pointer)
        guard let sections = box.controller.sections, let all = box.controller.fetchedObjects else { return .notFound }
        guard section == -1 || sections.indices.contains(section) else { throw noSection(section, of: sections.count) }
        let objects = section == -1 ? all : sections[section].objects
        out.pointee = try ResultList(objects, entity: box.controller.fetchRequest.entity, box: box.box).makeHandle()
        return .ok
    }
}

@_cdecl("cst_controller_copy_object") @implementation
public func cst_controller_copy_object(
    _ pointer: OpaquePointer?, _ section: Int, _ row: Int, _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_object")
        let path = ResultsIndexPath(row: row, section: section)
        out.pointee = try ownedHandle(try controllerBox(pointer).controller.object(at: path))
    }
}

@_cdecl("cst_controller_index_path") @implementation
public func cst_controller_index_path(
    _ pointer: OpaquePointer?, _ objectPointer: OpaquePointer?, _ out: UnsafeMutablePointer<cst_index_path>?,
    _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try required(out, "out_path")
        let path = try controllerBox(pointer).controller.indexPath(for: try object(objectPointer))
        out.pointee = cst_index_path(path)
        return path == nil ? .notFound : .ok
    }
}

@_cdecl("cst_controller_copy_title") @implementation
public func cst_controller_copy_title(
    _ pointer: OpaquePointer?, _ index: Int, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try required(out, "out_title")
        let titles = try controllerBox(pointer).controller.sectionIndexTitles
        guard titles.indices.contains(index) else { return .end }
        try out.fill(titles[index])
        return .ok
    }
}

@_cdecl("cst_controller_copy_section_title") @implementation
public func cst_controller_copy_section_title(
    _ pointer: OpaquePointer?, _ name: cst_string, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try required(out, "out_title")
        let controller = try controllerBox(pointer).controller
        guard let title = controller.sectionIndexTitle(forSectionName: try name.string("name")) else {
            return .notFound
        }
        try out.fill(title)
        return .ok
    }
}

@_cdecl("cst_controller_section_for_title") @implementation
public func cst_controller_section_for_title(
    _ pointer: OpaquePointer?, _ title: cst_string, _ index: Int, _ out: UnsafeMutablePointer<Int>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_section")
        let title = try title.string("title")
        out.pointee = try controllerBox(pointer).controller.section(forSectionIndexTitle: title, at: index)
    }
}

@_cdecl("cst_controller_delete_cache") @implementation
public func cst_controller_delete_cache(_ name: cst_string, _ error: ErrorOut) -> cst_status {
    boundary(error) { FetchedResultsController.deleteCache(withName: try name.optionalString("name")) }
}
