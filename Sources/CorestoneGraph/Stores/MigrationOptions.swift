import CorestoneModel

/// Whether and how a store that was written with another version of the model is migrated when it is added.
public struct MigrationOptions: Sendable {
    /// Migrates the store (`NSMigratePersistentStoresAutomaticallyOption`). Without it such a store fails with 134100, which names every
    /// difference.
    public var isAutomatic: Bool
    /// Infers the mapping from names and renaming identifiers (`NSInferMappingModelAutomaticallyOption`).
    public var infersMapping: Bool
    /// Models among which the store's own is searched first, by its version hashes.
    public var sourceModels: [Model] = []
    /// Models, bundles and folders of them, among which it is searched next. Last comes the model that the store carries.
    public var searchPaths: [String] = []
    /// Migrates also if the new model only lacks what the store has, so that it may be an older version: Core Data's framework does so
    /// without being asked.
    public var allowsRemovals = false
    /// Migrates attributes that have another type, if each of their values can be kept exactly.
    public var allowsTypeChanges = false
    /// Called with the rows that are done and of all, on the thread that adds the store, and before the first one; false cancels.
    public var progress: (@Sendable (_ done: Int, _ total: Int) -> Bool)?
    /// Copies the store before anything in it changes; nil for no copy.
    public var backup: MigrationBackup?
    /// Compares the migrated objects with the former ones before the commit. A difference fails the migration with 134110.
    public var verifies = false
    /// Leaves columns and tables that the new model lacks in the file, hidden, for `Coordinator.finishDeferredMigration`
    /// (`NSPersistentStoreDeferredLightweightMigrationOptionKey`). Migrations in place do so; others make the content again.
    public var defersCleanup = false
    /// Called with a function that executes SQL, before the migrated rows are verified: tests plant differences.
    package var willVerify: (@Sendable (_ execute: (String) throws -> Void) throws -> Void)?
    /// Mapping models, chains and stages; nil for inferred mappings alone.
    package var conversion: (any StoreConversion)?

    public init(isAutomatic: Bool = false, infersMapping: Bool = false) {
        (self.isAutomatic, self.infersMapping) = (isAutomatic, infersMapping)
    }

    /// Whether the store is a copy that only shows whether the migration succeeds: warnings are not logged.
    package var isTrial = false

    /// Whether nothing was said of `isAutomatic` and `infersMapping`, so that a container's or document's default counts.
    package var isUnspecified = false

    package static var unspecified: MigrationOptions {
        var options = MigrationOptions()
        options.isUnspecified = true
        return options
    }

    /// Migrates with an inferred mapping: the default of containers, documents and store descriptions.
    public static var inferred: MigrationOptions { MigrationOptions(isAutomatic: true, infersMapping: true) }
}

extension StoreOptions {
    /// With the default of containers and documents where nothing was said.
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
