import CorestoneGraph
import CorestoneCustomStores
import CorestoneModel
import CorestoneContainers
import CorestoneValues

/// The common part of custom stores, `IncrementalStore` and `AtomicStore`.
///
/// Register a type with `StoreTypes.register`, and add a store by the name of its type. docs/HOST-STORES.md documents
/// when each function is called.
///
/// Unless the store has the ability `parallelReads`, only one thread at a time calls its functions, except for `close`,
/// `didRegister` and `didUnregister`. A store must not use itself through a coordinator or a context. An error that a
/// function throws becomes the child of an error of status `.callback` that names the store.
public protocol CustomStore: AnyObject, SendableMetatype {
    /// Opens the store, or creates a new one.
    ///
    /// - Throws: `StoreNotFound` if `opening.mustExist` is true and the store does not exist.
    init(_ opening: StoreOpening) throws

    /// The store's metadata; read once, after `init`. Its `NSStoreUUID` is the store's identifier.
    var metadata: [String: PropertyListValue] { get }

    /// Whether the store cannot be saved to, so that `save` is not called; read once, after `init`. False by default.
    var isReadOnly: Bool { get }

    /// Writes all changes, or no changes. Implement it unless the store is read-only.
    ///
    /// - Returns: Rows that differ from the request, because the store assigned another version or computed values.
    func save(_ request: SaveChangesRequest) throws -> [StoreNode]

    /// Returns references for new objects, in the order of `objects`; nil if the library must generate UUIDs.
    func references(for objects: [NewObject]) throws -> [StoreReference]?

    /// Called once, after a coordinator added the store and before observers of the coordinator are notified.
    ///
    /// The store must not use the coordinator's stores in the call. Does nothing by default.
    func didAdd(to coordinator: Coordinator)
    /// Called before the coordinator closes the store, because it was removed or the coordinator is closed.
    ///
    /// Not called if the coordinator is deallocated without being closed: only `close` is called then. The store must
    /// not use the coordinator's stores in the call. Does nothing by default.
    func willRemove(from coordinator: Coordinator)

    /// Moves the store to another path.
    func move(to path: String) throws
    /// Closes the store. The library does not use it afterwards.
    func close()

    static var abilities: HostStoreAbilities { get }

    // MARK: Functions for stores that are not open
    /// Returns the metadata of a store; nil if it does not exist.
    static func metadata(ofStoreAt path: String) throws -> [String: PropertyListValue]?
    static func setMetadata(_ values: [String: PropertyListValue], ofStoreAt path: String) throws
    /// Deletes a store. Returns false if it does not exist.
    static func destroyStore(at path: String) throws -> Bool
    static func replaceStore(at path: String, byStoreAt source: String) throws
}

/// The error for a store that must exist (`StoreOpening.mustExist`) but does not.
///
/// If `init` throws it, the library reports an error of status `.storeIO` that names the path and the type.
public struct StoreNotFound: Error {
    public init() {}
}

/// Optional abilities of a custom store.
///
/// A model with unique constraints or derived attributes is rejected unless the store has the corresponding ability.
public struct HostStoreAbilities: OptionSet, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Several threads may call the reading functions at the same time, even during a save.
    public static let parallelReads = HostStoreAbilities(rawValue: 1)
    /// A save checks unique constraints and reports violations as conflicts.
    public static let uniqueConstraints = HostStoreAbilities(rawValue: 2)
    /// A save computes derived attributes and returns the rows with their values.
    public static let derivedAttributes = HostStoreAbilities(rawValue: 4)

    package var stores: StoreAbilities {
        var abilities: StoreAbilities = []
        if contains(.parallelReads) { abilities.insert(.parallelReads) }
        if contains(.uniqueConstraints) { abilities.insert(.uniqueConstraints) }
        if contains(.derivedAttributes) { abilities.insert(.derivedAttributes) }
        return abilities
    }
}

/// An object that a save will insert, and for which the store chooses a reference.
public struct NewObject {
    public let entity: Entity
    private let row: NewRow

    init(_ row: NewRow) { (entity, self.row) = (row.entity, row) }

    /// Returns the value of an attribute, or null if the entity does not have the attribute.
    public func value(of attribute: String) -> PropertyValue {
        (entity.property(named: attribute) as? Attribute).map { row.value(Int($0.slot)) } ?? .null
    }
}

extension CustomStore {
    public var isReadOnly: Bool { false }
    public func save(_ request: SaveChangesRequest) throws -> [StoreNode] {
        throw CoreError.unsupportedOperation(
            "save", type: "\(Self.self)",
            reason: "save is not implemented; implement it, or return true from isReadOnly")
    }
    public func references(for objects: [NewObject]) throws -> [StoreReference]? { nil }
    public func move(to path: String) throws {
        throw CoreError.unsupportedOperation(
            "be moved", type: "\(Self.self)",
            reason: "move(to:) is not implemented; implement it, or call remove(_:) and addStore with the new path")
    }
    public func didAdd(to coordinator: Coordinator) {}
    public func willRemove(from coordinator: Coordinator) {}
    public func close() {}
    public static var abilities: HostStoreAbilities { [] }
    public static func metadata(ofStoreAt path: String) throws -> [String: PropertyListValue]? {
        throw CoreError.unsupportedOperation(
            "report metadata while closed", type: "\(self)", path: path,
            reason: "metadata(ofStoreAt:) is not implemented; implement it, or call addStore and metadata(of:)")
    }
    public static func setMetadata(_ values: [String: PropertyListValue], ofStoreAt path: String) throws {
        throw CoreError.unsupportedOperation(
            "change metadata while closed", type: "\(self)", path: path,
            reason: "setMetadata(_:ofStoreAt:) is not implemented; implement it, or call addStore, "
                + "setMetadata(_:of:) and save")
    }
    public static func destroyStore(at path: String) throws -> Bool {
        throw CoreError.unsupportedOperation(
            "be destroyed", type: "\(self)", path: path,
            reason: "destroyStore(at:) is not implemented; implement it, or delete the data directly")
    }
    public static func replaceStore(at path: String, byStoreAt source: String) throws {
        throw CoreError.unsupportedOperation(
            "be replaced", type: "\(self)", path: path,
            reason: "replaceStore(at:byStoreAt:) is not implemented; implement it, or call migrateStore instead")
    }
}

/// A registered Swift class of custom stores.
final class CustomType<Implementation: CustomStore>: HostedType {
    private let make: @Sendable (StoreOpening) throws -> (any HostedStore, Implementation)
    let isAtomic: Bool
    var abilities: StoreAbilities { Implementation.abilities.stores }

    init(
        isAtomic: Bool, _ make: @escaping @Sendable (StoreOpening) throws -> (any HostedStore, Implementation)
    ) { (self.isAtomic, self.make) = (isAtomic, make) }

    func open(_ opening: StoreOpening) throws -> (store: any HostedStore, metadata: [String: PropertyListValue]?)? {
        do {
            let (hosted, store) = try make(opening)
            return (hosted, store.metadata)
        } catch is StoreNotFound { return nil }
    }

    func metadata(ofStoreAt path: String) throws -> [String: PropertyListValue]? {
        try Implementation.metadata(ofStoreAt: path)
    }
    func setMetadata(_ values: [String: PropertyListValue], ofStoreAt path: String) throws {
        try Implementation.setMetadata(values, ofStoreAt: path)
    }
    func destroy(_ path: String) throws -> Bool { try Implementation.destroyStore(at: path) }
    func replace(_ path: String, byStoreAt source: String) throws {
        try Implementation.replaceStore(at: path, byStoreAt: source)
    }
}
