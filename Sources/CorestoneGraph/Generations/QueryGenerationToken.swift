import CorestoneValues

// How a context reads one state of its stores. Steps 1 and 7 run on the context's queue, and steps 2 to 6 on the
// reading thread. Nested contexts read the generation of their outermost parent on their own threads, so
// `GenerationState` guards it with a lock and an atomic flag.
//
// 1. `Context.setQueryGeneration` sets the generation: the token of a state, or `current`, which does not have pins
//    yet. For `current` it creates a token and discards it, so that a store that cannot be pinned fails this call. The
//    generation is then unchanged.
// 2. The first read calls `Context.generationToRead`, through `requireReadable` or, in a fetch, `stores(for:)`. If the
//    token is `current`, it requests `Coordinator.currentQueryGenerationToken`.
// 3. `currentQueryGenerationToken` calls `pinnedReader` of each store. With several stores it holds the `writer` locks
//    of all of them (`performAndWait`), so that no save of this coordinator comes between the pins. A store that does
//    not support generations is listed in `others`. If that applies to all stores, the token is nil and the newest
//    state is read.
// 4. A pinned reader of an SQLite store is an idle or new connection whose read transaction stays open
//    (`PinnedReaders`). If it cannot be opened, the read fails, the pins of the other stores end (step 8), and the
//    token stays `current`: the next read tries again.
// 5. `GenerationState.pin(to:)` replaces `current` under its lock. If the thread of another context was first, its
//    token is used and this one is released.
// 6. `Context.reader(of:)` and `Context.rowCache(of:)` return the reader and the cache of the `StorePin`. A store that
//    was added later is not included: fetches leave it out, and `requireReadable` throws `.objectGone` for other reads.
// 7. A save writes to the store itself. `Context.resolve` unpins the context, because conflicts are compared with the
//    newest state. Afterwards `saveAndAdvance` restores the generation and, if anything was written, calls
//    `advanceGeneration`, even if the save failed in another store. A merge advances too, and a reset sets `current`
//    again. If `advanceGeneration` cannot pin, the token stays `current`. Automatic merges skip a context whose state
//    the application chose (`Generation.isChosen`).
// 8. A generation ends with the last owner of its token, on any thread: `StorePin.deinit` calls `unpin`, which ends the
//    read transaction. Up to two connections stay idle for reuse. Backing files that only this reader needed are
//    removed. `GenerationState` releases a former token outside its lock, because this may close a connection.

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
    ///   writer.
    ///   The errors of opening another connection.
    public var currentQueryGenerationToken: QueryGenerationToken? {
        get throws {
            // With several stores, saves of this coordinator must wait, so that the states are consistent.
            let stores = stores
            if stores.count <= 1 { return try pinned(stores) }
            return try performAndWait(
                "pin the current query generation of \(stores.map { Coordinator.shown($0.path) }.listed)"
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
