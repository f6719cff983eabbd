import CCorestone
import CPlatform
import CorestoneContainers
import CorestoneFormats
import CorestoneGraph
import CorestoneModel
import CorestoneSQLite
import CorestoneValues

@_cdecl("cst_coordinator_replace_store") @implementation
public func cst_coordinator_replace_store(
    _ pointer: OpaquePointer?, _ type: cst_string, _ path: cst_string, _ source: cst_string,
    _ settings: UnsafePointer<cst_store_options>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let coordinator = try coordinator(pointer).coordinator
        let type = try type.optionalString("type").map { try StoreTypes.type(named: $0) }
        try coordinator.replaceStore(
            type, at: try path.filePath("path"), byStoreAt: try source.filePath("source_path"),
            options: try storeOptions(settings))
    }
}

@_cdecl("cst_coordinator_set_store_path") @implementation
public func cst_coordinator_set_store_path(
    _ pointer: OpaquePointer?, _ store: OpaquePointer?, _ path: cst_string, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        try coordinator(pointer).coordinator.setPath(try path.filePath("path"), of: try storeBox(store).store)
    }
}

@_cdecl("cst_coordinator_store_count") @implementation
public func cst_coordinator_store_count(_ pointer: OpaquePointer?) -> Int {
    // In a forked child, the lock of the stores may be held by a thread that exists only in the parent process.
    platform_is_forked() ? 0 : (try? coordinator(pointer))?.coordinator.stores.count ?? 0
}

@_cdecl("cst_coordinator_store") @implementation
public func cst_coordinator_store(
    _ pointer: OpaquePointer?, _ index: Int, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_store")
        let stores = try coordinator(pointer).coordinator.stores
        return try putHandle(stores.indices.contains(index) ? stores[index] : nil, out)
    }
}

@_cdecl("cst_coordinator_store_at") @implementation
public func cst_coordinator_store_at(
    _ pointer: OpaquePointer?, _ path: cst_string, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_store")
        return try putHandle(try coordinator(pointer).coordinator.store(at: try path.filePath("path")), out)
    }
}

private func putHandle(_ store: Store?, _ out: UnsafeMutablePointer<OpaquePointer?>) throws -> Status {
    guard let store else { return .notFound }
    out.pointee = try HandleTable.make(StoreBox(store), .store)
    return .ok
}

// MARK: Metadata

@_cdecl("cst_coordinator_copy_metadata") @implementation
public func cst_coordinator_copy_metadata(
    _ pointer: OpaquePointer?, _ store: OpaquePointer?, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_plist")
        let values = try coordinator(pointer).coordinator.metadata(of: try storeBox(store).store)
        try encodePropertyList(.dictionary(values)).withUnsafeBytes { try out.fill($0) }
    }
}

@_cdecl("cst_coordinator_set_metadata") @implementation
public func cst_coordinator_set_metadata(
    _ pointer: OpaquePointer?, _ store: OpaquePointer?, _ plist: cst_bytes, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let coordinator = try coordinator(pointer).coordinator
        let store = try storeBox(store).store
        try coordinator.setMetadata(entries(plist, of: store.path), of: store)
    }
}

@_cdecl("cst_store_set_metadata") @implementation
public func cst_store_set_metadata(_ path: cst_string, _ plist: cst_bytes, _ error: ErrorOut) -> cst_status {
    boundary(error) {
        let path = try path.filePath("path")
        try StoreMetadata.set(entries(plist, of: path), ofStoreAt: path)
    }
}

private func entries(_ plist: cst_bytes, of path: String) throws -> [String: PropertyListValue] {
    try StoreMetadata.entries(decoding: plist.array("plist", limit: 1 << 28, file: path), file: path)
}

// MARK: Maintenance

@_cdecl("cst_coordinator_backup_store") @implementation
public func cst_coordinator_backup_store(
    _ pointer: OpaquePointer?, _ store: OpaquePointer?, _ path: cst_string,
    _ settings: UnsafePointer<cst_store_options>?, _ progress: cst_progress_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let coordinator = try coordinator(pointer).coordinator
        try coordinator.backup(
            try storeBox(store).store, to: try path.filePath("path"), options: try storeOptions(settings)
        ) { done, total in progress?(userdata, UInt64(done), UInt64(total)) ?? true }
    }
}

@_cdecl("cst_coordinator_checkpoint_store") @implementation
public func cst_coordinator_checkpoint_store(
    _ pointer: OpaquePointer?, _ store: OpaquePointer?, _ mode: UInt32, _ outPages: UnsafeMutablePointer<UInt64>?,
    _ outDone: UnsafeMutablePointer<UInt64>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        outPages?.pointee = 0
        outDone?.pointee = 0
        let coordinator = try coordinator(pointer).coordinator
        let store = try storeBox(store).store
        guard let mode = CheckpointMode(rawValue: mode) else {
            throw CoreError(
                .invalidArgument,
                "mode is \(mode); use a mode from CST_CHECKPOINT_PASSIVE to CST_CHECKPOINT_TRUNCATE", key: "mode",
                value: .int(Int64(mode)), file: store.path)
        }
        guard let result = try coordinator.checkpoint(store, mode) else { return .unchanged }
        outPages?.pointee = UInt64(result.logFrames)
        outDone?.pointee = UInt64(result.checkpointedFrames)
        return .ok
    }
}

@_cdecl("cst_coordinator_optimize_store") @implementation
public func cst_coordinator_optimize_store(
    _ pointer: OpaquePointer?, _ store: OpaquePointer?, _ out: UnsafeMutablePointer<UInt64>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        out?.pointee = 0
        let coordinator = try coordinator(pointer).coordinator
        let removed = try coordinator.optimize(try storeBox(store).store)
        out?.pointee = UInt64(removed.count)
    }
}

// MARK: Reports

@_cdecl("cst_coordinator_compare") @implementation
public func cst_coordinator_compare(
    _ pointer: OpaquePointer?, _ other: OpaquePointer?, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_report")
        let found = try GraphComparison(coordinator(pointer).coordinator, coordinator(other).coordinator)
        let report: [String: PropertyValue] = [
            "objects": .int(Int64(found.objects)), "values": .int(Int64(found.values)),
            "equal": .int(Int64(found.equalValues)), "differences": .int(Int64(found.differenceCount)),
            "details": .array(found.differences.map { .string($0) }),
        ]
        try out.fill(JSONText(.dictionary(report)).text)
    }
}

@_cdecl("cst_store_copy_views") @implementation
public func cst_store_copy_views(
    _ path: cst_string, _ modelPointer: OpaquePointer?, _ dates: UInt32, _ isTemporary: Bool,
    _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_sql")
        guard let dates = StoreViews.Dates(rawValue: dates) else {
            throw CoreError(
                .invalidArgument,
                "dates is \(dates); use CST_DATES_TEXT, CST_DATES_UNIX or CST_DATES_REFERENCE",
                key: "dates", value: .int(Int64(dates)))
        }
        let views = try StoreViews(
            ofStoreAt: path.filePath("path"), model: modelPointer.map { try model($0) }, dates: dates,
            isTemporary: isTemporary)
        try out.fill(views.script)
    }
}
