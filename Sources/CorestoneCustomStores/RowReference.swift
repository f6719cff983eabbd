import CorestoneFormats
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The identity of a row in a custom store.
public struct RowReference: Hashable, Sendable {
    /// The entity of the row or, if that is unknown, one of its superentities.
    public let entity: Entity
    public let reference: StoreReference

    public init(_ entity: Entity, _ reference: StoreReference) { (self.entity, self.reference) = (entity, reference) }

    public static func == (a: RowReference, b: RowReference) -> Bool {
        a.entity === b.entity && a.reference == b.reference
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(reference) }
}

/// A row that the application pushes.
package struct PushedRow {
    /// The entity; nil selects the known entity of the row, or else the requested entity.
    package let entity: Entity?
    package let reference: StoreReference
    package let version: Int64
    /// The values by property key. The value of a to-one relationship is null, a reference or an object ID. The value
    /// of a to-many relationship is null, or an array or set of references and object IDs. `target` is the entity of
    /// the target of a to-one relationship; nil if it is not known.
    package let values: [(key: UInt32, value: PropertyValue, target: Entity?)]

    package init(
        _ entity: Entity?, _ reference: StoreReference, version: Int64 = 0,
        _ values: [(key: UInt32, value: PropertyValue, target: Entity?)] = []
    ) {
        (self.entity, self.reference, self.version, self.values) = (entity, reference, version, values)
    }
}

/// The parameters for opening a custom store.
public struct StoreOpening {
    /// The registered type.
    public let type: StoreType
    /// The path that the application passed, which may be empty and need not be a file path.
    public let path: String
    /// The frozen model.
    public let model: Model
    /// The configuration; nil for the whole model.
    public let configuration: String?
    /// Whether the store is opened read-only.
    public let isReadOnly: Bool
    /// Whether a missing store is an error.
    public let mustExist: Bool
    /// Whether the path, as a file path, does not exist or is an empty file, so that the store is new.
    public let isNew: Bool
    /// The metadata of a new store. Save it, and return it when the store is opened again.
    public let metadata: StoreMetadata
    public let options: [String: PropertyValue]
}

/// The parts of a fetch that a custom store has executed.
public struct FetchWork: OptionSet, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// All rows satisfy the predicate.
    public static let predicate = FetchWork(rawValue: 1)
    /// The rows are in the order of the sort descriptors.
    public static let order = FetchWork(rawValue: 2)
    /// Offset and limit were applied. This requires `predicate` and `order` if the request has a predicate or sort
    /// descriptors.
    public static let window = FetchWork(rawValue: 4)
    /// The objects were counted, for a count request.
    public static let count = FetchWork(rawValue: 8)
    public static let all: FetchWork = [.predicate, .order, .window]
}

/// The changes of one object's to-many relationship in a save.
public struct MemberChange {
    public let owner: RowReference
    /// The relationship of the owner.
    public let relationship: Relationship
    public internal(set) var added: [RowReference] = []
    public internal(set) var removed: [RowReference] = []
    /// All members in order, for an ordered relationship; otherwise nil.
    public internal(set) var members: [RowReference]?
}

/// The reason why a row cannot be saved.
package enum RowConflict: UInt32 { case version = 1, unique = 2 }

/// A registered type of custom stores: a table of callbacks in C, or a class in Swift.
package protocol HostedType: AnyObject, Sendable {
    var isAtomic: Bool { get }
    var abilities: StoreAbilities { get }
    /// Opens a store, or creates a new one.
    ///
    /// - Returns: The store, with its metadata unless it is new; nil if the store does not exist and is not created.
    func open(_ opening: StoreOpening) throws -> (store: any HostedStore, metadata: [String: PropertyListValue]?)?

    // MARK: Functions for stores that are not open. nil or false if the store does not exist.
    func metadata(ofStoreAt path: String) throws -> [String: PropertyListValue]?
    func setMetadata(_ values: [String: PropertyListValue], ofStoreAt path: String) throws
    func destroy(_ path: String) throws -> Bool
    func replace(_ path: String, byStoreAt source: String) throws
}

/// An open custom store.
package protocol HostedStore: AnyObject {
    var canSave: Bool { get }
    var observesRegistrations: Bool { get }
    var readsRelationships: Bool { get }
    func fetch(_ fetch: StoreFetch, into sink: RowSink) throws -> (done: FetchWork, count: Int)
    func values(of rows: [RowReference], into sink: RowSink) throws
    func members(of relationship: Relationship, owners: [RowReference], into sink: RowSink) throws
    func save(_ changes: HostChanges, into sink: RowSink) throws
    /// Returns one reference per row, in order; nil if the library must generate the references.
    func references(for rows: [NewRow]) throws -> [StoreReference?]?
    func didAdd(to coordinator: Coordinator)
    func willRemove(from coordinator: Coordinator)
    func didRegister(_ rows: [RowReference])
    func didUnregister(_ rows: [RowReference])
    func load(into sink: RowSink) throws
    func move(to path: String) throws
    func close()
}
