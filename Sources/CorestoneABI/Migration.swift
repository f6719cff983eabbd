import CCorestone
import CorestoneGraph
import CorestoneMigration
import CorestoneModel
import CorestoneContainers
import CorestoneValues

private func managerBox(_ pointer: OpaquePointer?) throws -> MigrationManagerBox {
    try resolve(pointer, .migrationManager)
}

/// Returns a manager. Throws if another thread runs a migration with it.
private func manager(_ pointer: OpaquePointer?) throws -> MigrationManager {
    let manager = try managerBox(pointer).manager
    try manager.requireThread()
    return manager
}

@_cdecl("cst_migration_manager_new") @implementation
public func cst_migration_manager_new(
    _ source: OpaquePointer?, _ destination: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_manager")
        let manager = try MigrationManager(source: try model(source), destination: try model(destination))
        _ = installsHandleBridges
        guard HandleTable.retain(token(source)) else { throw invalidHandle(source, .model) }
        guard HandleTable.retain(token(destination)) else {
            HandleTable.release(token(source))
            throw invalidHandle(destination, .model)
        }
        let box = MigrationManagerBox(manager, sourceToken: token(source), destinationToken: token(destination))
        let handle = try HandleTable.make(box, .migrationManager)
        manager.hostSlot = UInt(token(handle))
        out.pointee = handle
    }
}

@_cdecl("cst_migration_manager_migrate_store") @implementation
public func cst_migration_manager_migrate_store(
    _ pointer: OpaquePointer?, _ sourceType: cst_string, _ sourcePath: cst_string,
    _ sourceSettings: UnsafePointer<cst_store_options>?, _ mapping: OpaquePointer?, _ type: cst_string,
    _ path: cst_string, _ settings: UnsafePointer<cst_store_options>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        // The box keeps the manager alive even if callbacks release the handle.
        let box = try managerBox(pointer)
        let mapping = try mappingModel(mapping)
        var options = try storeOptions(settings)
        options.migration = nil
        try box.manager.migrateStore(
            at: try sourcePath.filePath("source_path"), type: try storeType(sourceType),
            options: try storeOptions(sourceSettings, named: "source_options"), with: mapping,
            to: try path.filePath("path"), resultType: try storeType(type), resultOptions: options)
    }
}

// MARK: - Any thread

@_cdecl("cst_migration_manager_cancel") @implementation
public func cst_migration_manager_cancel(
    _ pointer: OpaquePointer?, _ reason: OpaquePointer?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let reason = try reason.map { try resolve($0, .error, as: ErrorBox.self).error }
        try managerBox(pointer).manager.cancel(with: reason)
    }
}

@_cdecl("cst_migration_manager_progress") @implementation
public func cst_migration_manager_progress(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<Double>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try required(out, "out_progress").pointee = try managerBox(pointer).manager.progress }
}

@_cdecl("cst_migration_manager_copy_current_mapping") @implementation
public func cst_migration_manager_copy_current_mapping(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try required(out, "out_name")
        guard let mapping = try managerBox(pointer).manager.currentEntityMapping else { return .notFound }
        try out.fill(mapping.name)
        return .ok
    }
}

@_cdecl("cst_migration_manager_source_model") @implementation
public func cst_migration_manager_source_model(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try place(out, "out_model").pointee = handle(try managerBox(pointer).sourceToken) }
}

@_cdecl("cst_migration_manager_destination_model") @implementation
public func cst_migration_manager_destination_model(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try place(out, "out_model").pointee = handle(try managerBox(pointer).destinationToken) }
}

@_cdecl("cst_migration_manager_mapping_model") @implementation
public func cst_migration_manager_mapping_model(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_mapping")
        guard let mapping = try manager(pointer).mappingModel else { return .notFound }
        out.pointee = try HandleTable.make(mapping, .mappingModel)
        return .ok
    }
}

// MARK: - Functions and values of the host

@_cdecl("cst_migration_manager_set_report") @implementation
public func cst_migration_manager_set_report(
    _ pointer: OpaquePointer?, _ report: cst_progress_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ destroy: cst_destroy_fn?, _ error: ErrorOut
) -> cst_status {
    let payload = Userdata(userdata, destroy)
    return boundary(error) {
        try manager(pointer).report = report.map { report in
            { done, total in report(payload.pointer, UInt64(done), UInt64(total)) }
        }
    }
}

@_cdecl("cst_migration_manager_set_function") @implementation
public func cst_migration_manager_set_function(
    _ pointer: OpaquePointer?, _ name: cst_string, _ call: cst_function_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ destroy: cst_destroy_fn?, _ error: ErrorOut
) -> cst_status {
    let payload = Userdata(userdata, destroy)
    return boundary(error) {
        let manager = try manager(pointer)
        let name = try name.string("name")
        guard !name.isEmpty else {
            throw CoreError(
                .invalidArgument, "the function name is empty; pass a name", key: "name", value: .string(name))
        }
        guard let call else {
            manager.functions[name] = nil
            return
        }
        manager.functions[name] = { arguments in
            try withBorrowedValues([.null] + arguments.map(\.forHost)) { cells in
                var answer = cst_value()
                try callHost("the function \"\(name)\" of the migration manager", key: name) {
                    call(payload.pointer, cells, arguments.count, cells + 1, &answer, $0)
                }
                return try readingResult("the function \"\(name)\" of the migration manager", key: name) {
                    try hostValue(answer)
                }
            }
        }
    }
}

@_cdecl("cst_migration_manager_copy_user_info") @implementation
public func cst_migration_manager_copy_user_info(
    _ pointer: OpaquePointer?, _ key: cst_string, _ out: UnsafeMutablePointer<cst_value>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try required(out, "out_value")
        putNull(out)
        let manager = try manager(pointer)
        guard let key = try key.optionalString("key") else {
            try putOwned(.dictionary(manager.userInfo), out)
            return .ok
        }
        guard let value = manager.userInfo[key] else { return .notFound }
        try putOwned(value, out)
        return .ok
    }
}

@_cdecl("cst_migration_manager_set_user_info") @implementation
public func cst_migration_manager_set_user_info(
    _ pointer: OpaquePointer?, _ key: cst_string, _ value: UnsafePointer<cst_value>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let manager = try manager(pointer)
        let key = try key.string("key")
        manager.userInfo[key] = try value.map { try hostValue($0.pointee, key: "value") }
    }
}

// MARK: - During a migration

@_cdecl("cst_migration_manager_source_context") @implementation
public func cst_migration_manager_source_context(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    putContext(pointer, out, error) { $0.sourceContext }
}

@_cdecl("cst_migration_manager_destination_context") @implementation
public func cst_migration_manager_destination_context(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    putContext(pointer, out, error) { $0.destinationContext }
}

private func putContext(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut,
    _ context: (MigrationManager) -> Context?
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_context")
        let manager = try manager(pointer)
        try manager.requireRunning()
        out.pointee = context(manager)?.hostHandle
    }
}

@_cdecl("cst_migration_manager_associate") @implementation
public func cst_migration_manager_associate(
    _ pointer: OpaquePointer?, _ mapping: cst_string, _ source: OpaquePointer?, _ destination: OpaquePointer?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let manager = try manager(pointer)
        let mapping = try mapping.string("mapping")
        let (source, destination) = (try object(source), try object(destination))
        try manager.requireRunning()
        try manager.requireObject(source, in: manager.sourceContext, "source")
        try manager.requireObject(destination, in: manager.destinationContext, "destination")
        try manager.associate(source: source, with: destination, for: manager.entityMapping(named: mapping))
    }
}

@_cdecl("cst_migration_manager_create_destination_instance") @implementation
public func cst_migration_manager_create_destination_instance(
    _ pointer: OpaquePointer?, _ mapping: cst_string, _ source: OpaquePointer?,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        out?.pointee = nil
        let manager = try manager(pointer)
        let mapping = try mapping.string("mapping")
        let source = try object(source)
        try manager.requireRunning()
        try manager.requireObject(source, in: manager.sourceContext, "source")
        let made = try manager.createDestinationInstance(
            forSource: source, in: try manager.entityMapping(named: mapping))
        guard let made else { return .notFound }
        out?.pointee = try out.flatMap { _ in try ownedHandle(made) }
        return .ok
    }
}

@_cdecl("cst_migration_manager_create_relationships") @implementation
public func cst_migration_manager_create_relationships(
    _ pointer: OpaquePointer?, _ mapping: cst_string, _ destination: OpaquePointer?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let manager = try manager(pointer)
        let mapping = try mapping.string("mapping")
        let destination = try object(destination)
        try manager.requireRunning()
        try manager.requireObject(destination, in: manager.destinationContext, "destination")
        try manager.createRelationships(
            forDestination: destination, in: try manager.entityMapping(named: mapping))
    }
}

@_cdecl("cst_migration_manager_destination_instances") @implementation
public func cst_migration_manager_destination_instances(
    _ pointer: OpaquePointer?, _ mapping: cst_string, _ count: Int, _ sources: UnsafePointer<OpaquePointer?>?,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_results")
        let manager = try manager(pointer)
        let mapping = try mapping.string("mapping")
        let given = try array(sources, count, "sources").map { try object($0) }
        try manager.requireRunning()
        for each in given { try manager.requireObject(each, in: manager.sourceContext, "sources") }
        let found = try manager.destinationInstances(
            forEntityMappingNamed: mapping, sourceInstances: sources == nil ? nil : given)
        out.pointee = try results(found, manager.destinationContext)
    }
}

@_cdecl("cst_migration_manager_source_instances") @implementation
public func cst_migration_manager_source_instances(
    _ pointer: OpaquePointer?, _ mapping: cst_string, _ count: Int, _ destinations: UnsafePointer<OpaquePointer?>?,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_results")
        let manager = try manager(pointer)
        let mapping = try mapping.string("mapping")
        let given = try array(destinations, count, "destinations").map { try object($0) }
        try manager.requireRunning()
        for each in given { try manager.requireObject(each, in: manager.destinationContext, "destinations") }
        let found = try manager.sourceInstances(forEntityMappingNamed: mapping, destinationInstances: given)
        out.pointee = try results(found, manager.sourceContext)
    }
}

private func results(_ objects: [ManagedObject], _ context: Context?) throws -> Handle? {
    try ResultList(objects, entity: nil, box: context.map { try contextBox($0) }).makeHandle()
}

@_cdecl("cst_migration_manager_reset") @implementation
public func cst_migration_manager_reset(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    boundary(error) { try manager(pointer).reset() }
}

extension MigrationManager {
    /// Throws if an object is not in the given context of the migration.
    fileprivate func requireObject(_ object: ManagedObject, in context: Context?, _ name: StaticString) throws {
        if let context, object.context === context { return }
        let side = context === sourceContext ? "source_context" : "destination_context"
        throw CoreError(
            .invalidArgument, code: .migration,
            "\(name): \(object.objectID.entity.name) \(object.objectID.uri) is not in the \(side) of the migration; "
                + "pass an object of that context",
            entity: object.objectID.entity.name, key: "\(name)", objectURI: object.objectID.uri)
    }
}
