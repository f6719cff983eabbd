/// What decides between objects whose sort keys are equal, in a fetch and wherever results of one are kept: saved objects come
/// first, by primary key, then new ones that have their IDs, then those whose IDs are temporary, in the order in which they
/// were made.
struct FetchTie: Comparable, Sendable {
    private let rank: UInt8
    private let store: UInt32
    private let number: Int64

    init(_ object: ManagedObject) {
        let isTemporary = object.hasTemporaryID
        rank = isTemporary ? 2 : object.isInserted ? 1 : 0
        // Temporary references go down from -1.
        number = isTemporary ? 0 &- object.primaryKey : object.primaryKey
        store = object.store?.number ?? 0
    }

    static func < (a: FetchTie, b: FetchTie) -> Bool {
        (a.rank, a.number, a.store) < (b.rank, b.number, b.store)
    }
}
