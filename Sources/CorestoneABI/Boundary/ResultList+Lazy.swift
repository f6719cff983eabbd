import CorestoneGraph

/// What a lazy list of results has handed out: it gives up what is older than the batches that it holds.
final class Loans {
    let results: Results
    /// Tokens in the order in which they were lent.
    private var tokens: [Token] = []
    /// The objects whose values the last call gave.
    var objects: [ManagedObject] = []

    init(_ results: Results) { self.results = results }

    deinit { for token in tokens { HandleTable.release(token) } }

    func add(_ token: Token) { tokens.append(token) }

    /// Leaves the newest ones.
    func trim(to count: Int) {
        if tokens.count <= 2 * count { return }
        for token in tokens.dropLast(count) { HandleTable.release(token) }
        tokens.removeFirst(tokens.count - count)
    }
}

extension ResultList {
    /// Borrowed handles last for so many batches.
    private static let batches = 4

    /// Before a call lends handles.
    func beginLending() {
        if let loans { loans.trim(to: ResultList.batches * loans.results.batchSize) }
    }

    func lendLazily(at index: Int) throws -> Handle? {
        guard let loans else { return nil }
        let token = try innerToken(try loans.results.object(at: index), in: nearBox)
        loans.add(token)
        return handle(token)
    }

    /// The objects of a part, for their values: a lazy list keeps them until the next call.
    func objects(_ part: Range<Int>) throws -> ArraySlice<ManagedObject> {
        guard let loans else { return objects[part] }
        loans.objects = try part.map { try loans.results.object(at: $0) }
        return loans.objects[...]
    }

    /// Whether an object of the list was deleted meanwhile, so that its row has no values.
    func isMissing(_ object: ManagedObject, row: Int) throws -> Bool {
        try nearBox?._withUnsafeGuaranteedRef { try $0.context.isMissing(object, row: row) } ?? false
    }

    /// Hands over the objects of a part, which the list keeps, with their places in it.
    @inline(__always)
    func forEachObject(_ part: Range<Int>, _ body: (Int, ManagedObject) throws -> Void) throws {
        guard loans == nil, let references else {
            for (place, object) in try objects(part).enumerated() { try body(place, object) }
            return
        }
        for place in 0..<part.count {
            try references[part.lowerBound + place]._withUnsafeGuaranteedRef { try body(place, $0) }
        }
    }

    /// All objects, one after the other.
    func forEachObject(_ body: (Int, ManagedObject) throws -> Void) throws {
        let results = results
        for index in 0..<results.count { try body(index, try results.object(at: index)) }
    }
}
