import CorestoneGraph
import CorestoneHosting
import CorestoneModel
import CorestoneStack
import CorestoneValues

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

/// A store of a host's own kind that is asked for rows when contexts need them: Core Data's `NSIncrementalStore`.
public protocol IncrementalStore: CustomStore {
    /// The rows of an entity, and at the store's choice less and in order.
    func fetch(_ request: FetchRequest) throws -> FetchAnswer

    /// The rows of references; those that are no more, or never were, are left out: their objects are told to be gone. In any order.
    func nodes(for rows: [RowReference]) throws -> [StoreNode]

    /// What a relationship leads to: as many lists as there are owners, in their order; of a to-one relationship at most one row.
    func members(of relationship: Relationship, for owners: [RowReference]) throws -> [[RowReference]]

    /// The same with the members' values, for a store that has them at hand: they are not asked for again. A node without values is
    /// its reference alone. By default what `members` gives, which is not called otherwise.
    func memberNodes(of relationship: Relationship, for owners: [RowReference]) throws -> [[StoreNode]]

    /// A context knows objects from now on, or no longer, also since it was reset or has ended; those that come or go together are
    /// told together. Any thread.
    func didRegister(_ rows: [RowReference])
    func didUnregister(_ rows: [RowReference])

    /// Whether notices of registration are wanted, which cost time for each object.
    static var hearsRegistrations: Bool { get }
}

extension IncrementalStore {
    public func members(of relationship: Relationship, for owners: [RowReference]) throws -> [[RowReference]] {
        owners.map { _ in [] }
    }
    public func memberNodes(of relationship: Relationship, for owners: [RowReference]) throws -> [[StoreNode]] {
        try members(of: relationship, for: owners).map { $0.map { StoreNode($0) } }
    }
    public func didRegister(_ rows: [RowReference]) {}
    public func didUnregister(_ rows: [RowReference]) {}
    public static var hearsRegistrations: Bool { false }
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
        let hosted = CustomType<Implementation>(isAtomic: false) { opening in
            let store = try make(opening)
            return (OpenIncrementalStore(store), store)
        }
        try register(HostKind(name, hosted))
        return StoreType(rawValue: name)
    }
}

private final class OpenIncrementalStore<Implementation: IncrementalStore>: HostedStore {
    private let store: Implementation

    init(_ store: Implementation) { self.store = store }

    var canSave: Bool { !store.isReadOnly }
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
        let found = try store.memberNodes(of: relationship, for: owners)
        guard found.count == owners.count else {
            throw CoreError(
                .callback, code: .persistentStoreOperation,
                "\(Implementation.self) returned \(found.count) \(found.count == 1 ? "list" : "lists") of "
                    + "\(relationship.entity.name).\(relationship.name) for \(owners.count) "
                    + "\(owners.count == 1 ? "object" : "objects"); return one list per object, in the order of "
                    + "the objects",
                entity: relationship.entity.name, key: relationship.name, value: .int(Int64(found.count)))
        }
        for (place, members) in found.enumerated() { try sink.push(members.map(\.pushed), ofOwner: place) }
    }

    func save(_ changes: HostChanges, into sink: RowSink) throws {
        try sink.push(store.save(SaveChangesRequest(changes)).map(\.pushed))
    }

    func references(for rows: [NewRow]) throws -> [StoreReference?]? {
        try store.references(for: rows.map { NewObject($0) })
    }

    func didRegister(_ rows: [RowReference]) { store.didRegister(rows) }
    func didUnregister(_ rows: [RowReference]) { store.didUnregister(rows) }
    func load(into sink: RowSink) throws {}
    func move(to path: String) throws { try store.move(to: path) }
    func close() { store.close() }
}
