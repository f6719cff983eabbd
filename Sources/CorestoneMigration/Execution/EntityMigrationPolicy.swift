import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// Custom code that migrates the objects of one entity mapping (`NSEntityMigrationPolicy`).
///
/// A policy is used on the thread of the migration, one instance per mapping. Its stages run in three passes over all
/// mappings. The first pass runs `begin`, `createDestinationInstances` for each source object, and
/// `endInstanceCreation`. The second pass runs `createRelationships` for each destination object, and
/// `endRelationshipCreation`. The third pass runs `performCustomValidation` and `end`.
///
/// The default implementation of each stage behaves like a mapping without a policy. An override of
/// `createDestinationInstances` that does not call the default must call `MigrationManager.associate` for each object
/// that it creates. Relationships to the object are resolved through the association.
///
/// An error that a stage throws fails the migration with code 134170, unless it is a cancellation or has the status
/// `.migration`. These errors are not changed.
open class EntityMigrationPolicy {
    public init() {}

    /// Whether the stages do not need objects of other batches; false by default.
    ///
    /// If all policies of a migration are batch-safe, the migration runs in batches, and each batch is saved and
    /// released. Otherwise, all objects of the migration stay in memory until one save at the end.
    open var isBatchSafe: Bool { false }

    /// Runs before the first object of the mapping.
    open func begin(_ mapping: EntityMapping, manager: MigrationManager) throws {}

    /// Creates the destination objects of one source object.
    ///
    /// The default creates one object of the destination entity and sets its attributes. Without a destination entity,
    /// it does nothing.
    open func createDestinationInstances(
        forSource source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws { try manager.createDestinationInstance(forSource: source, in: mapping) }

    /// Runs when all objects of the mapping are created.
    open func endInstanceCreation(_ mapping: EntityMapping, manager: MigrationManager) throws {}

    /// Sets the relationships of one object that the mapping created, by default with the expressions of the mapping.
    open func createRelationships(
        forDestination destination: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws { try manager.createRelationships(forDestination: destination, in: mapping) }

    /// Runs when the relationships of all objects of the mapping are set.
    open func endRelationshipCreation(_ mapping: EntityMapping, manager: MigrationManager) throws {}

    /// Checks the result before the model's own validation.
    open func performCustomValidation(_ mapping: EntityMapping, manager: MigrationManager) throws {}

    /// Runs as the last stage of the mapping.
    open func end(_ mapping: EntityMapping, manager: MigrationManager) throws {}

    /// Returns the result of `FUNCTION($entityPolicy, "selector:", …)` in an expression of the mapping.
    ///
    /// - Returns: nil if the policy does not have the function; the migration then fails.
    open func call(_ selector: String, _ arguments: [PropertyValue], manager: MigrationManager) throws -> PropertyValue?
    { nil }
}

/// The registered policies of the process, by the class names in mapping models.
///
/// The functions can be called on any thread.
public enum MigrationPolicies {
    private static let policies = Locked<[String: @Sendable () throws -> EntityMigrationPolicy]>([:])

    /// Registers a policy, and replaces a policy with the same name.
    ///
    /// - Parameters:
    ///   - name: The class name in the mapping model. `MakerPolicy` is also found for a name with a module, such as
    ///     `Garage.MakerPolicy` or `REPLACE_AT_RUNTIME.MakerPolicy`, if the full name is not registered.
    ///   - make: Creates the policy; called once per mapping and migration.
    public static func register(_ name: String, _ make: @escaping @Sendable () throws -> EntityMigrationPolicy) {
        let replaced = policies.withLock { $0.updateValue(make, forKey: name) }
        withExtendedLifetime(replaced) {}
    }

    /// Deregisters a policy.
    ///
    /// - Returns: Whether the policy was registered.
    @discardableResult
    public static func unregister(_ name: String) -> Bool {
        let removed = policies.withLock { $0.removeValue(forKey: name) }
        return removed != nil
    }

    /// Whether a policy is registered under exactly this name.
    public static func isRegistered(_ name: String) -> Bool { policies.withLock { $0[name] != nil } }

    static func policy(named name: String) throws -> EntityMigrationPolicy? {
        let plain = name.split(separator: ".").last.map(String.init) ?? name
        let make = policies.withLock { $0[name] ?? $0[plain] }
        return try make?()
    }

    static var names: [String] { policies.withLock { Array($0.keys) } }
}
