import CorestoneGraph
import CorestoneHosting
import CorestoneModel
import CorestoneStack
import CorestoneValues

/// What the stores of a host's own kinds have in common, `IncrementalStore` and `AtomicStore`. Registered with
/// `StoreTypes.register`, added by the name of their type; docs/HOST-STORES.md tells when what is called.
///
/// One thread at a time calls a store, but for `close` and the notices of registration. It must not use itself through a coordinator or
/// a context. What it throws comes back as the child of an error of status `.callback` that names store and entity.
public protocol CustomStore: AnyObject, SendableMetatype {
    /// Opens the store, or begins a new one.
    /// - Throws: `StoreNotFound` where `opening.mustExist` and there is none.
    init(_ opening: StoreOpening) throws

    /// What the store says about itself; asked once, after `init`. `NSStoreUUID` in it is its identifier.
    var metadata: [String: PropertyListValue] { get }

    /// Whether nothing can be saved, and `save` is not called; asked once, after `init`. False by default.
    var isReadOnly: Bool { get }

    /// Keeps what changed, all of it or nothing. A store that is not read-only writes one.
    /// - Returns: rows that became something else than was to be written: another version, values that the store computed.
    func save(_ request: SaveChangesRequest) throws -> [StoreNode]

    /// References for new objects, in their order; nil to have UUIDs made, as text.
    func references(for objects: [NewObject]) throws -> [StoreReference]?

    /// The store lies at another path from now on.
    func move(to path: String) throws
    /// The store is not used any more.
    func close()

    static var abilities: HostStoreAbilities { get }

    // Stores that are not open.
    /// nil when there is none.
    static func metadata(ofStoreAt path: String) throws -> [String: PropertyListValue]?
    static func setMetadata(_ values: [String: PropertyListValue], ofStoreAt path: String) throws
    /// False when there is none.
    static func destroyStore(at path: String) throws -> Bool
    static func replaceStore(at path: String, byStoreAt source: String) throws
}

/// What a store's `init` throws when a store is to be opened that has to be there (`StoreOpening.mustExist`), and is not. Whoever
/// opens it gets an error of status `.storeIO` that names path and type.
public struct StoreNotFound: Error {
    public init() {}
}

/// What a store of a host's can do beyond what every one does; a model that asks for more is refused.
public struct HostStoreAbilities: OptionSet, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Reading functions may be called by several threads at a time, also during a save.
    public static let parallelReads = HostStoreAbilities(rawValue: 1)
    /// A save refuses what is not unique and must be.
    public static let uniqueConstraints = HostStoreAbilities(rawValue: 2)
    /// A save computes derived attributes, and gives the rows that have them.
    public static let derivedAttributes = HostStoreAbilities(rawValue: 4)

    package var stores: StoreAbilities {
        var abilities: StoreAbilities = []
        if contains(.parallelReads) { abilities.insert(.parallelReads) }
        if contains(.uniqueConstraints) { abilities.insert(.uniqueConstraints) }
        if contains(.derivedAttributes) { abilities.insert(.derivedAttributes) }
        return abilities
    }
}

/// An object that a save will insert, for a store that chooses its reference.
public struct NewObject {
    public let entity: Entity
    private let row: NewRow

    init(_ row: NewRow) { (entity, self.row) = (row.entity, row) }

    /// The value of an attribute; null for one that the entity does not have.
    public func value(of attribute: String) -> PropertyValue {
        (entity.property(named: attribute) as? Attribute).map { row.value(Int($0.slot)) } ?? .null
    }
}

extension CustomStore {
    public var isReadOnly: Bool { false }
    public func save(_ request: SaveChangesRequest) throws -> [StoreNode] {
        throw CoreError.cannot(
            "save", type: "\(Self.self)",
            reason: "save is not implemented; implement it, or return true from isReadOnly")
    }
    public func references(for objects: [NewObject]) throws -> [StoreReference]? { nil }
    public func move(to path: String) throws {
        throw CoreError.cannot(
            "be moved", type: "\(Self.self)",
            reason: "move(to:) is not implemented; remove the store and add it at the new path")
    }
    public func close() {}
    public static var abilities: HostStoreAbilities { [] }
    public static func metadata(ofStoreAt path: String) throws -> [String: PropertyListValue]? {
        throw CoreError.cannot(
            "return metadata unless it is open", type: "\(self)", path: path,
            reason: "metadata(ofStoreAt:) is not implemented; open the store")
    }
    public static func setMetadata(_ values: [String: PropertyListValue], ofStoreAt path: String) throws {
        throw CoreError.cannot(
            "change metadata unless it is open", type: "\(self)", path: path,
            reason: "setMetadata(_:ofStoreAt:) is not implemented; open the store, set its metadata and save")
    }
    public static func destroyStore(at path: String) throws -> Bool {
        throw CoreError.cannot(
            "be destroyed", type: "\(self)", path: path,
            reason: "destroyStore(at:) is not implemented; implement it, or delete the data directly")
    }
    public static func replaceStore(at path: String, byStoreAt source: String) throws {
        throw CoreError.cannot(
            "be replaced", type: "\(self)", path: path,
            reason: "replaceStore(at:byStoreAt:) is not implemented; migrate the store instead")
    }
}

/// A registered class.
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
