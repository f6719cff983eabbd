import CCorestone
import CPlatform
import CorestoneGraph
import CorestoneMigration
import CorestoneModel
import CorestoneValues

@_cdecl("cst_migration_policy_register") @implementation
public func cst_migration_policy_register(
    _ name: cst_string, _ callbacks: UnsafePointer<cst_migration_policy_callbacks>?, _ error: ErrorOut
) -> cst_status {
    boundary(error, taking: callbacks, cst_migration_policy_callbacks(), { Userdata($0.userdata, $0.destroy) }) {
        given, userdata in
        let name = try name.string("name")
        guard !name.isEmpty else {
            throw CoreError(
                .invalidArgument,
                "the name of the migration policy is empty; pass the class name that mapping models use", key: "name",
                value: .string(name))
        }
        let maker = HostPolicyMaker(name, given, userdata)
        MigrationPolicies.register(name) { try maker.make() }
    }
}

@_cdecl("cst_migration_policy_unregister") @implementation
public func cst_migration_policy_unregister(_ name: cst_string, _ error: ErrorOut) -> cst_status {
    outcome(error) { MigrationPolicies.unregister(try name.string("name")) ? .ok : .notFound }
}

@_cdecl("cst_migration_policy_is_registered") @implementation
public func cst_migration_policy_is_registered(
    _ name: cst_string, _ out: UnsafeMutablePointer<Bool>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        try required(out, "out_registered").pointee = MigrationPolicies.isRegistered(try name.string("name"))
    }
}

/// The callbacks of a policy that a host registered.
private final class HostPolicyMaker: @unchecked Sendable {
    let name: String
    let callbacks: cst_migration_policy_callbacks
    let userdata: Userdata

    init(_ name: String, _ callbacks: cst_migration_policy_callbacks, _ userdata: Userdata) {
        (self.name, self.callbacks, self.userdata) = (name, callbacks, userdata)
    }

    func make() throws -> EntityMigrationPolicy { HostPolicy(self) }
}

/// The value that the host's `create` returned for the stages of one mapping, and that `free_instance` frees.
private final class PolicyInstance {
    let pointer: UnsafeMutableRawPointer?
    private let maker: HostPolicyMaker

    init(_ pointer: UnsafeMutableRawPointer?, _ maker: HostPolicyMaker) {
        (self.pointer, self.maker) = (pointer, maker)
    }

    /// Frees the value. Within a call of the interface, the value is freed when the thread's outermost call ends.
    deinit {
        guard maker.callbacks.free_instance != nil else { return }
        platform_call_defer(
            { maker, pointer, _ in
                guard let maker = UnsafeRawPointer(bitPattern: UInt(maker)) else { return }
                let owner = Unmanaged<HostPolicyMaker>.fromOpaque(maker).takeRetainedValue()
                owner.callbacks.free_instance?(
                    owner.userdata.pointer, UnsafeMutableRawPointer(bitPattern: UInt(pointer)))
            }, UInt64(UInt(bitPattern: Unmanaged.passRetained(maker).toOpaque())),
            UInt64(UInt(bitPattern: pointer)), 0)
    }
}

/// The policy of one mapping in one migration.
private final class HostPolicy: EntityMigrationPolicy {
    private typealias Stage =
        @convention(c) (UnsafeMutableRawPointer?, OpaquePointer?, cst_string, ErrorOut) -> cst_status
    private typealias ObjectStage =
        @convention(c) (UnsafeMutableRawPointer?, OpaquePointer?, cst_string, OpaquePointer?, ErrorOut) -> cst_status

    private let maker: HostPolicyMaker
    private var callbacks: cst_migration_policy_callbacks { maker.callbacks }
    private var policyInstance: PolicyInstance?

    init(_ maker: HostPolicyMaker) { self.maker = maker }

    /// Returns the first argument of the host's callbacks: the value of `create`, or the userdata without `create`.
    ///
    /// The value is created before the first stage, or before an expression first calls a function.
    private func instance(_ mapping: String) throws -> UnsafeMutableRawPointer? {
        guard let create = callbacks.create else { return maker.userdata.pointer }
        if let policyInstance { return policyInstance.pointer }
        var pointer: UnsafeMutableRawPointer?
        let text = Text(mapping)
        try callHost(callbackName("create")) { create(maker.userdata.pointer, cst_string(text), &pointer, $0) }
        withExtendedLifetime(text) {}
        policyInstance = PolicyInstance(pointer, maker)
        return pointer
    }

    override var isBatchSafe: Bool { callbacks.batch_safe }

    private func callbackName(_ name: String) -> String { "the callback \(name)" }

    private func run(_ name: String, _ stage: Stage?, _ mapping: EntityMapping, _ manager: MigrationManager) throws {
        guard let stage else { return }
        let (instance, text) = (try instance(mapping.name), Text(mapping.name))
        try callHost(callbackName(name)) { stage(instance, manager.handle, cst_string(text), $0) }
        withExtendedLifetime(text) {}
    }

    private func run(
        _ name: String, _ stage: ObjectStage, _ object: ManagedObject, _ mapping: EntityMapping,
        _ manager: MigrationManager
    ) throws {
        let (instance, text) = (try instance(mapping.name), Text(mapping.name))
        try withBorrowedHandle(object) { handle in
            try callHost(callbackName(name)) { stage(instance, manager.handle, cst_string(text), handle, $0) }
        }
        withExtendedLifetime(text) {}
    }

    override func begin(_ mapping: EntityMapping, manager: MigrationManager) throws {
        _ = try instance(mapping.name)
        try run("begin", callbacks.begin, mapping, manager)
    }

    override func createDestinationInstances(
        forSource source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
        guard let stage = callbacks.create_destination_instances else {
            return try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
        }
        try run("create_destination_instances", stage, source, mapping, manager)
    }

    override func endInstanceCreation(_ mapping: EntityMapping, manager: MigrationManager) throws {
        try run("end_instance_creation", callbacks.end_instance_creation, mapping, manager)
    }

    override func createRelationships(
        forDestination destination: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
        guard let stage = callbacks.create_relationships else {
            return try super.createRelationships(forDestination: destination, in: mapping, manager: manager)
        }
        try run("create_relationships", stage, destination, mapping, manager)
    }

    override func endRelationshipCreation(_ mapping: EntityMapping, manager: MigrationManager) throws {
        try run("end_relationship_creation", callbacks.end_relationship_creation, mapping, manager)
    }

    override func performCustomValidation(_ mapping: EntityMapping, manager: MigrationManager) throws {
        try run("perform_custom_validation", callbacks.perform_custom_validation, mapping, manager)
    }

    override func end(_ mapping: EntityMapping, manager: MigrationManager) throws {
        try run("end", callbacks.end, mapping, manager)
    }

    override func call(
        _ selector: String, _ arguments: [PropertyValue], manager: MigrationManager
    ) throws -> PropertyValue? {
        guard let call = callbacks.call else { return nil }
        let (instance, text) = (try instance(manager.currentEntityMapping?.name ?? ""), Text(selector))
        defer { withExtendedLifetime(text) {} }
        return try withBorrowedValues(arguments.map(\.forHost)) { cells in
            var answer = cst_value()
            let callback = "the callback call for \"\(selector)\" of the migration policy \"\(maker.name)\""
            let status = try callHost(callback, key: selector) {
                call(instance, manager.handle, cst_string(text), arguments.count, cells, &answer, $0)
            }
            if status == Status.notFound.rawValue { return nil }
            return try readingResult(callback, key: selector) { try hostValue(answer) }
        }
    }
}
