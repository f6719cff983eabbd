import CCorestone
import CPlatform
import CorestoneContainers
import CorestoneFormats
import CorestoneGraph
import CorestoneMigration
import CorestoneModel
import CorestoneSQLite
import CorestoneValues

func coordinator(_ pointer: OpaquePointer?) throws -> CoordinatorBox { try resolve(pointer, .coordinator) }

/// The functions by which the object graph retains and releases handles of the C interface.
///
/// `keepContextAlive` makes the handle of an object keep the object's context alive.
struct HandleBridge: HostBridge {
    func retainHandle(_ slot: UInt) -> HandleRetention { ContextBox.retainHandle(slot) }
    func release(_ slot: UInt) { HandleTable.release(HandleToken(slot)) }
    func keepContextAlive(for object: ManagedObject) {
        if let context = object.context, let box = try? contextBox(context) { keepAlive(box, for: object) }
    }
}

/// The installation of the bridges of the graph and of migrations.
///
/// It runs once, when it is first read.
let installsHandleBridges: Void = {
    Context.hostBridge = HandleBridge()
    MigrationManager.hostBridge = MigrationHandleBridge()
}()

@_cdecl("cst_coordinator_new") @implementation
public func cst_coordinator_new(
    _ modelPointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_coordinator")
        let model = try model(modelPointer)
        let coordinator = try Coordinator(model: model)
        _ = installsHandleBridges
        guard HandleTable.retain(token(modelPointer)) else { throw invalidHandle(modelPointer, .model) }
        out.pointee = try HandleTable.make(CoordinatorBox(coordinator, modelToken: token(modelPointer)), .coordinator)
    }
}

/// Creates the handle of a coordinator that `cst_coordinator_new` did not create.
///
/// - Parameter pointer: The handle of the model; nil if the host does not have one yet.
func coordinatorHandle(_ coordinator: Coordinator, model pointer: OpaquePointer?) throws -> Handle? {
    _ = installsHandleBridges
    let modelToken: HandleToken
    if pointer == nil {
        coordinator.model.atEnd = withdrawTokens
        modelToken = try HandleTable.makeInner(coordinator.model, .model)
    } else {
        modelToken = token(pointer)
        guard HandleTable.retain(modelToken) else { throw invalidHandle(pointer, .model) }
    }
    return try HandleTable.make(CoordinatorBox(coordinator, modelToken: modelToken), .coordinator)
}

@_cdecl("cst_coordinator_open_store") @implementation
public func cst_coordinator_open_store(
    _ path: cst_string, _ modelPointer: OpaquePointer?, _ settings: UnsafePointer<cst_store_options>?,
    _ outCoordinator: UnsafeMutablePointer<OpaquePointer?>?, _ outStore: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        outStore?.pointee = nil
        let out = try place(outCoordinator, "out_coordinator")
        let given = try modelPointer.map { try model($0) }
        let options = try openingOptions(settings)
        let path = try path.filePath("path")
        let coordinator = try Coordinator.open(path, model: given, options: options)
        let store = try coordinator.openedStore(at: path)
        let handle = try coordinatorHandle(coordinator, model: modelPointer)
        if let outStore {
            do { outStore.pointee = try HandleTable.make(StoreBox(store), .store) } catch {
                HandleTable.release(token(handle))
                throw error
            }
        }
        out.pointee = handle
    }
}

@_cdecl("cst_coordinator_add_store") @implementation
public func cst_coordinator_add_store(
    _ pointer: OpaquePointer?, _ type: cst_string, _ path: cst_string, _ settings: UnsafePointer<cst_store_options>?,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        out?.pointee = nil
        let coordinator = try coordinator(pointer).coordinator
        let options = try storeOptions(settings)
        let type = try storeType(type)
        let store = try coordinator.addStore(type, at: storePath(path, type), options: options)
        out?.pointee = try HandleTable.make(StoreBox(store), .store)
    }
}

/// Returns the store type of a name, in upper or lower case, or nil for a null string.
func storeType(_ name: cst_string) throws -> StoreType? {
    try name.optionalString("type").map { try StoreTypes.type(named: $0) }
}

/// Returns the path of a store. In-memory stores and stores of the host's types do not need a path.
private func storePath(_ path: cst_string, _ type: StoreType?) throws -> String {
    if let type, try StoreTypes.isHosted(type) { return try path.optionalString("path") ?? "" }
    guard type == .inMemory else { return try path.filePath("path") }
    return try path.optionalString("path") ?? "/dev/null"
}

@_cdecl("cst_coordinator_close") @implementation
public func cst_coordinator_close(_ pointer: OpaquePointer?, _ unsaved: UInt32, _ error: ErrorOut) -> cst_status {
    boundary(error) { try coordinator(pointer).coordinator.close(try unsavedPolicy(unsaved)) }
}

@_cdecl("cst_coordinator_copy_unsaved_changes") @implementation
public func cst_coordinator_copy_unsaved_changes(
    _ pointer: OpaquePointer?, _ flags: UInt32, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_json")
        let coordinator = try coordinator(pointer).coordinator
        guard flags & ~UInt32(CST_CHANGES_NO_WAIT | CST_CHANGES_TOLD) == 0 else {
            throw CoreError(
                .unsupported,
                "flags is 0x\(String(flags, radix: 16)); use only CST_CHANGES_NO_WAIT and CST_CHANGES_TOLD",
                key: "flags", value: .int(Int64(flags)))
        }
        let held = coordinator.unsavedChanges(
            waits: flags & UInt32(CST_CHANGES_NO_WAIT) == 0, areReported: flags & UInt32(CST_CHANGES_TOLD) != 0)
        try out.fill(JSONText(unsavedReport(held)).text)
    }
}

@_cdecl("cst_coordinator_migrate_store") @implementation
public func cst_coordinator_migrate_store(
    _ pointer: OpaquePointer?, _ old: OpaquePointer?, _ type: cst_string, _ path: cst_string,
    _ settings: UnsafePointer<cst_store_options>?, _ progress: cst_progress_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        out?.pointee = nil
        let coordinator = try coordinator(pointer).coordinator
        let old = try storeBox(old).store
        let options = try storeOptions(settings)
        let type = try storeType(type) ?? .sqlite
        let new = try coordinator.migrateStore(old, to: type, at: storePath(path, type), options: options) {
            done, total in
            progress?(userdata, UInt64(done), UInt64(total)) ?? true
        }
        out?.pointee = try HandleTable.make(StoreBox(new), .store)
    }
}

@_cdecl("cst_coordinator_destroy_store") @implementation
public func cst_coordinator_destroy_store(
    _ pointer: OpaquePointer?, _ type: cst_string, _ path: cst_string,
    _ settings: UnsafePointer<cst_store_options>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let coordinator = try coordinator(pointer).coordinator
        let type = try storeType(type)
        let options = try storeOptions(settings)
        return try coordinator.destroyStore(type, at: storePath(path, type), options: options) ? .ok : .unchanged
    }
}

@_cdecl("cst_store_copy_migration_plan") @implementation
public func cst_store_copy_migration_plan(
    _ path: cst_string, _ modelPointer: OpaquePointer?, _ settings: UnsafePointer<cst_store_options>?,
    _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_json")
        let report = try MigrationReport(
            ofStoreAt: try path.filePath("path"), to: try model(modelPointer),
            options: try storeOptions(settings).migratingByDefault)
        try out.fill(JSONText(report.report()).text)
    }
}

/// Reads the options of a function that opens a store read-only unless `CST_STORE_WRITABLE` is set.
func openingOptions(_ settings: UnsafePointer<cst_store_options>?) throws -> StoreOptions {
    var options = try storeOptions(settings)
    let isWritable = try requestsWriting(settings)
    options.isReadOnlyByDefault = !isWritable && !options.isReadOnly
    options.isReadOnly = !isWritable
    return options
}

private func requestsWriting(_ pointer: UnsafePointer<cst_store_options>?) throws -> Bool {
    let flags = try options(pointer, cst_store_options(), "options").flags
    let (writable, readOnly) = (UInt32(CST_STORE_WRITABLE), UInt32(CST_STORE_READ_ONLY))
    guard flags & writable == 0 || flags & readOnly == 0 else {
        throw CoreError(
            .invalidArgument, "options.flags has both CST_STORE_WRITABLE and CST_STORE_READ_ONLY; set one of them",
            key: "flags", value: .int(Int64(flags)))
    }
    return flags & writable != 0
}

/// Reads store options from a parameter or field whose name is not "options".
///
/// Errors begin with that name.
func storeOptions(_ pointer: UnsafePointer<cst_store_options>?, named name: String) throws -> StoreOptions {
    do { return try storeOptions(pointer) } catch let error as CoreError { throw error.withOptions(named: name) }
}

extension CoreError {
    /// Returns the error with another name of the parameter "options" at the start of its message and key.
    fileprivate func withOptions(named name: String) -> CoreError {
        guard message.hasPrefix("options.") || message.hasPrefix("options ") else { return self }
        func renamed(_ text: String) -> String { name + text.dropFirst("options".count) }
        // Other keys are the name of a field alone, of a pragma or of a custom option.
        let isAtStart = key.map { message.hasPrefix("\($0) ") || message.hasPrefix("\($0)[") } ?? false
        return CoreError(
            status, renamed(message), domain: domain, customCode: code, entity: entity,
            key: isAtStart ? key.map(renamed) : key, value: value, predicate: predicate, objectURI: objectURI,
            children: children, sqliteCode: sqliteCode, file: file, offset: offset, payload: payload, isHosts: true)
    }
}

func storeOptions(_ pointer: UnsafePointer<cst_store_options>?) throws -> StoreOptions {
    let given = try options(pointer, cst_store_options(), "options")
    let known = UInt32(
        CST_STORE_READ_ONLY | CST_STORE_MUST_EXIST | CST_STORE_NORMAL_SYNC | CST_STORE_ROLLBACK_JOURNAL
            | CST_STORE_HISTORY | CST_STORE_WRITABLE | CST_STORE_POSTS_OWN_CHANGES | CST_STORE_ANALYZE
            | CST_STORE_VACUUM | CST_STORE_IGNORE_VERSIONING | CST_STORE_FORCE_DESTROY | CST_STORE_MIGRATE
            | CST_STORE_INFER_MAPPING | CST_STORE_NO_MIGRATION | CST_STORE_ALLOW_REMOVALS | CST_STORE_ALLOW_TYPE_CHANGES
            | CST_STORE_NO_HISTORY | CST_STORE_COMPLETE_HISTORY | CST_STORE_DROP_OLD_VALUES
            | CST_STORE_VERIFY_MIGRATION | CST_STORE_DEFER_MIGRATION_CLEANUP
    )
    guard given.flags & ~known == 0 else {
        throw CoreError(
            .unsupported,
            "options.flags is 0x\(String(given.flags, radix: 16)), but must be 0 to 0x\(String(known, radix: 16)); use "
                + "CST_STORE_ constants of this version of the library",
            key: "flags", value: .int(Int64(given.flags)))
    }
    func has(_ flag: Int) -> Bool { given.flags & UInt32(flag) != 0 }
    var options = StoreOptions()
    options.configuration = try given.configuration.optionalString("options.configuration")
    options.isReadOnly = has(Int(CST_STORE_READ_ONLY))
    options.mustExist = has(Int(CST_STORE_MUST_EXIST))
    options.normalSync = has(Int(CST_STORE_NORMAL_SYNC))
    options.rollbackJournal = has(Int(CST_STORE_ROLLBACK_JOURNAL))
    (options.keepsHistory, options.refusesHistory) = (has(Int(CST_STORE_HISTORY)), has(Int(CST_STORE_NO_HISTORY)))
    options.keepsCompleteHistory = has(Int(CST_STORE_COMPLETE_HISTORY))
    options.dropsOldValues = has(Int(CST_STORE_DROP_OLD_VALUES))
    func requireOne(of one: Bool, _ name: String, or other: Bool, _ otherName: String) throws {
        guard one && other else { return }
        throw CoreError(
            .invalidArgument, "options.flags has both \(name) and \(otherName); set one of them", key: "flags",
            value: .int(Int64(given.flags)))
    }
    try requireOne(of: options.keepsHistory, "CST_STORE_HISTORY", or: options.refusesHistory, "CST_STORE_NO_HISTORY")
    try requireOne(
        of: options.keepsCompleteHistory, "CST_STORE_COMPLETE_HISTORY (complete_history)", or: options.refusesHistory,
        "CST_STORE_NO_HISTORY (history=False)")
    try requireOne(
        of: options.keepsCompleteHistory, "CST_STORE_COMPLETE_HISTORY", or: options.dropsOldValues,
        "CST_STORE_DROP_OLD_VALUES")
    options.postsOwnChanges = has(Int(CST_STORE_POSTS_OWN_CHANGES))
    options.watchIntervalMilliseconds = Int(given.watch_interval_ms)
    if given.busy_timeout_ms != 0 {
        options.busyTimeoutMilliseconds = Int(min(given.busy_timeout_ms, UInt32(Int32.max)))
    }
    if given.max_connections != 0 { options.maximumConnections = Int(given.max_connections) }
    if given.cache_kb != 0 { options.cacheKilobytes = Int(min(given.cache_kb, UInt32(Int32.max))) }
    options.analyzes = has(Int(CST_STORE_ANALYZE))
    options.vacuums = has(Int(CST_STORE_VACUUM))
    options.ignoresVersioning = has(Int(CST_STORE_IGNORE_VERSIONING))
    options.forcesDestruction = has(Int(CST_STORE_FORCE_DESTROY))
    options.migration = try migrationOptions(given)
    options.historyRetention = try given.history_retention.map { try retention($0, "options.history_retention") }
    if given.file_mode != 0 { options.fileMode = given.file_mode }
    if given.external_threshold != 0 { options.externalDataThreshold = Int(clamping: given.external_threshold) }
    if given.value_limit != 0 { options.limits.valueBytes = Int(clamping: given.value_limit) }
    if given.memory_limit != 0 { options.limits.expressionBytes = Int(clamping: given.memory_limit) }
    if given.step_limit != 0 { options.limits.steps = Int(clamping: given.step_limit) }
    if given.external_limit != 0 { options.limits.externalBytes = Int(clamping: given.external_limit) }
    for pragma in try array(given.pragmas, given.pragma_count, "options.pragmas") {
        let name = try pragma.name.string("options.pragmas.name")
        let value = try pragma.value.string("options.pragmas.value")
        guard options.pragmas.updateValue(value, forKey: name) == nil else {
            throw CoreError(
                .invalidArgument, "options.pragmas contains \"\(name)\" twice; set it once", key: name,
                value: .string(value))
        }
    }
    options.foreignOptions = try strings(
        given.foreign_options, given.foreign_option_count, "options.foreign_options")
    let names = try strings(given.host_option_names, given.host_option_count, "options.host_option_names")
    let values = try array(given.host_option_values, given.host_option_count, "options.host_option_values")
    for (name, value) in zip(names, values) {
        let given: PropertyValue
        do { given = try propertyValue(value) } catch let error as CoreError {
            throw error.within("options.host_option_values of \"\(name)\"", key: name)
        }
        guard options.hostOptions.updateValue(given, forKey: name) == nil else {
            throw CoreError(
                .invalidArgument, "options.host_option_names contains \"\(name)\" twice; set it once", key: name,
                value: given)
        }
    }
    return options
}

@_cdecl("cst_coordinator_remove_store") @implementation
public func cst_coordinator_remove_store(
    _ pointer: OpaquePointer?, _ store: OpaquePointer?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        try coordinator(pointer).coordinator.remove(try resolve(store, .store, as: StoreBox.self).store)
    }
}

@_cdecl("cst_coordinator_model") @implementation
public func cst_coordinator_model(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_model")
        out.pointee = handle(try coordinator(pointer).modelToken)
    }
}

@_cdecl("cst_coordinator_object_id") @implementation
public func cst_coordinator_object_id(
    _ pointer: OpaquePointer?, _ uri: cst_string, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_id")
        let coordinator = try coordinator(pointer).coordinator
        guard let id = try coordinator.objectID(forURI: try uri.string("uri")) else { return .notFound }
        out.pointee = try HandleTable.make(ObjectIDBox(id), .objectID)
        return .ok
    }
}

func storeBox(_ pointer: OpaquePointer?) throws -> StoreBox { try resolve(pointer, .store) }

@_cdecl("cst_store_identifier") @implementation
public func cst_store_identifier(_ pointer: OpaquePointer?) -> cst_string {
    cst_string((try? storeBox(pointer))?.identifier)
}

@_cdecl("cst_store_type") @implementation
public func cst_store_type(_ pointer: OpaquePointer?) -> cst_string { cst_string((try? storeBox(pointer))?.type) }

@_cdecl("cst_store_path") @implementation
public func cst_store_path(_ pointer: OpaquePointer?) -> cst_string {
    // In a forked child, the lock of the paths may be held by a thread that exists only in the parent process.
    platform_is_forked() ? cst_string() : cst_string((try? storeBox(pointer))?.path)
}

@_cdecl("cst_store_is_read_only") @implementation
public func cst_store_is_read_only(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<Bool>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try required(out, "out_read_only").pointee = try storeBox(pointer).store.isReadOnly }
}

@_cdecl("cst_store_read_only_reason") @implementation
public func cst_store_read_only_reason(_ pointer: OpaquePointer?) -> cst_string {
    cst_string((try? storeBox(pointer))?.readOnlyReason)
}

@_cdecl("cst_store_warning_count") @implementation
public func cst_store_warning_count(_ pointer: OpaquePointer?) -> Int { (try? storeBox(pointer))?.warnings.count ?? 0 }

@_cdecl("cst_store_warning") @implementation
public func cst_store_warning(_ pointer: OpaquePointer?, _ index: Int) -> cst_string {
    guard let warnings = (try? storeBox(pointer))?.warnings, warnings.indices.contains(index) else {
        return .null
    }
    return cst_string(warnings[index])
}

@_cdecl("cst_store_configuration") @implementation
public func cst_store_configuration(_ pointer: OpaquePointer?) -> cst_string {
    cst_string((try? storeBox(pointer))?.configuration)
}

@_cdecl("cst_store_model_source") @implementation
public func cst_store_model_source(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<UInt32>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try required(out, "out_source").pointee = try storeBox(pointer).store.modelSource.rawValue }
}

@_cdecl("cst_store_copy_metadata") @implementation
public func cst_store_copy_metadata(
    _ path: cst_string, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_plist")
        let metadata = try StoreMetadata(ofStoreAt: try path.filePath("path"))
        try encodePropertyList(.dictionary(metadata.dictionary)).withUnsafeBytes { try out.fill($0) }
    }
}

@_cdecl("cst_store_check_apple") @implementation
public func cst_store_check_apple(
    _ path: cst_string, _ modelPointer: OpaquePointer?, _ outAccepted: UnsafeMutablePointer<Bool>?,
    _ outReport: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let accepted = try required(outAccepted, "out_accepted")
        accepted.pointee = false
        let report = try required(outReport, "out_report")
        let check = try AppleCheck(storeAt: try path.filePath("path"), model: try modelPointer.map { try model($0) })
        accepted.pointee = check.isAccepted
        try report.fill(JSONText(check.report).text)
    }
}

extension AppleCheck {
    fileprivate var report: PropertyValue {
        .dictionary([
            "accepted": .bool(isAccepted), "problems": .array(problems.map(\.report)),
            "extrapolations": .array(extrapolations.map(\.report)),
        ])
    }
}

extension AppleCheck.Finding {
    fileprivate var report: PropertyValue {
        .dictionary([
            "entity": entity.map { .string($0) } ?? .null, "property": property.map { .string($0) } ?? .null,
            "text": .string(text),
        ])
    }
}

@_cdecl("cst_store_check") @implementation
public func cst_store_check(
    _ path: cst_string, _ modelPointer: OpaquePointer?, _ outProblems: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(outProblems, "out_problems")
        out.pointee = nil
        let path = try path.filePath("path")
        let report = try StoreReport(ofStoreAt: path, model: try modelPointer.map { try model($0) })
        if let problems = report.error(file: path) {
            out.pointee = try HandleTable.make(try ErrorBox(problems), .error)
        }
    }
}

@_cdecl("cst_store_copy_leftovers") @implementation
public func cst_store_copy_leftovers(
    _ path: cst_string, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_report")
        try out.fill(JSONText(try StoreLeftovers(ofStoreAt: try path.filePath("path")).report).text)
    }
}

@_cdecl("cst_store_remove_leftovers") @implementation
public func cst_store_remove_leftovers(
    _ path: cst_string, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_report")
        try out.fill(JSONText(try StoreLeftovers.remove(fromStoreAt: try path.filePath("path")).report).text)
    }
}

extension StoreLeftovers {
    fileprivate var report: PropertyValue {
        .dictionary([
            "folder": .string(folder), "names": .array(names.map { .string($0) }), "bytes": .int(Int64(bytes)),
            "sharer": sharer.map { .string($0) } ?? .null,
        ])
    }
}
