import CorestoneModel

/// The options for the migration of a store that was written with another version of the model.
///
/// They apply when the store is added.
public struct MigrationOptions: Sendable {
    /// Whether the store is migrated (`NSMigratePersistentStoresAutomaticallyOption`).
    ///
    /// If false, adding a store of another model version fails with code 134100, and the error lists every difference.
    public var isAutomatic: Bool
    /// Whether a mapping may be inferred (`NSInferMappingModelAutomaticallyOption`).
    ///
    /// The mapping is inferred from names and renaming identifiers.
    public var infersMapping: Bool
    /// The models that are searched first for the store's model, by version hashes.
    public var sourceModels: [Model] = []
    /// The models, bundles and folders that are searched after `sourceModels`. The model in the store is tried last.
    public var searchPaths: [String] = []
    /// Whether to migrate to a model that differs from the store's model only by removals.
    ///
    /// Such a model may be an older version. Apple's framework always migrates to it.
    public var allowsRemovals = false
    /// Whether to migrate changed attribute types if every value can be converted exactly.
    public var allowsTypeChanges = false
    /// The progress callback; receives the number of migrated rows and the total.
    ///
    /// It is called on the thread that adds the store, for the first time before the first row. Returning false cancels
    /// the migration.
    public var progress: (@Sendable (_ done: Int, _ total: Int) -> Bool)?
    /// The backup of the store before the migration changes it; nil for no backup.
    public var backup: MigrationBackup?
    /// Whether to compare the migrated objects with the former ones before the commit.
    ///
    /// If there is a difference, the migration fails with code 134110.
    public var verifies = false
    /// Whether columns and tables that the new model does not need remain in the file, hidden.
    ///
    /// `Coordinator.finishDeferredMigration` removes them (`NSPersistentStoreDeferredLightweightMigrationOptionKey`).
    /// Applies to migrations in place; other migrations rewrite the store.
    public var defersCleanup = false
    /// A callback before the migrated rows are verified, with a function that executes SQL.
    ///
    /// Tests use it to insert differences.
    package var willVerify: (@Sendable (_ execute: (String) throws -> Void) throws -> Void)?
    /// The mapping models, chains and stages; nil for inferred mappings only.
    package var conversion: (any StoreConversion)?

    public init(isAutomatic: Bool = false, infersMapping: Bool = false) {
        (self.isAutomatic, self.infersMapping) = (isAutomatic, infersMapping)
    }

    /// Whether the store is a copy for a trial migration, whose warnings are not logged.
    package var isTrial = false

    /// Whether `isAutomatic` and `infersMapping` were not set, so that the default of a container or document applies.
    package var isUnspecified = false

    package static var unspecified: MigrationOptions {
        var options = MigrationOptions()
        options.isUnspecified = true
        return options
    }

    /// The options for an inferred mapping: the default of containers, documents and store descriptions.
    public static var inferred: MigrationOptions { MigrationOptions(isAutomatic: true, infersMapping: true) }
}

extension StoreOptions {
    /// The options, with the default of containers and documents if migration was not specified.
    package var migratingByDefault: StoreOptions {
        var options = self
        if var migration = options.migration {
            guard migration.isUnspecified else { return self }
            (migration.isAutomatic, migration.infersMapping, migration.isUnspecified) = (true, true, false)
            options.migration = migration
        } else {
            options.migration = .inferred
        }
        return options
    }
}
