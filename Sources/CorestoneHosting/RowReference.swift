import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// What names a row of a host's store.
public struct RowReference: Hashable, Sendable {
    /// Of the row itself, or, where that is not known, one that it inherits from.
    public let entity: Entity
    public let reference: StoreReference

    public init(_ entity: Entity, _ reference: StoreReference) { (self.entity, self.reference) = (entity, reference) }

    public static func == (a: RowReference, b: RowReference) -> Bool {
        a.entity === b.entity && a.reference == b.reference
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(reference) }
}

/// A row as a host gives it.
package struct PushedRow {
    /// nil for the one that was asked for, or that the row is known to have.
    package let entity: Entity?
    package let reference: StoreReference
    package let version: Int64
    /// The values that the host has, by key. Of a to-one relationship null, or a reference or an object ID; of a to-many one an array
    /// of these. `target`: the entity of the row that it leads to.
    package let values: [(key: UInt32, value: PropertyValue, target: Entity?)]

    package init(
        _ entity: Entity?, _ reference: StoreReference, version: Int64 = 0,
        _ values: [(key: UInt32, value: PropertyValue, target: Entity?)] = []
    ) {
        (self.entity, self.reference, self.version, self.values) = (entity, reference, version, values)
    }
}

/// A store that is about to be opened.
public struct StoreOpening {
    /// As it was registered.
    public let type: StoreType
    /// Whatever text the host gave; it may be empty.
    public let path: String
    /// Frozen.
    public let model: Model
    /// nil: the whole model.
    public let configuration: String?
    /// Nothing will be saved.
    public let isReadOnly: Bool
    /// A store that is not there yet is an error.
    public let mustExist: Bool
    /// Nothing lies at the path, if it is one of the file system, or a file of no bytes: a new store.
    public let isNew: Bool
    /// What a new store is to say about itself; keep it, and give it when the store is opened the next time.
    public let metadata: StoreMetadata
    public let options: [String: PropertyValue]
}

/// What a host's store has done of a fetch.
public struct FetchWork: OptionSet, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// There is no row that does not satisfy the predicate.
    public static let predicate = FetchWork(rawValue: 1)
    /// The rows are in order.
    public static let order = FetchWork(rawValue: 2)
    /// Offset and limit were applied: only by who has done the other two, where the request has them.
    public static let window = FetchWork(rawValue: 4)
    /// Of a request for a count: it was counted.
    public static let count = FetchWork(rawValue: 8)
    public static let all: FetchWork = [.predicate, .order, .window]
}

/// What became of the members of one object's to-many relationship in a save.
public struct MemberChange {
    public let owner: RowReference
    /// Seen from the owner.
    public let relationship: Relationship
    public internal(set) var added: [RowReference] = []
    public internal(set) var removed: [RowReference] = []
    /// All of them, in order, of an ordered relationship.
    public internal(set) var members: [RowReference]?
}

/// What keeps a row of a save from being written.
package enum RowConflict: UInt32 { case version = 1, unique = 2 }

/// A type of stores that a host registered: what a table of callbacks in C and a class in Swift are alike.
package protocol HostedType: AnyObject, Sendable {
    var isAtomic: Bool { get }
    var abilities: StoreAbilities { get }
    /// Opens a store, or begins a new one.
    /// - Returns: what the store says about itself, if it is there already; nil when there is none.
    func open(_ opening: StoreOpening) throws -> (store: any HostedStore, metadata: [String: PropertyListValue]?)?

    // Of stores that are not open. nil, or false: there is none.
    func metadata(ofStoreAt path: String) throws -> [String: PropertyListValue]?
    func setMetadata(_ values: [String: PropertyListValue], ofStoreAt path: String) throws
    func destroy(_ path: String) throws -> Bool
    func replace(_ path: String, byStoreAt source: String) throws
}

/// An open store of a host's.
package protocol HostedStore: AnyObject {
    var canSave: Bool { get }
    var hearsRegistrations: Bool { get }
    var tellsRelationships: Bool { get }
    func fetch(_ fetch: StoreFetch, into sink: RowSink) throws -> (done: FetchWork, count: Int)
    func values(of rows: [RowReference], into sink: RowSink) throws
    func members(of relationship: Relationship, owners: [RowReference], into sink: RowSink) throws
    func save(_ changes: HostChanges, into sink: RowSink) throws
    /// One for each; nil where they are ours to make.
    func references(for rows: [NewRow]) throws -> [StoreReference?]?
    func didRegister(_ rows: [RowReference])
    func didUnregister(_ rows: [RowReference])
    func load(into sink: RowSink) throws
    func move(to path: String) throws
    func close()
}
