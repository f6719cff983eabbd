import CPlatform
import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneSQLite
import CorestoneValues

/// Migrates the objects of one store into another by a mapping model (`NSMigrationManager`).
///
/// Three passes go over all entity mappings, in their order: the first creates objects with their attributes, the second sets
/// relationships, the third validates. So an expression of the second pass finds the objects of every mapping, one of the first pass
/// only those of earlier mappings.
///
/// A manager belongs to the thread that runs it, except for `cancel`, `progress` and `currentEntityMapping`.
public final class MigrationManager {
    public let sourceModel: Model
    public let destinationModel: Model
    /// The mapping model of the migration that runs.
    public private(set) var mappingModel: MappingModel?
    /// A context of the former store, which is only read; nil unless a migration runs.
    public private(set) var sourceContext: Context?
    /// A context of the store that is written; nil unless a migration runs. Until the migration ends it may hold objects that the
    /// model's validation would refuse.
    public private(set) var destinationContext: Context?
    /// Values of the host for its policies.
    public var userInfo: [String: PropertyValue] = [:]
    /// Functions that expressions call as `FUNCTION($manager, "selector:", …)`, beside those of Core Data's manager.
    public var functions: [String: ([PropertyValue]) throws -> PropertyValue] = [:]
    /// The mapping whose objects are migrated; each is current three times.
    public internal(set) var currentEntityMapping: EntityMapping? {
        get { position.withLock { $0.mapping } }
        set { position.withLock { $0.mapping = newValue } }
    }
    /// 0 to 1 while a migration runs, otherwise 0.
    public internal(set) var progress: Double {
        get { position.withLock { $0.progress } }
        set { position.withLock { $0.progress = newValue } }
    }
    /// Called when rows are done, with their number and that of all; false cancels.
    public var report: ((_ done: Int, _ total: Int) -> Bool)?

    /// The migration that runs.
    var run: MigrationRun?
    /// What hosts in other languages know the manager by; 0 where they do not.
    package var hostSlot: UInt = 0
    /// Where the migration is, which any thread may ask.
    private let position = Locked<(mapping: EntityMapping?, progress: Double)>((nil, 0))
    /// The thread of the migration that runs; 0 without one.
    private let runner = Locked<UInt64>(0)
    private let cancellation = Locked<(isCancelled: Bool, error: CoreError?)>((false, nil))

    /// - Parameters:
    ///   - source: the model of the former store; is frozen.
    ///   - destination: the model of the new one; is frozen.
    public init(source: Model, destination: Model) throws {
        try source.freeze()
        try destination.freeze()
        (sourceModel, destinationModel) = (source, destination)
    }

    /// Migrates all objects of one open store into another one and saves it.
    ///
    /// - Parameters:
    ///   - source: a context of a coordinator with one store.
    ///   - destination: a context of a coordinator with one store. Its objects stay.
    ///   - makeTable: makes the place of the keys of migrated objects, for a migration in batches. Without it all objects are in memory.
    ///   - record: called at the end with the migration's associations.
    /// - Throws: 134110 with the failure as its detail, 134111 for values that must be unique, 134140 if the mapping model does not fit
    ///   the models, 134170 for a policy, 134120 or the given error when it was cancelled. The destination is to be discarded then.
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
                "the migration manager runs a migration already; wait for its end, or create another manager")
        }
        self.mappingModel = mappingModel
        (sourceContext, destinationContext) = (source, destination)
        defer {
            (progress, currentEntityMapping, run) = (0, nil, nil)
            (self.mappingModel, sourceContext, destinationContext) = (nil, nil, nil)
            runner.withLock { $0 = 0 }
        }
        try MigrationHosting.lending(self) {
            try MigrationHosting.lending(source, destination) {
                let run = try MigrationRun(
                    mappingModel, manager: self, source: source, destination: destination, associations: makeTable)
                self.run = run
                do { try run.execute() } catch {
                    // What is unsaved is discarded with the destination, and nothing to warn of.
                    try? destination.reset()
                    throw error
                }
                try record?(run)
            }
        }
    }

    // MARK: - Control

    /// Ends the migration at the next object. Any thread; further calls have no effect.
    ///
    /// - Parameter error: what the migration fails with; code 134120 without one.
    public func cancel(with error: CoreError? = nil) {
        cancellation.withLock { if !$0.isCancelled { $0 = (true, error) } }
    }

    var cancellationError: CoreError? { cancellation.withLock { $0.error } }

    func requireNotCancelled() throws {
        let (isCancelled, error) = cancellation.withLock { $0 }
        guard isCancelled else { return }
        let path = sourceContext?.coordinator.stores.first?.path
        throw error
            ?? CoreError(
                .cancelled, code: .migrationCancelled,
                "\(path.map { "cannot migrate \($0)" } ?? "cannot migrate the store"): cancelled by the application",
                file: path)
    }

    // MARK: - The migration that runs

    func running() throws -> MigrationRun {
        try requireThread()
        if let run { return run }
        throw CoreError(
            .invalidArgument, code: .migration,
            "the migration manager does not run a migration; call it from a policy, or from a function of the manager")
    }

    /// The same, for the C boundary, which cannot trust its callers with threads.
    package func requireRunning() throws { _ = try running() }

    /// Throws while another thread runs a migration by this manager.
    package func requireThread() throws {
        let thread = runner.withLock { $0 }
        guard thread != 0, thread != platform_thread_id() else { return }
        throw CoreError(
            .wrongThread,
            "\(nameOfThread(platform_thread_id())) used a migration manager that runs a migration on \(nameOfThread(thread)); use it "
                + "in callbacks of the migration, or call only cancel and progress")
    }

    /// An entity mapping of the migration that runs.
    package func entityMapping(named name: String) throws -> EntityMapping { try running().plan(named: name).mapping }

    /// Notes that an object of the destination was created for one of the source. Relationships to it are resolved by this.
    public func associate(source: ManagedObject, with destination: ManagedObject, for mapping: EntityMapping) throws {
        let run = try running()
        try run.associations.add(source, destination, mapping: run.plan(named: mapping.name).number)
    }

    /// The objects that a mapping created for some of the source, in their order.
    ///
    /// - Parameter sources: nil for all of the mapping's objects.
    public func destinationInstances(
        forEntityMappingNamed name: String, sourceInstances sources: [ManagedObject]?
    ) throws -> [ManagedObject] { try running().destinations(mapping: name, of: sources) }

    /// The objects of the source for which a mapping created some of the destination, in their order.
    public func sourceInstances(
        forEntityMappingNamed name: String, destinationInstances: [ManagedObject]
    ) throws -> [ManagedObject] { try running().sources(mapping: name, of: destinationInstances) }

    /// Creates the object that a mapping makes of one of the source, sets its attributes, and associates the two: the default of
    /// `EntityMigrationPolicy.createDestinationInstances`.
    ///
    /// - Returns: nil for a mapping without a destination.
    @discardableResult
    public func createDestinationInstance(
        forSource source: ManagedObject, in mapping: EntityMapping
    ) throws -> ManagedObject? {
        let run = try running()
        return try run.createDestinationInstance(forSource: source, in: run.plan(named: mapping.name))
    }

    /// Sets the relationships of an object that a mapping created, by the expressions of the mapping: the default of
    /// `EntityMigrationPolicy.createRelationships`.
    public func createRelationships(forDestination destination: ManagedObject, in mapping: EntityMapping) throws {
        let run = try running()
        let plan = try run.plan(named: mapping.name)
        let source = try run.associations.sources(of: destination, mapping: plan.number).first
        try run.createRelationships(from: source, to: destination, in: plan)
    }

    /// Ends all objects of both contexts. A migration in batches does so itself.
    public func reset() throws { try running().reset() }
}
