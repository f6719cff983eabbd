import CorestoneGraph
import CorestoneCustomStores
import CorestoneModel
import CorestoneContainers
import CorestoneValues

/// A custom store that is loaded and saved as a whole: Core Data's `NSAtomicStore`.
///
/// `StoreNode`s correspond to `NSAtomicStoreCacheNode`s. The library keeps the rows in memory, executes fetches on
/// them, checks unique constraints, and rolls back a save that the store rejects.
public protocol AtomicStore: CustomStore {
    /// Returns all rows of all entities, with their relationships.
    ///
    /// The value of a to-many relationship is an array of references. It is sufficient to return one of a relationship
    /// and its inverse. A new store returns an empty array. The function is called after `metadata`, and again after a
    /// save that reported conflicts.
    func load() throws -> [StoreNode]
}

extension StoreTypes {
    /// Registers a type of atomic stores for the process. `Coordinator.addStore` then accepts its name.
    ///
    /// - Parameter make: Creates a store; by default with the type's `init`. Pass a closure to keep a reference to the
    ///   store.
    /// - Throws: `.invalidArgument` (134000) if the name is already used, empty, or contains a NUL byte.
    @discardableResult
    public static func register<Implementation: AtomicStore>(
        _ name: String, _ type: Implementation.Type,
        opening make: @escaping @Sendable (StoreOpening) throws -> Implementation = { try Implementation($0) }
    ) throws -> StoreType {
        let hosted = CustomType<Implementation>(isAtomic: true) { opening in
            let store = try make(opening)
            return (OpenAtomicStore(store), store)
        }
        try register(HostKind(name, hosted))
        return StoreType(rawValue: name)
    }
}

/// An open atomic store. The library only loads and saves it, so the reading functions are not called.
private final class OpenAtomicStore<Implementation: AtomicStore>: HostedStore {
    private let store: Implementation

    init(_ store: Implementation) { self.store = store }

    var canSave: Bool { !store.isReadOnly }
    var observesRegistrations: Bool { false }
    var readsRelationships: Bool { false }

    func fetch(_ fetch: StoreFetch, into sink: RowSink) throws -> (done: FetchWork, count: Int) { ([], 0) }
    func values(of rows: [RowReference], into sink: RowSink) throws {}
    func members(of relationship: Relationship, owners: [RowReference], into sink: RowSink) throws {}

    func save(_ changes: HostChanges, into sink: RowSink) throws {
        try sink.push(store.save(SaveChangesRequest(changes)).map(\.pushed))
    }

    func references(for rows: [NewRow]) throws -> [StoreReference?]? {
        try store.references(for: rows.map { NewObject($0) })
    }

    func didRegister(_ rows: [RowReference]) {}
    func didUnregister(_ rows: [RowReference]) {}
    func load(into sink: RowSink) throws { try sink.push(store.load().map(\.pushed)) }
    func move(to path: String) throws { try store.move(to: path) }
    func close() { store.close() }
    func didAdd(to coordinator: Coordinator) { store.didAdd(to: coordinator) }
    func willRemove(from coordinator: Coordinator) { store.willRemove(from: coordinator) }
}
