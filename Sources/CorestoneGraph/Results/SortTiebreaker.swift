/// The tie-breaker for objects with equal sort keys in a fetch and in tracked results.
///
/// The order is: saved objects by primary key, then new objects with permanent IDs, then objects with temporary IDs in
/// the order of creation.
struct SortTiebreaker: Comparable, Sendable {
    private let rank: UInt8
    private let store: UInt32
    private let number: Int64

    init(_ object: ManagedObject) {
        let isTemporary = object.hasTemporaryID
        rank = isTemporary ? 2 : object.isInserted ? 1 : 0
        // Temporary references decrease from -1.
        number = isTemporary ? 0 &- object.primaryKey : object.primaryKey
        store = object.store?.number ?? 0
    }

    static func < (a: SortTiebreaker, b: SortTiebreaker) -> Bool {
        (a.rank, a.number, a.store) < (b.rank, b.number, b.store)
    }
}
