import CorestoneStack

/// The calls on records beside the caller: on a thread of their own, one after the other in order of the calls.
extension Container {
    public typealias Ended<Value> = @Sendable (Result<Value, any Error>) -> Void

    /// Does something with records on a thread of the container's.
    ///
    ///     let toys = try await container.records { try $0.read("Item", where: "price < 10", sort: ["name"]) }
    public func records<Value: Sendable>(
        _ body: @escaping @Sendable (Container) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            inBackground(body) { continuation.resume(with: $0) }
        }
    }

    /// `insert`, and tells on a thread of the container's how it ended.
    public func insert(_ entity: String, _ records: [Record], ended: @escaping Ended<[Record]>) {
        inBackground({ try $0.insert(entity, records) }, ended)
    }

    public func read(
        _ entity: String, where filter: String? = nil, sort: [String] = [], ascending: Bool = true, limit: Int = 0,
        ended: @escaping Ended<[Record]>
    ) {
        inBackground({ try $0.read(entity, where: filter, sort: sort, ascending: ascending, limit: limit) }, ended)
    }

    public func update(_ entity: String, where filter: String?, _ values: Record, ended: @escaping Ended<[Record]>) {
        inBackground({ try $0.update(entity, where: filter, values) }, ended)
    }

    public func delete(_ entity: String, where filter: String, ended: @escaping Ended<Int>) {
        inBackground({ try $0.delete(entity, where: filter) }, ended)
    }

    public func deleteAll(_ entity: String, ended: @escaping Ended<Int>) {
        inBackground({ try $0.deleteAll(entity) }, ended)
    }
}
