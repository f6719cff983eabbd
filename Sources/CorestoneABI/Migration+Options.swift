import CCorestone
import CorestoneGraph
import CorestoneMigration
import CorestoneModel
import CorestoneValues

/// Returns the migration options among store options, or nil if no migration option is set.
func migrationOptions(_ given: cst_store_options) throws -> MigrationOptions? {
    func has(_ flag: Int) -> Bool { given.flags & UInt32(flag) != 0 }
    let (migrates, infers, never) = (
        has(Int(CST_STORE_MIGRATE)), has(Int(CST_STORE_INFER_MAPPING)), has(Int(CST_STORE_NO_MIGRATION))
    )
    if never, migrates || infers {
        throw CoreError(
            .invalidArgument,
            "options.flags has both CST_STORE_NO_MIGRATION and "
                + "\(migrates ? "CST_STORE_MIGRATE" : "CST_STORE_INFER_MAPPING"); set one of them",
            key: "flags", value: .int(Int64(given.flags)))
    }
    let models = try array(given.source_models, given.source_model_count, "options.source_models").map { try model($0) }
    let paths = try filePaths(given.model_paths, given.model_path_count, "options.model_paths")
    let (removals, types) = (has(Int(CST_STORE_ALLOW_REMOVALS)), has(Int(CST_STORE_ALLOW_TYPE_CHANGES)))
    let (verifies, defers) = (has(Int(CST_STORE_VERIFY_MIGRATION)), has(Int(CST_STORE_DEFER_MIGRATION_CLEANUP)))
    let backup = try given.backup.map { try migrationBackup($0) }
    let code = try MigrationCode(given)
    let hasNoFlags = !never && !migrates && !infers && !removals && !types && !verifies && !defers
    let hasNothing = models.isEmpty && paths.isEmpty && code.isEmpty && backup == nil
    if hasNoFlags, hasNothing, given.migration_progress == nil { return nil }
    // Options that only configure a migration do not enable it: the default of the container, the document or the
    // coordinator applies.
    var options =
        migrates || never ? MigrationOptions(isAutomatic: migrates, infersMapping: infers) : .unspecified
    (options.sourceModels, options.searchPaths) = (models, paths)
    (options.allowsRemovals, options.allowsTypeChanges) = (removals, types)
    (options.verifies, options.defersCleanup, options.backup) = (verifies, defers, backup)
    if let function = given.migration_progress {
        let userdata = Userdata(given.migration_userdata, nil)
        options.progress = { done, total in function(userdata.pointer, UInt64(done), UInt64(total)) }
    }
    try code.set(&options)
    return options
}

private func migrationBackup(_ pointer: UnsafePointer<cst_migration_backup>) throws -> MigrationBackup {
    let given = try options(pointer, cst_migration_backup(), "options.backup")
    var backup = MigrationBackup(folder: try given.folder.optionalFilePath("options.backup.folder"))
    if given.keep != 0 { backup.keep = Int(clamping: given.keep) }
    return backup
}
