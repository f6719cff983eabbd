import CorestoneValues

/// A token for a query generation.
///
/// A query generation is one state of a coordinator's stores, which pinned contexts read regardless of later saves.
///
/// A generation exists as long as its token is retained, for instance by a pinned context. Meanwhile the write-ahead
/// log of an SQLite store grows with each save. Tokens can be used on any thread and shared by contexts.
public final class QueryGenerationToken: Sendable {
    /// The newest state at the first read of the context.
    public static let current = QueryGenerationToken([], isCurrent: true)

    /// Whether this is `current`, which does not represent a state yet.
    public let isCurrent: Bool
    /// A pin for each open store that supports generations.
    let pins: [StorePin]
    /// The open stores that do not support generations. Their newest state is read.
    private let others: [Store]

    init(_ pins: [StorePin], others: [Store] = [], isCurrent: Bool = false) {
        self.pins = pins
        self.others = others
        self.isCurrent = isCurrent
        checkInvariants()
    }

    func pin(of store: Store) -> StorePin? { pins.first { $0.store === store } }

    /// Whether the store was open when the generation was created.
    func includes(_ store: Store) -> Bool { pin(of: store) != nil || others.contains { $0 === store } }
}

extension QueryGenerationToken: Hashable, CustomStringConvertible {
    public static func == (a: QueryGenerationToken, b: QueryGenerationToken) -> Bool { a === b }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
    public var description: String {
        isCurrent ? "the current generation" : "a generation of \(pins.map(\.store.path).joined(separator: ", "))"
    }
}

/// One retained state of one store, with the row cache of its readers.
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
    /// The current state of the stores, which the token retains.
    ///
    /// Nil if no store supports generations. In-memory stores, for example, do not.
    ///
    /// - Throws: `.unsupported` for an SQLite store with a rollback journal, where a permanent reader would block every
    ///   writer; the errors of opening another connection.
    public var currentQueryGenerationToken: QueryGenerationToken? {
        get throws {
            // With several stores, saves of this coordinator must wait, so that the states are consistent.
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
