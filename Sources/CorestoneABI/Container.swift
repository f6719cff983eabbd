import CCorestone
import CorestoneGraph
import CorestoneModel
import CorestoneContainers
import CorestoneValues

/// A container, and its borrowed handles.
final class ContainerBox {
    let container: Container
    /// The token of the coordinator's handle, which the box retains.
    let coordinatorToken: HandleToken
    private let view = Locked<ContextBox?>(nil)

    init(_ container: Container, coordinatorToken: HandleToken) {
        self.container = container
        self.coordinatorToken = coordinatorToken
    }

    deinit { HandleTable.release(coordinatorToken) }

    func box(of context: Context) throws -> ContextBox {
        guard HandleTable.retain(coordinatorToken) else {
            throw CoreError(
                .internal,
                "the coordinator's handle was released while a context needed it; report it as a defect of the library")
        }
        return ContextBox(context, coordinatorToken: coordinatorToken)
    }

    func viewHandle() throws -> Handle? {
        // On the first thread of the process, `viewContext` binds the main queue if it is not bound.
        let context = container.viewContext
        return try view.withLock { view in
            if let view { return view.handle }
            let made = try box(of: context)
            let handle = try made.makeBorrowedHandle()
            view = made
            return handle
        }
    }
}

func containerBox(_ pointer: OpaquePointer?) throws -> ContainerBox { try resolve(pointer, .container) }

@_cdecl("cst_container_new") @implementation
public func cst_container_new(
    _ name: cst_string, _ modelPointer: OpaquePointer?, _ settings: UnsafePointer<cst_container_options>?,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_container")
        let settings = try options(settings, cst_container_options(), "options")
        let container = try Container(
            name: try name.string("name"), model: try modelPointer.map { try model($0) },
            application: try settings.application.optionalString("options.application"),
            modelFolders: try filePaths(
                settings.model_folders, settings.model_folder_count, "options.model_folders"))
        out.pointee = try ownedHandle(container, model: modelPointer)
    }
}

@_cdecl("cst_container_open") @implementation
public func cst_container_open(
    _ path: cst_string, _ modelPointer: OpaquePointer?, _ settings: UnsafePointer<cst_store_options>?,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_container")
        let options = try openingOptions(settings)
        let container = try Container.open(
            try path.filePath("path"), model: try modelPointer.map { try model($0) }, options: options)
        out.pointee = try ownedHandle(container, model: modelPointer)
    }
}

private func ownedHandle(_ container: Container, model: OpaquePointer?) throws -> Handle? {
    let coordinator = try coordinatorHandle(container.coordinator, model: model)
    defer { HandleTable.releaseForHost(token(coordinator)) }
    guard HandleTable.retain(token(coordinator)) else { throw invalidHandle(coordinator, .coordinator) }
    return try HandleTable.make(ContainerBox(container, coordinatorToken: token(coordinator)), .container)
}

@_cdecl("cst_container_copy_data_folder") @implementation
public func cst_container_copy_data_folder(
    _ application: cst_string, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_path")
        try out.fill(try Container.defaultFolder(application: try application.optionalString("application")))
    }
}

@_cdecl("cst_container_add_description") @implementation
public func cst_container_add_description(
    _ pointer: OpaquePointer?, _ description: UnsafePointer<cst_store_description>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let container = try containerBox(pointer).container
        guard let description else {
            throw CoreError(
                .invalidArgument, "description is NULL; pass the description of a store", key: "description")
        }
        let given = try options(description, cst_store_description(), "description")
        let known = UInt32(CST_DESCRIPTION_ASYNCHRONOUS | CST_DESCRIPTION_NO_FOLDER)
        guard given.flags & ~known == 0 else {
            throw CoreError(
                .unsupported,
                "description.flags is 0x\(String(given.flags, radix: 16)); use only CST_DESCRIPTION_ASYNCHRONOUS and "
                    + "CST_DESCRIPTION_NO_FOLDER", key: "flags", value: .int(Int64(given.flags)))
        }
        var added = StoreDescription(
            path: given.path.data == nil ? nil : try given.path.filePath("description.path"),
            type: try storeType(given.type),
            options: try storeOptions(given.options, named: "description.options"))
        added.shouldAddStoreAsynchronously = given.flags & UInt32(CST_DESCRIPTION_ASYNCHRONOUS) != 0
        added.shouldMakeFolder = given.flags & UInt32(CST_DESCRIPTION_NO_FOLDER) == 0
        container.add(added)
    }
}

@_cdecl("cst_container_load") @implementation
public func cst_container_load(
    _ pointer: OpaquePointer?, _ handler: cst_container_load_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ destroy: cst_destroy_fn?, _ error: ErrorOut
) -> cst_status {
    // The userdata is freed with its last reference: at the end of this call on failure or without a handler,
    // otherwise after the last store.
    let payload = Userdata(userdata, destroy)
    return boundary(error) {
        let container = try containerBox(pointer).container
        guard let handler else { return try container.loadStores() }
        try container.loadStores { index, description, result in
            let path = Text(description.path ?? "")
            var store: Handle?, failure: Handle?
            switch result {
            case .success(let opened): store = try? HandleTable.make(StoreBox(opened), .store)
            case .failure(let error): failure = try? HandleTable.make(try ErrorBox(error), .error)
            }
            handler(payload.pointer, index, cst_string(path), store, failure)
            HandleTable.releaseForHost(token(store))
            HandleTable.releaseForHost(token(failure))
        }
    }
}

@_cdecl("cst_container_coordinator") @implementation
public func cst_container_coordinator(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_coordinator")
        out.pointee = handle(try containerBox(pointer).coordinatorToken)
    }
}

@_cdecl("cst_container_view_context") @implementation
public func cst_container_view_context(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_context")
        out.pointee = try containerBox(pointer).viewHandle()
    }
}

@_cdecl("cst_container_new_background_context") @implementation
public func cst_container_new_background_context(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_context")
        let box = try containerBox(pointer)
        out.pointee = try box.box(of: box.container.newBackgroundContext()).makeHandle()
    }
}

@_cdecl("cst_container_perform_background_task") @implementation
public func cst_container_perform_background_task(
    _ pointer: OpaquePointer?, _ body: cst_context_perform_fn?, _ done: cst_context_done_fn?,
    _ userdata: UnsafeMutableRawPointer?, _ destroy: cst_destroy_fn?, _ error: ErrorOut
) -> cst_status {
    let work = Work(Userdata(userdata, destroy))
    return boundary(error) {
        let body = try requiredBody(body)
        let container = try containerBox(pointer)
        let box = try container.box(of: container.container.newTaskContext())
        // The host does not own the handle, which is valid until the work has ended.
        _ = try box.makeBorrowedHandle()
        try work.enqueue(on: box, body, done, isTask: true)
    }
}

@_cdecl("cst_container_copy_report") @implementation
public func cst_container_copy_report(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_json")
        try out.fill(JSONText(try containerBox(pointer).container.report).text)
    }
}

extension Container {
    fileprivate var report: PropertyValue {
        func text(_ text: String?) -> PropertyValue { text.map { .string($0) } ?? .null }
        return .dictionary([
            "name": .string(name), "application": .string(application), "isClosed": .bool(isClosed),
            "stores": .array(
                storeDescriptions.map {
                    .dictionary([
                        "path": text($0.path), "type": text($0.type?.rawValue), "configuration": text($0.configuration),
                        "isAsynchronous": .bool($0.shouldAddStoreAsynchronously),
                    ])
                }),
            "unsaved": unsavedReport(unsavedChanges),
        ])
    }
}

/// Returns the unsaved changes of contexts as JSON.
func unsavedReport(_ changes: [UnsavedChanges]) -> PropertyValue {
    func counts(_ counts: UnsavedChanges.Counts?) -> [String: PropertyValue] {
        func number(_ count: Int?) -> PropertyValue { count.map { .int(Int64($0)) } ?? .null }
        return [
            "inserted": number(counts?.inserted), "updated": number(counts?.updated),
            "deleted": number(counts?.deleted),
        ]
    }
    return .array(
        changes.map { changes in
            var report = counts(changes.counts)
            report["context"] = .string(changes.context)
            report["name"] = changes.name.map { .string($0) } ?? .null
            report["file"] = (changes.origin?.file).map { .string($0) } ?? .null
            report["line"] = (changes.origin?.line).map { .int(Int64($0)) } ?? .null
            report["entities"] = changes.entities.map { .dictionary($0.mapValues { .dictionary(counts($0)) }) } ?? .null
            return .dictionary(report)
        })
}

@_cdecl("cst_container_save") @implementation
public func cst_container_save(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    boundary(error) { try containerBox(pointer).container.save() }
}

@_cdecl("cst_container_close") @implementation
public func cst_container_close(_ pointer: OpaquePointer?, _ unsaved: UInt32, _ error: ErrorOut) -> cst_status {
    boundary(error) {
        let container = try containerBox(pointer).container
        try container.close(try unsavedPolicy(unsaved))
    }
}

func unsavedPolicy(_ number: UInt32) throws -> Container.Unsaved {
    if let policy = Container.Unsaved(rawValue: number) { return policy }
    throw CoreError(
        .invalidArgument,
        "unsaved is \(number); use CST_UNSAVED_REFUSE, CST_UNSAVED_SAVE or CST_UNSAVED_DISCARD", key: "unsaved",
        value: .int(Int64(number)))
}
