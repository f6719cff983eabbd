import CorestoneValues

/// Stands for one state of the stores of a coordinator: a generation, which contexts that are pinned to it read whatever is saved
/// meanwhile.
///
/// A generation lasts as long as somebody holds its token, as a context does that is pinned to it. Meanwhile the write-ahead log
/// of an SQLite store keeps all that is saved. Any thread may hold a token; contexts may share it.
public final class QueryGenerationToken: Sendable {
    /// No state yet, but a wish: the one that is the newest when the context first reads.
    public static let current = QueryGenerationToken([], isCurrent: true)

    public let isCurrent: Bool
    /// One for each store that was open and has generations.
    let pins: [StorePin]
    /// The stores that were open and have none: they are read as they are.
    private let others: [Store]

    init(_ pins: [StorePin], others: [Store] = [], isCurrent: Bool = false) {
        self.pins = pins
        self.others = others
        self.isCurrent = isCurrent
    }

    func pin(of store: Store) -> StorePin? { pins.first { $0.store === store } }

    /// Whether the store was open when the state was the newest.
    func knows(_ store: Store) -> Bool { pin(of: store) != nil || others.contains { $0 === store } }
}

extension QueryGenerationToken: Hashable, CustomStringConvertible {
    public static func == (a: QueryGenerationToken, b: QueryGenerationToken) -> Bool { a === b }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
    public var description: String {
        isCurrent ? "the current generation" : "a generation of \(pins.map(\.store.path).joined(separator: ", "))"
    }
}

/// One state of one store, held for those who read it, and the rows that they read of it.
final class StorePin: @unchecked Sendable {
    let store: Store
    let reader: any StoreReading
    let rowCache = RowCache()

    init(_ store: Store, _ reader: any StoreReading) {
        self.store = store
        self.reader = reader
    }

    deinit { store.backing.unpin(reader) }
}

extension Coordinator {
    /// The state that the stores have now, held from now on; nil when no store has generations, as those in memory.
    ///
    /// - Throws: `.unsupported` for an SQLite store with a rollback journal, where a reader that stays would keep every writer out;
    ///   what opening one more connection to a store fails with.
    public var currentQueryGenerationToken: QueryGenerationToken? {
        get throws {
            // No save of this process comes in between the stores.
            let stores = stores
            if stores.count <= 1 { return try pinned(stores) }
            return try performAndWait(
                "pin the current query generation of \(stores.map(\.path).joined(separator: ", "))"
            ) { try pinned(stores) }
        }
    }

    private func pinned(_ stores: [Store]) throws -> QueryGenerationToken? {
        var (pins, others): ([StorePin], [Store]) = ([], [])
        for store in stores {
            if let reader = try store.backing.pinnedReader() {
                pins.append(StorePin(store, reader))
            } else {
                others.append(store)
            }
        }
        return pins.isEmpty ? nil : QueryGenerationToken(pins, others: others)
    }
}
