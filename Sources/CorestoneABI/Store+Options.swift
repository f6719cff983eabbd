import CCorestone
import CorestoneGraph
import CorestoneModel
import CorestoneValues

@_cdecl("cst_store_copy_options") @implementation
public func cst_store_copy_options(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_json")
        try out.fill(JSONText(try storeBox(pointer).store.options.report).text)
    }
}

extension StoreOptions {
    /// The options that are not the default, by the names of the Python package.
    fileprivate var report: PropertyValue {
        let usual = StoreOptions()
        var report: [String: PropertyValue] = [:]
        func note<Value: Equatable>(_ name: String, _ path: KeyPath<StoreOptions, Value>, _ shown: PropertyValue) {
            if self[keyPath: path] != usual[keyPath: path] { report[name] = shown }
        }
        note("read_only", \.isReadOnly, .bool(isReadOnly))
        note("must_exist", \.mustExist, .bool(mustExist))
        note("sync", \.normalSync, .string("normal"))
        note("journal", \.rollbackJournal, .string("rollback"))
        note("busy_timeout", \.busyTimeoutMilliseconds, .double(Double(busyTimeoutMilliseconds) / 1000))
        note("cache_kb", \.cacheKilobytes, .int(Int64(cacheKilobytes)))
        note("max_connections", \.maximumConnections, .int(Int64(maximumConnections)))
        if keepsHistory || refusesHistory { report["history"] = .bool(keepsHistory) }
        if keepsCompleteHistory || dropsOldValues { report["complete_history"] = .bool(keepsCompleteHistory) }
        note("configuration", \.configuration, configuration.map { .string($0) } ?? .null)
        note("posts_own_changes", \.postsOwnChanges, .bool(postsOwnChanges))
        note("watch_interval", \.watchIntervalMilliseconds, .double(Double(watchIntervalMilliseconds) / 1000))
        note("pragmas", \.pragmas, .dictionary(pragmas.mapValues { .string($0) }))
        note("analyze", \.analyzes, .bool(analyzes))
        note("vacuum", \.vacuums, .bool(vacuums))
        note("ignore_versioning", \.ignoresVersioning, .bool(ignoresVersioning))
        note("file_mode", \.fileMode, fileMode.map { .int(Int64($0)) } ?? .null)
        note("external_threshold", \.externalDataThreshold, .int(Int64(externalDataThreshold)))
        note("foreign_options", \.foreignOptions, .array(foreignOptions.map { .string($0) }))
        note("value_limit", \.limits.valueBytes, .int(Int64(limits.valueBytes)))
        note("memory_limit", \.limits.expressionBytes, .int(Int64(limits.expressionBytes)))
        note("step_limit", \.limits.steps, .int(Int64(limits.steps)))
        note("external_limit", \.limits.externalBytes, .int(Int64(limits.externalBytes)))
        if !hostOptions.isEmpty { report["options"] = .dictionary(hostOptions) }
        return .dictionary(report)
    }
}

/// Creates the owned handle of the store of an object ID; nil while the ID is temporary.
func storeHandle(_ id: ObjectID) throws -> Handle? {
    try id.persistentStore.flatMap { try HandleTable.make(StoreBox($0), .store) }
}

@_cdecl("cst_object_id_copy_store") @implementation
public func cst_object_id_copy_store(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_store")
        out.pointee = try storeHandle(try resolve(pointer, .objectID, as: ObjectIDBox.self).id)
        return out.pointee == nil ? .notFound : .ok
    }
}

@_cdecl("cst_object_copy_store") @implementation
public func cst_object_copy_store(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_store")
        out.pointee = try storeHandle(try object(pointer).objectID)
        return out.pointee == nil ? .notFound : .ok
    }
}
