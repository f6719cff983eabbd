import CorestoneModel

/// The objects that a fetch found, in its order: a list that never changes.
///
/// Of a request with a batch size it is lazy: it knows who its objects are, and reads their rows a batch at a time, when one of
/// them is asked for. It lets go of batches that were not used for long, and so of objects that nobody else holds; so does
/// not an `Array` made of it. It belongs to the queue of its context.
public final class Results: RandomAccessCollection {
    /// Of a list that is not lazy.
    package let objects: [ManagedObject]
    private let batches: ObjectBatches?

    package init(_ objects: [ManagedObject]) {
        self.objects = objects
        batches = nil
    }

    init(_ batches: ObjectBatches) {
        objects = []
        self.batches = batches
    }

    /// Whether rows are read when their objects are asked for.
    public var isLazy: Bool { batches != nil }
    /// How many are read at a time; 0 when all were.
    public var batchSize: Int { batches?.size ?? 0 }

    public var startIndex: Int { 0 }
    public var endIndex: Int { batches?.entries.count ?? objects.count }

    /// The object at an index. One whose row could not be read is a fault, which tells the reason when it fires.
    public subscript(index: Int) -> ManagedObject { batches?.heldObject(at: index) ?? objects[index] }

    /// The same, with the error of a batch that cannot be read.
    public func object(at index: Int) throws -> ManagedObject { try batches?.object(at: index) ?? objects[index] }

    /// The ID of an object, without its row.
    public func objectID(at index: Int) -> ObjectID { batches?.objectID(at: index) ?? objects[index].objectID }

    /// The objects at some indices, in the order of these: lazy if this list is.
    package func choosing(_ indices: [Int]) -> Results {
        batches.map { Results($0.choosing(indices)) } ?? Results(indices.map { objects[$0] })
    }
}

extension Context {
    /// The objects that a request asks for, lazily if it has a batch size.
    func results(of request: FetchRequest) throws -> Results {
        guard request.batchSize > 0 else { return Results(try fetch(request)) }
        try request.requireObjects()
        return try preparedFetch(request) { request in
            let keys = try partKeys(request)
            return Results(ObjectBatches(try foundEntries(request), request, keys: keys, self))
        }
    }
}
