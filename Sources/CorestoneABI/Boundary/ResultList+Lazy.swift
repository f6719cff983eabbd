import CorestoneGraph

/// What a lazy list of results has handed out: it gives up what is older than the batches that it holds.
struct Loans {
    /// Tokens in the order in which they were lent.
    private var tokens: [Token] = []
    /// The objects whose values the last call gave.
    var objects: [ManagedObject] = []

    mutating func add(_ token: Token) { tokens.append(token) }

    /// Leaves the newest ones.
    mutating func trim(to count: Int) {
        if tokens.count <= 2 * count { return }
        for token in tokens.dropLast(count) { HandleTable.release(token) }
        tokens.removeFirst(tokens.count - count)
    }

    mutating func end() {
        for token in tokens { HandleTable.release(token) }
        tokens = []
    }
}

extension ResultList {
    /// Borrowed handles last for so many batches.
    private static let batches = 4

    /// Before a call lends handles.
    func beginLending() { if results.isLazy { loans.trim(to: ResultList.batches * results.batchSize) } }

    func lendLazily(at index: Int) throws -> Handle? {
        let token = try innerToken(try results.object(at: index), in: nearBox)
        loans.add(token)
        return handle(token)
    }

    /// The objects of a part, for their values: a lazy list keeps them until the next call.
    func objects(_ part: Range<Int>) throws -> ArraySlice<ManagedObject> {
        guard results.isLazy else { return objects[part] }
        loans.objects = try part.map { try results.object(at: $0) }
        return loans.objects[...]
    }

    /// Whether an object of the list was deleted meanwhile, so that its row has no values.
    func isMissing(_ object: ManagedObject, row: Int) throws -> Bool {
        try nearBox?._withUnsafeGuaranteedRef { try $0.context.isMissing(object, row: row) } ?? false
    }

    /// All objects, one after the other.
    func forEachObject(_ body: (Int, ManagedObject) throws -> Void) throws {
        for index in 0..<results.count { try body(index, try results.object(at: index)) }
    }
}
