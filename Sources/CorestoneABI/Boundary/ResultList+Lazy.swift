import CorestoneGraph

/// The borrowed handles of a lazy list of results. Handles of older batches are released.
final class LazyHandles {
    let results: Results
    /// Tokens in the order in which they were borrowed.
    private var tokens: [HandleToken] = []
    /// The objects whose values the last call returned.
    var objects: [ManagedObject] = []

    init(_ results: Results) { self.results = results }

    deinit { for token in tokens { HandleTable.release(token) } }

    func add(_ token: HandleToken) { tokens.append(token) }

    /// Releases all but the newest `count` tokens, if there are more than twice as many.
    func trim(to count: Int) {
        if tokens.count <= 2 * count { return }
        for token in tokens.dropLast(count) { HandleTable.release(token) }
        tokens.removeFirst(tokens.count - count)
    }
}

extension ResultList {
    /// The number of newest batches whose borrowed handles are always kept.
    private static let batches = 4

    /// Releases the handles of older batches. Must be called before a call returns borrowed handles.
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

    /// Calls `body` with the objects of a part, which the list retains, and their indexes in the part.
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
