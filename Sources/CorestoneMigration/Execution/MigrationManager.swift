import CPlatform
import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneSQLite
import CorestoneValues

/// The migration of the objects of one store into another with a mapping model (`NSMigrationManager`).
///
/// Three passes process all entity mappings, in their order. The first pass creates objects with their attributes, the
/// second sets relationships, and the third calls the policies for their validation. An expression of the second pass
/// therefore finds the objects of every mapping. An expression of the first pass finds only the objects that were
/// created before.
///
/// While a migration runs, other threads can use only `cancel`, `progress` and `currentEntityMapping`.
public final class MigrationManager {
    public let sourceModel: Model
    public let destinationModel: Model
    /// The mapping model of the running migration.
    public private(set) var mappingModel: MappingModel?
    /// A context of the source store, which is only read; nil unless a migration runs.
    public private(set) var sourceContext: Context?
    /// A context of the destination store; nil unless a migration runs. Until the migration ends, it may contain
    /// invalid objects.
    public private(set) var destinationContext: Context?
    /// Values of the application for its policies and expressions.
    public var userInfo: [String: PropertyValue] = [:]
    /// Functions that expressions call as `FUNCTION($manager, "selector:", …)`.
    ///
    /// Functions with the selectors of Core Data's manager are not called.
    public var functions: [String: ([PropertyValue]) throws -> PropertyValue] = [:]
    /// The mapping that is being executed; nil at other times. Each of the three passes sets it for each mapping.
    public internal(set) var currentEntityMapping: EntityMapping? {
        get { position.withLock { $0.mapping } }
        set { position.withLock { $0.mapping = newValue } }
    }
    /// The progress: 0 to 1 while a migration runs, otherwise 0.
    public internal(set) var progress: Double {
        get { position.withLock { $0.progress } }
        set { position.withLock { $0.progress = newValue } }
    }
    /// A function that receives the progress as a number of rows, and the total. If the function returns false, the
    /// migration is cancelled.
    public var report: ((_ done: Int, _ total: Int) -> Bool)?

    /// The running migration.
    var run: MigrationRun?
    /// The manager's handle in the C interface; 0 if it does not have one.
    package var hostSlot: UInt = 0
    /// The position of the migration, which any thread may read.
    private let position = Locked<(mapping: EntityMapping?, progress: Double)>((nil, 0))
    /// The thread of the running migration; 0 if no migration runs.
    private let runner = Locked<UInt64>(0)
    private let cancellation = Locked<(isCancelled: Bool, error: CoreError?)>((false, nil))
    /// Whether the manager was cancelled before the end of its last migration.
    private var wasCancelled = false

    /// Creates a manager, and freezes both models.
    ///
    /// - Parameters:
    ///   - source: The model of the source store.
    ///   - destination: The model of the destination store.
    public init(source: Model, destination: Model) throws {
        try source.freeze()
        try destination.freeze()
        (sourceModel, destinationModel) = (source, destination)
    }

    /// Migrates the objects of an open store into another open store, and saves the destination.
    ///
    /// - Parameters:
    ///   - source: A context of a coordinator with one store.
    ///   - destination: A context of a coordinator with one store. Existing objects are kept.
    ///   - makeTable: Creates the table for the primary keys of migrated objects, for a migration in batches. If this
    ///     function is nil, or if a policy is not batch-safe, all objects stay in memory.
    ///   - record: Called at the end with the run, which has the associations.
    /// - Throws: 134110 with the cause as a child.
    ///   134111 for a violated unique constraint.
    ///   134140 if the mapping model does not fit the models.
    ///   134170 for an error of a policy.
    ///   134120, or the error of the application, if the migration was cancelled.
    ///   The error of a save that fails for a reason other than validation.
    ///   After each of these errors, the caller must discard the destination.
    package func migrate(
        _ mappingModel: MappingModel, from source: Context, to destination: Context,
        associations makeTable: (() throws -> AssociationTable)?, record: ((MigrationRun) throws -> Void)? = nil
    ) throws {
        let isFree = runner.withLock { thread in
            guard thread == 0 else { return false }
            thread = platform_thread_id()
            return true
        }
        guard isFree else {
            throw CoreError(
                .invalidArgument, code: .migration,
                "the migration manager runs a migration already; create another manager with "
                    + "cst_migration_manager_new (MigrationManager)")
        }
        self.mappingModel = mappingModel
        (sourceContext, destinationContext) = (source, destination)
        defer {
            (progress, currentEntityMapping, run) = (0, nil, nil)
            (self.mappingModel, sourceContext, destinationContext) = (nil, nil, nil)
            wasCancelled = cancellation.withLock { $0.isCancelled }
            runner.withLock { $0 = 0 }
        }
        try withHandle {
            try MigrationManager.withHandles(of: source, destination) {
                let run = try MigrationRun(
                    mappingModel, manager: self, source: source, destination: destination, associations: makeTable)
                self.run = run
                do { try run.execute() } catch {
                    // Unsaved changes are discarded intentionally, so they must not cause a warning.
                    try? destination.reset()
                    throw error
                }
                try record?(run)
            }
        }
    }

    // MARK: - Control

    /// Cancels the migration at the next object. Can be called on any thread. Further calls have no effect.
    ///
    /// The manager stays cancelled: later migrations with it fail too.
    ///
    /// - Parameter error: The error of the migration; nil for one with the code 134120.
    public func cancel(with error: CoreError? = nil) {
        cancellation.withLock { if !$0.isCancelled { $0 = (true, error) } }
    }

    var cancellationError: CoreError? { cancellation.withLock { $0.error } }

    func requireNotCancelled() throws {
        let (isCancelled, error) = cancellation.withLock { $0 }
        guard isCancelled else { return }
        let path = sourceContext?.coordinator.stores.first.flatMap { $0.path.isEmpty ? nil : $0.path }
        throw error
            ?? CoreError(
                .cancelled, code: .migrationCancelled,
                "\(path.map { "cannot migrate \($0)" } ?? "cannot migrate the store"): "
                    + (wasCancelled
                        ? "the migration manager was cancelled in an earlier migration; create another manager with "
                            + "cst_migration_manager_new (MigrationManager)"
                        : "cancelled by the application"),
                file: path)
    }

    // MARK: - The running migration

    func running() throws -> MigrationRun {
        try requireThread()
        if let run { return run }
        throw CoreError(
            .invalidArgument, code: .migration,
            "the migration manager does not run a migration; call this function in the callbacks of a migration policy")
    }

    /// Throws unless this thread runs a migration with this manager.
    ///
    /// It is for the C boundary, whose callers may use the wrong thread.
    package func requireRunning() throws { _ = try running() }

    /// Throws if another thread runs a migration with this manager.
    package func requireThread() throws {
        let thread = runner.withLock { $0 }
        guard thread != 0, thread != platform_thread_id() else { return }
        throw CoreError(
            .wrongThread,
            "\(nameOfThread(platform_thread_id())) used a migration manager that runs a migration on \(nameOfThread(thread)); use it "
                + "in callbacks of the migration, or call only cst_migration_manager_cancel (cancel) and "
                + "cst_migration_manager_progress (progress)")
    }

    /// Returns an entity mapping of the running migration.
    package func entityMapping(named name: String) throws -> EntityMapping { try running().plan(named: name).mapping }

    /// Records that a destination object was created for a source object.
    ///
    /// Relationships to the destination object are resolved through this association.
    public func associate(source: ManagedObject, with destination: ManagedObject, for mapping: EntityMapping) throws {
        let run = try running()
        try run.associations.add(source, destination, mapping: run.plan(named: mapping.name).number)
    }

    /// Returns the objects that a mapping created for source objects, in the order of the source objects.
    ///
    /// - Parameter sources: The source objects; nil for all objects of the mapping, in the order of creation. A
    ///   migration in batches then omits the objects of a batch that was not saved yet.
    public func destinationInstances(
        forEntityMappingNamed name: String, sourceInstances sources: [ManagedObject]?
    ) throws -> [ManagedObject] { try running().destinations(mapping: name, of: sources) }

    /// Returns the source objects of destination objects of a mapping, in the order of the destination objects.
    public func sourceInstances(
        forEntityMappingNamed name: String, destinationInstances: [ManagedObject]
    ) throws -> [ManagedObject] { try running().sources(mapping: name, of: destinationInstances) }

    /// Creates the destination object of a source object, sets its attributes, and associates the two.
    ///
    /// This is the default of `EntityMigrationPolicy.createDestinationInstances`.
    ///
    /// - Returns: nil for a mapping without a destination.
    @discardableResult
    public func createDestinationInstance(
        forSource source: ManagedObject, in mapping: EntityMapping
    ) throws -> ManagedObject? {
        let run = try running()
        return try run.createDestinationInstance(forSource: source, in: run.plan(named: mapping.name))
    }

    /// Sets the relationships of an object that a mapping created, with the expressions of the mapping.
    ///
    /// This is the default of `EntityMigrationPolicy.createRelationships`.
    public func createRelationships(forDestination destination: ManagedObject, in mapping: EntityMapping) throws {
        let run = try running()
        let plan = try run.plan(named: mapping.name)
        let source = try run.associations.sources(of: destination, mapping: plan.number).first
        try run.createRelationships(from: source, to: destination, in: plan)
    }

    /// Resets both contexts, which invalidates their objects. A migration in batches does this after each batch.
    public func reset() throws { try running().reset() }
}
