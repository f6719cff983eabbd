import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// How the objects of one entity mapping are migrated (`NSEntityMigrationPolicy`).
///
/// A policy is used on the thread of the migration, one instance per mapping. The stages run in this order: `begin`; for each source
/// object `createDestinationInstances`; `endInstanceCreation`; when all mappings are that far, for each destination object
/// `createRelationships`; `endRelationshipCreation`; then `performCustomValidation` and `end`. Each default does what a mapping without a
/// policy does. An override of `createDestinationInstances` that does not call the default must call `MigrationManager.associate` for
/// each object that it creates, because relationships to that object are resolved through the association.
///
/// An error that a stage throws fails the migration with code 134170.
open class EntityMigrationPolicy {
    public init() {}

    /// Whether the stages need no object of another batch: then the mapping runs in batches, each of which is saved and forgotten, as
    /// mappings without a policy do. By default all objects of the migration are in memory until one save at the end.
    open var isBatchSafe: Bool { false }

    /// Called before the first object of the mapping.
    open func begin(_ mapping: EntityMapping, manager: MigrationManager) throws {}

    /// Creates what one source object becomes: by default one object of the mapping's destination, with its attributes.
    open func createDestinationInstances(
        forSource source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws { try manager.createDestinationInstance(forSource: source, in: mapping) }

    /// Called when all objects of the mapping are created.
    open func endInstanceCreation(_ mapping: EntityMapping, manager: MigrationManager) throws {}

    /// Sets the relationships of one object that the mapping created: by default those of the mapping.
    open func createRelationships(
        forDestination destination: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws { try manager.createRelationships(forDestination: destination, in: mapping) }

    /// Called when the relationships of all objects of the mapping are set.
    open func endRelationshipCreation(_ mapping: EntityMapping, manager: MigrationManager) throws {}

    /// Checks the result before the model's own validation.
    open func performCustomValidation(_ mapping: EntityMapping, manager: MigrationManager) throws {}

    /// Called last.
    open func end(_ mapping: EntityMapping, manager: MigrationManager) throws {}

    /// The result of `FUNCTION($entityPolicy, "selector:", …)` in an expression of the mapping.
    ///
    /// - Returns: nil if the policy does not have the function; then the migration fails.
    open func call(_ selector: String, _ arguments: [PropertyValue], manager: MigrationManager) throws -> PropertyValue?
    { nil }
}

/// The policies of a process by the class names that mapping models use. Any thread may use it at any time.
public enum MigrationPolicies {
    private static let policies = Locked<[String: @Sendable () throws -> EntityMigrationPolicy]>([:])

    /// Registers a policy, in place of the one that had the name.
    ///
    /// - Parameters:
    ///   - name: the class name in the mapping model. `MakerPolicy` is also found for a name with a module, such as
    ///     `Garage.MakerPolicy` or `REPLACE_AT_RUNTIME.MakerPolicy`, if the full name is not registered.
    ///   - make: called once per mapping and migration.
    public static func register(_ name: String, _ make: @escaping @Sendable () throws -> EntityMigrationPolicy) {
        let replaced = policies.withLock { $0.updateValue(make, forKey: name) }
        withExtendedLifetime(replaced) {}
    }

    /// Removes a policy.
    ///
    /// - Returns: Whether there was one.
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
