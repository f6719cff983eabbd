import CorestoneGraph
import CorestoneCustomStores
import CorestoneModel
import CorestoneContainers
import CorestoneValues

/// A store's result of a fetch.
public struct FetchAnswer {
    /// The rows, in the order of the request if `done` contains the sort. A node without values is only a reference;
    /// its values are read when they are needed.
    public var nodes: [StoreNode]
    /// The parts of the request that the store has executed. The library executes the other parts on the nodes.
    public var done: FetchWork
    /// The count, for a count request. It is used only if `done` contains `.count`.
    public var count = 0

    public init(_ nodes: [StoreNode], done: FetchWork = []) { (self.nodes, self.done) = (nodes, done) }
}

/// A custom store that is read on demand: Core Data's `NSIncrementalStore`.
public protocol IncrementalStore: CustomStore {
    /// Returns the rows of an entity.
    ///
    /// The store may apply the predicate, the order and other parts of the request. It reports the applied parts in
    /// `FetchAnswer.done`.
    func fetch(_ request: FetchRequest) throws -> FetchAnswer

    /// Returns the rows with the given references, in any order.
    ///
    /// Rows that do not exist are left out; the library then treats their objects as deleted.
    func nodes(for rows: [RowReference]) throws -> [StoreNode]

    /// Returns the members of a relationship, one list per owner in the order of `owners`.
    ///
    /// For a to-one relationship, a list has at most one row.
    func members(of relationship: Relationship, for owners: [RowReference]) throws -> [[RowReference]]

    /// Returns the members with their values, if the store has these available, so that the rows are not read again.
    ///
    /// A node without values is only a reference. The library calls `members` only through the default implementation
    /// of this function.
    func memberNodes(of relationship: Relationship, for owners: [RowReference]) throws -> [[StoreNode]]

    /// Receives the objects that a context registers, on any thread.
    ///
    /// `didUnregister` receives the objects that a context deregisters, also when the context is reset or closed.
    /// Objects that are registered or deregistered together are passed together.
    func didRegister(_ rows: [RowReference])
    func didUnregister(_ rows: [RowReference])

    /// Whether `didRegister` and `didUnregister` are called, which costs time for each object.
    static var observesRegistrations: Bool { get }
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
    public static var observesRegistrations: Bool { false }
}

extension StoreTypes {
    /// Registers a type of incremental stores for the process. `Coordinator.addStore` then accepts its name.
    ///
    /// - Parameter make: Creates a store; by default with the type's `init`. Pass a closure to keep a reference to the
    ///   store.
    /// - Throws: `.invalidArgument` (134000) if the name is already used, empty, or contains a NUL byte.
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
    var observesRegistrations: Bool { Implementation.observesRegistrations }
    var readsRelationships: Bool { true }

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
    func didAdd(to coordinator: Coordinator) { store.didAdd(to: coordinator) }
    func willRemove(from coordinator: Coordinator) { store.willRemove(from: coordinator) }
}
