import CorestoneModel

/// An immutable list of the objects that a fetch found, in the order of the fetch.
///
/// The list is lazy if the request has a batch size: it contains the object IDs and reads rows in batches on demand. It
/// releases the least recently used batches, and with them objects that are not retained elsewhere. An `Array` of the
/// list's elements retains all objects. The list must be used on the queue of its context.
public final class Results: RandomAccessCollection {
    /// The objects of a list that is not lazy.
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

    /// Whether rows are read on demand.
    public var isLazy: Bool { batches != nil }
    /// The number of objects that are read at a time; 0 if all were read.
    public var batchSize: Int { batches?.size ?? 0 }

    public var startIndex: Int { 0 }
    public var endIndex: Int { batches?.entries.count ?? objects.count }

    /// Returns the object at an index. If its batch cannot be read, the object is a fault, and firing it may fail.
    public subscript(index: Int) -> ManagedObject { batches?.heldObject(at: index) ?? objects[index] }

    /// Returns the object at an index, or throws if its batch cannot be read.
    public func object(at index: Int) throws -> ManagedObject { try batches?.object(at: index) ?? objects[index] }

    /// Returns the ID of an object without reading its row.
    public func objectID(at index: Int) -> ObjectID { batches?.objectID(at: index) ?? objects[index].objectID }

    /// Returns a list of the objects at `indices`, in that order. It is lazy if this list is lazy.
    package func choosing(_ indices: [Int]) -> Results {
        batches.map { Results($0.choosing(indices)) } ?? Results(indices.map { objects[$0] })
    }
}

extension Context {
    /// Fetches the objects of a request; the list is lazy if the request has a batch size.
    func results(of request: FetchRequest) throws -> Results {
        guard request.batchSize > 0 else { return Results(try fetch(request)) }
        try request.requireObjects()
        return try fetchExecutor.prepare(request) { request in
            let keys = try faultLoader.partKeys(request)
            return Results(ObjectBatches(try foundEntries(request), request, keys: keys, self))
        }
    }
}
