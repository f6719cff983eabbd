import CorestoneGraph

/// The borrowed handles of a lazy list of results. Older handles are released.
final class LazyHandles {
    let results: Results
    /// The number of the last borrowing of each token. The list has one reference to each token.
    private var borrowings: [HandleToken: Int] = [:]
    private var lastBorrowing = 0
    /// The objects whose values the last call returned.
    var objects: [ManagedObject] = []

    init(_ results: Results) { self.results = results }

    deinit { for token in borrowings.keys { HandleTable.release(token) } }

    /// Adds a token, and takes ownership of a reference to it.
    func add(_ token: HandleToken) {
        lastBorrowing += 1
        if borrowings.updateValue(lastBorrowing, forKey: token) != nil { HandleTable.release(token) }
    }

    /// Releases all but the `count` most recently borrowed tokens, if there are more than twice as many.
    func trim(to count: Int) {
        if borrowings.count <= 2 * count { return }
        for (token, _) in borrowings.sorted(by: { $0.value < $1.value }).dropLast(count) {
            borrowings[token] = nil
            HandleTable.release(token)
        }
    }
}

extension ResultList {
    /// The number of most recently borrowed handles that are always kept, in multiples of the batch size.
    private static let batches = 4

    /// Releases older handles. Must be called before a call returns borrowed handles.
    func trimLazyHandles() {
        if let lazyHandles { lazyHandles.trim(to: ResultList.batches * lazyHandles.results.batchSize) }
    }

    func lazyHandle(at index: Int) throws -> Handle? {
        guard let lazyHandles else { return nil }
        let token = try innerToken(try lazyHandles.results.object(at: index), in: nearBox)
        lazyHandles.add(token)
        return handle(token)
    }

    /// Returns the objects of a part. A lazy list retains them until the next call.
    func objects(_ part: Range<Int>) throws -> ArraySlice<ManagedObject> {
        guard let lazyHandles else { return objects[part] }
        lazyHandles.objects = try part.map { try lazyHandles.results.object(at: $0) }
        return lazyHandles.objects[...]
    }

    /// Whether an object of the list was deleted meanwhile, so that its row does not have values.
    func isMissing(_ object: ManagedObject, row: Int) throws -> Bool {
        try nearBox?._withUnsafeGuaranteedRef { try $0.context.isMissing(object, row: row) } ?? false
    }

    /// Calls `body` with each object of a part and its index in the part. The list retains the objects.
    @inline(__always)
    func forEachObject(_ part: Range<Int>, _ body: (Int, ManagedObject) throws -> Void) throws {
        guard lazyHandles == nil, let references else {
            for (place, object) in try objects(part).enumerated() { try body(place, object) }
            return
        }
        for place in 0..<part.count {
            try references[part.lowerBound + place]._withUnsafeGuaranteedRef { try body(place, $0) }
        }
    }

    /// Calls `body` with all objects in order.
    func forEachObject(_ body: (Int, ManagedObject) throws -> Void) throws {
        let results = results
        for index in 0..<results.count { try body(index, try results.object(at: index)) }
    }
}
