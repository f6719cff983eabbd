import CorestoneGraph
import CorestoneHosting
import CorestoneModel
import CorestoneStack
import CorestoneValues

/// A store of a host's own kind that gives all of its objects when it is opened, and is given all of them to keep: Core Data's
/// `NSAtomicStore`, whose cache nodes are `StoreNode`s here. The objects lie in memory; the library answers fetches, checks what
/// must be unique, and takes a save back that the store does not keep.
public protocol AtomicStore: CustomStore {
    /// All rows of all entities, with all of their relationships, to-many ones as arrays of references; of a relationship and its
    /// inverse one side is enough. Called after `metadata`, and again after a save that reported conflicts;
    /// none for a new store.
    func load() throws -> [StoreNode]
}

extension StoreTypes {
    /// Makes a type of atomic stores known in the whole process: `Coordinator.addStore` takes its name from now on.
    ///
    /// - Parameter make: makes a store; by default what the type's `init` makes. For stores that a program wants to get at.
    /// - Throws: `.invalidArgument` (134000) for a name that is taken, also one of a type that was registered before.
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

/// The library asks it for nothing but its rows, and has them kept.
private final class OpenAtomicStore<Implementation: AtomicStore>: HostedStore {
    private let store: Implementation

    init(_ store: Implementation) { self.store = store }

    var canSave: Bool { !store.isReadOnly }
    var hearsRegistrations: Bool { false }
    var tellsRelationships: Bool { false }

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
}
