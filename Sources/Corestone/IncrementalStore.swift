import CorestoneGraph
import CorestoneHosting
import CorestoneModel
import CorestoneStack
import CorestoneValues

/// A row of a host's store as the store gives it: what Apple's framework calls an incremental store's node, or an atomic store's cache
/// node. A class, so that a store may keep its nodes and update them.
///
/// Of one thread at a time.
public final class StoreNode {
    public let row: RowReference
    /// 0 to 2147483647, higher with each change; 0 every time in a store that keeps none.
    public private(set) var version: Int64
    /// By name. What the entity does not have is left out. Of a to-one relationship `.null`, or a reference as a value (`.int`, `.text`,
    /// `.bytes`) or as an object ID (`ObjectIDReference`); one that is missing is asked for. Of a to-many relationship, if the store
    /// has them at hand, an array of these.
    public private(set) var values: [String: PropertyValue]
    /// The entities of targets that inherit from the relationship's destination, by the name of the to-one relationship.
    public var targets: [String: Entity] = [:]

    public init(_ row: RowReference, _ values: [String: PropertyValue] = [:], version: Int64 = 0) {
        (self.row, self.values, self.version) = (row, values, version)
    }

    public convenience init(
        _ entity: Entity, _ reference: StoreReference, _ values: [String: PropertyValue] = [:], version: Int64 = 0
    ) {
        self.init(RowReference(entity, reference), values, version: version)
    }

    /// The values and the version that the node has from now on.
    public func update(_ values: [String: PropertyValue], version: Int64) {
        (self.values, self.version) = (values, version)
    }

    public func value(of property: String) -> PropertyValue? { values[property] }

    var pushed: PushedRow {
        PushedRow(
            row.entity, row.reference, version: version,
            values.compactMap { name, value in
                row.entity.property(named: name).map { ($0.key, value, targets[name]) }
            })
    }
}

/// A row that a save writes, as the store gets it.
public struct SavedRow {
    public let row: RowReference
    /// The version to be written; of rows that are deleted or locked the one that they must still have.
    public let version: Int64
    /// Of a changed row the version that it must still have.
    public let oldVersion: Int64?
    /// The names of the properties that changed, of a changed row.
    public let changed: Set<String>
    /// All values by name, null ones too: of a to-one relationship the reference as a value. None of rows that are deleted or locked.
    public let values: [String: PropertyValue]
    /// The rows that to-one relationships lead to, by their names.
    public let targets: [String: RowReference]

    public init(
        _ row: RowReference, version: Int64, oldVersion: Int64? = nil, changed: Set<String> = [],
        values: [String: PropertyValue] = [:], targets: [String: RowReference] = [:]
    ) {
        (self.row, self.version, self.oldVersion) = (row, version, oldVersion)
        (self.changed, self.values, self.targets) = (changed, values, targets)
    }
}

/// What a save hands to a store: all that changed, to be kept as a whole or not at all. All may be nothing: then at most the metadata is
/// to be written.
///
/// Good during the save.
public final class SaveChangesRequest: PersistentStoreRequest, @unchecked Sendable {
    public let inserted: [SavedRow]
    public let updated: [SavedRow]
    public let deleted: [SavedRow]
    /// Not changed, but the save is to fail unless they still have their version.
    public let locked: [SavedRow]
    public let memberChanges: [MemberChange]
    /// What the store is to say about itself from now on; nil when that stays.
    public let metadata: [String: PropertyListValue]?
    public let author: SaveAuthor
    private let changes: HostChanges?

    public init(
        inserted: [SavedRow]? = nil, updated: [SavedRow]? = nil, deleted: [SavedRow]? = nil, locked: [SavedRow]? = nil
    ) {
        (self.inserted, self.updated, self.deleted, self.locked) =
            (inserted ?? [], updated ?? [], deleted ?? [], locked ?? [])
        (memberChanges, metadata, author, changes) = ([], nil, SaveAuthor(), nil)
        super.init()
    }

    init(_ changes: HostChanges) {
        self.changes = changes
        inserted = changes.inserted.map { SavedRow(changes, $0.record, $0.entity, nil, []) }
        updated = changes.updated.map { SavedRow(changes, $0.record, $0.entity, $0.oldVersion, $0.slots) }
        deleted = changes.deleted.map { SavedRow($0.row, version: Int64($0.version)) }
        locked = changes.locked.map { SavedRow($0.row, version: Int64($0.version)) }
        memberChanges = changes.memberChanges
        metadata = changes.metadata?.dictionary
        author = changes.author
        super.init()
    }

    public override var requestType: UInt32 { RequestType.save.rawValue }

    /// A row has another version in the store than the save is based on, or is gone: the save ends with a conflict, which the context's
    /// merge policy may settle, whatever the store does then.
    ///
    /// - Throws: `.invalidArgument` for a row that is none of this save.
    public func addConflict(_ row: RowReference) throws { try changes?.addConflict(.version, row) }

    /// The same for a row whose values another one has, where they must be unique.
    public func addUniquenessConflict(_ row: RowReference) throws { try changes?.addConflict(.unique, row) }
}

extension SavedRow {
    fileprivate init(_ changes: HostChanges, _ record: Record, _ entity: Entity, _ old: Int32?, _ slots: [Int]) {
        var values: [String: PropertyValue] = [:]
        var targets: [String: RowReference] = [:]
        changes.forEachValue(record, entity) { slot, view, target in
            let name = entity.properties[slot].path
            values[name] = target?.reference.value ?? view.propertyValue
            if let target { targets[name] = target }
        }
        self.init(
            changes.row(of: record, entity), version: Int64(record.version), oldVersion: old.map { Int64($0) },
            changed: Set(slots.map { entity.properties[$0].path }), values: values, targets: targets)
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

/// What a store gives for a fetch.
public struct FetchAnswer {
    /// In the order of the request, if `done` says so. A node without values is its reference alone: they are asked for when somebody
    /// needs them.
    public var nodes: [StoreNode]
    /// What the store has done; the rest the library does with the nodes.
    public var done: FetchWork
    /// With `.count`, for a request for a count.
    public var count = 0

    public init(_ nodes: [StoreNode], done: FetchWork = []) { (self.nodes, self.done) = (nodes, done) }
}

/// A store of a host's own kind that is asked for rows when contexts need them. Registered with `StoreTypes.register`, added by the name of
/// its type; docs/HOST-STORES.md tells when what is called.
///
/// One thread at a time calls it, but for the notices of registration and `close`. It must not use itself through a coordinator or a
/// context. What it throws comes back as the child of an error of status `.callback` that names store and entity.
public protocol IncrementalStore: AnyObject, SendableMetatype {
    /// Opens the store, or begins a new one.
    init(_ opening: StoreOpening) throws

    /// What the store says about itself; asked once, after `init`. `NSStoreUUID` in it is its identifier.
    var metadata: [String: PropertyListValue] { get }

    /// The rows of an entity, and at the store's choice less and in order.
    func fetch(_ request: FetchRequest) throws -> FetchAnswer

    /// The rows of references; those that are no more are left out. In any order.
    func nodes(for rows: [RowReference]) throws -> [StoreNode]

    /// What a relationship leads to, for each of the owners; of a to-one relationship at most one row.
    func members(of relationship: Relationship, for owners: [RowReference]) throws -> [[RowReference]]

    /// Keeps what changed, all of it or nothing.
    /// - Returns: rows that became something else than was to be written: another version, values that the store computed.
    func save(_ request: SaveChangesRequest) throws -> [StoreNode]

    /// References for new objects, in their order; nil to have some made.
    func references(for objects: [NewObject]) throws -> [StoreReference]?

    /// A context knows an object from now on, or no longer. Any thread.
    func didRegister(_ row: RowReference)
    func didUnregister(_ row: RowReference)

    /// The store lies at another path from now on.
    func move(to path: String) throws
    /// The store is not used any more.
    func close()

    /// Whether notices of registration are wanted, which cost a call for each object.
    static var hearsRegistrations: Bool { get }
    /// `.uniqueConstraints`, `.derivedAttributes`, `.parallelReads`.
    static var abilities: HostStoreAbilities { get }

    // Stores that are not open.
    static func metadata(ofStoreAt path: String) throws -> [String: PropertyListValue]?
    static func setMetadata(_ values: [String: PropertyListValue], ofStoreAt path: String) throws
    /// False when there is none.
    static func destroyStore(at path: String) throws -> Bool
    static func replaceStore(at path: String, byStoreAt source: String) throws
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

extension IncrementalStore {
    public func members(of relationship: Relationship, for owners: [RowReference]) throws -> [[RowReference]] {
        owners.map { _ in [] }
    }
    public func references(for objects: [NewObject]) throws -> [StoreReference]? { nil }
    public func didRegister(_ row: RowReference) {}
    public func didUnregister(_ row: RowReference) {}
    public func move(to path: String) throws {
        throw CoreError.cannot("move", type: "\(Self.self)", path: path, remedy: "remove the store and add it there")
    }
    public func close() {}
    public static var hearsRegistrations: Bool { false }
    public static var abilities: HostStoreAbilities { [] }
    public static func metadata(ofStoreAt path: String) throws -> [String: PropertyListValue]? {
        throw CoreError.cannot(
            "tell metadata without being open", type: "\(self)", path: path, remedy: "open the store")
    }
    public static func setMetadata(_ values: [String: PropertyListValue], ofStoreAt path: String) throws {
        throw CoreError.cannot(
            "take metadata without being open", type: "\(self)", path: path, remedy: "open the store and save")
    }
    public static func destroyStore(at path: String) throws -> Bool {
        throw CoreError.cannot("be destroyed", type: "\(self)", path: path, remedy: "use what the host has for that")
    }
    public static func replaceStore(at path: String, byStoreAt source: String) throws {
        throw CoreError.cannot("be replaced", type: "\(self)", path: path, remedy: "migrate the store instead")
    }
}

extension StoreTypes {
    /// Makes a type of incremental stores known in the whole process: `Coordinator.addStore` takes its name from now on.
    ///
    /// - Parameter make: makes a store; by default what the type's `init` makes. For stores that a program wants to get at.
    /// - Throws: `.invalidArgument` (134000) for a name that is taken, also one of a type that was registered before.
    @discardableResult
    public static func register<Implementation: IncrementalStore>(
        _ name: String, _ type: Implementation.Type,
        opening make: @escaping @Sendable (StoreOpening) throws -> Implementation = { try Implementation($0) }
    ) throws -> StoreType {
        try register(HostKind(name, IncrementalType(make)))
        return StoreType(rawValue: name)
    }
}

private final class IncrementalType<Implementation: IncrementalStore>: HostedType {
    private let make: @Sendable (StoreOpening) throws -> Implementation
    let isAtomic = false
    var abilities: StoreAbilities { Implementation.abilities.stores }

    init(_ make: @escaping @Sendable (StoreOpening) throws -> Implementation) { self.make = make }

    func open(_ opening: StoreOpening) throws -> (store: any HostedStore, metadata: [String: PropertyListValue]?)? {
        let store = try make(opening)
        return (OpenIncrementalStore(store), store.metadata)
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

private final class OpenIncrementalStore<Implementation: IncrementalStore>: HostedStore {
    private let store: Implementation

    init(_ store: Implementation) { self.store = store }

    var canSave: Bool { true }
    var hearsRegistrations: Bool { Implementation.hearsRegistrations }
    var tellsRelationships: Bool { true }

    func fetch(_ fetch: StoreFetch, into sink: RowSink) throws -> (done: FetchWork, count: Int) {
        let answer = try store.fetch(FetchRequest(fetch))
        try sink.push(answer.nodes.map(\.pushed))
        return (answer.done, answer.count)
    }

    func values(of rows: [RowReference], into sink: RowSink) throws {
        try sink.push(store.nodes(for: rows).map(\.pushed))
    }

    func members(of relationship: Relationship, owners: [RowReference], into sink: RowSink) throws {
        let found = try store.members(of: relationship, for: owners)
        for (place, members) in found.enumerated() {
            try sink.push(members.map { PushedRow($0.entity, $0.reference) }, ofOwner: place)
        }
    }

    func save(_ changes: HostChanges, into sink: RowSink) throws {
        try sink.push(store.save(SaveChangesRequest(changes)).map(\.pushed))
    }

    func references(for rows: [NewRow]) throws -> [StoreReference?]? {
        try store.references(for: rows.map { NewObject($0) })
    }

    func didRegister(_ row: RowReference) { store.didRegister(row) }
    func didUnregister(_ row: RowReference) { store.didUnregister(row) }
    func load(into sink: RowSink) throws {}
    func move(to path: String) throws { try store.move(to: path) }
    func close() { store.close() }
}
