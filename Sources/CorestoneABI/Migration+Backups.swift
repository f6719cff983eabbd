import CCorestone
import CorestoneGraph
import CorestoneContainers
import CorestoneValues

// MARK: - Backups

@_cdecl("cst_store_copy_backups") @implementation
public func cst_store_copy_backups(
    _ path: cst_string, _ folder: cst_string, _ out: UnsafeMutablePointer<cst_buffer>?,
    _ count: UnsafeMutablePointer<Int>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_paths")
        let backups = try MigrationBackup.backups(
            ofStoreAt: try path.filePath("path"), in: try folder.optionalFilePath("folder"))
        count?.pointee = backups.count
        try out.fill(backups.map { "\($0)\0" }.joined())
    }
}

@_cdecl("cst_coordinator_restore_store") @implementation
public func cst_coordinator_restore_store(
    _ pointer: OpaquePointer?, _ path: cst_string, _ backup: cst_string, _ folder: cst_string,
    _ settings: UnsafePointer<cst_store_options>?, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let coordinator = try coordinator(pointer).coordinator
        let restored = try coordinator.restoreStore(
            at: try path.filePath("path"), from: try backup.optionalFilePath("backup"),
            in: try folder.optionalFilePath("folder"), options: try storeOptions(settings))
        try out?.fill(restored)
    }
}

// MARK: - Deferred migrations

@_cdecl("cst_coordinator_deferred_migration_task_count") @implementation
public func cst_coordinator_deferred_migration_task_count(
    _ pointer: OpaquePointer?, _ store: OpaquePointer?, _ out: UnsafeMutablePointer<Int>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_count")
        let coordinator = try coordinator(pointer).coordinator
        out.pointee = try coordinator.deferredMigrationTaskCount(of: try storeBox(store).store)
    }
}

@_cdecl("cst_coordinator_finish_deferred_migration_task") @implementation
public func cst_coordinator_finish_deferred_migration_task(
    _ pointer: OpaquePointer?, _ store: OpaquePointer?, _ out: UnsafeMutablePointer<Bool>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_more")
        let coordinator = try coordinator(pointer).coordinator
        out.pointee = try coordinator.finishDeferredMigrationTask(of: try storeBox(store).store)
    }
}

@_cdecl("cst_coordinator_finish_deferred_migration") @implementation
public func cst_coordinator_finish_deferred_migration(
    _ pointer: OpaquePointer?, _ store: OpaquePointer?, _ progress: cst_progress_fn?,
    _ userdata: UnsafeMutableRawPointer?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let coordinator = try coordinator(pointer).coordinator
        try coordinator.finishDeferredMigration(of: try storeBox(store).store) { done, total in
            progress?(userdata, UInt64(done), UInt64(total)) ?? true
        }
    }
}
