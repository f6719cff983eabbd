import CorestoneGraph
import CorestonePredicate
import CorestoneContainers
import CorestoneValues

/// Record calls that run on a background thread of the container, one at a time and in the order of the calls.
extension Container {
    /// A function that receives the result of a call, on a background thread of the container.
    ///
    /// If no thread can be created, it receives the error on the calling thread.
    public typealias Ended<Value> = @Sendable (Result<Value, any Error>) -> Void

    /// Runs `body` on a background thread of the container, and returns the result of `body`.
    ///
    ///     let toys = try await container.records { try $0.read("Item", where: "price < %@", 10, sort: ["name"]) }
    public func records<Value: Sendable>(
        _ body: @escaping @Sendable (Container) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            inBackground(body) { continuation.resume(with: $0) }
        }
    }

    /// Runs `insert` on a background thread of the container, and passes the result to `ended` on that thread.
    public func insert(_ entity: String, _ records: [Record], ended: @escaping Ended<[Record]>) {
        inBackground({ try $0.insert(entity, records) }, ended)
    }

    public func read(
        _ entity: String, where predicate: Predicate? = nil, sort: [String] = [], ascending: Bool = true,
        limit: Int = 0, offset: Int = 0, ended: @escaping Ended<[Record]>
    ) {
        inBackground(
            {
                try $0.read(
                    entity, where: predicate, sort: sort, ascending: ascending, limit: limit, offset: offset)
            }, ended)
    }

    public func update(
        _ entity: String, where predicate: Predicate?, _ values: Record, ended: @escaping Ended<[Record]>
    ) { inBackground({ try $0.update(entity, where: predicate, values) }, ended) }

    public func delete(_ entity: String, where predicate: Predicate, ended: @escaping Ended<Int>) {
        inBackground({ try $0.delete(entity, where: predicate) }, ended)
    }

    public func deleteAll(_ entity: String, ended: @escaping Ended<Int>) {
        inBackground({ try $0.deleteAll(entity) }, ended)
    }
}

/// Synchronous record calls with a predicate as text.
///
/// The % conversions of the text use `arguments` in order. Pass user input as an argument, not in the text.
extension Container {
    public func read(
        _ entity: String, where format: String, _ arguments: any PropertyConvertible..., sort: [String] = [],
        ascending: Bool = true, limit: Int = 0, offset: Int = 0
    ) throws -> [Record] {
        let predicate = try Predicate.parse(format, arguments: arguments.map(\.propertyValue))
        return try read(entity, where: predicate, sort: sort, ascending: ascending, limit: limit, offset: offset)
    }

    /// Sets values of the objects that satisfy a predicate.
    ///
    /// - Parameter values: The values to be set, as in `insert`.
    @discardableResult
    public func update(
        _ entity: String, where format: String, _ arguments: any PropertyConvertible..., values: Record
    ) throws -> [Record] {
        try update(entity, where: Predicate.parse(format, arguments: arguments.map(\.propertyValue)), values)
    }

    @discardableResult
    public func delete(
        _ entity: String, where format: String, _ arguments: any PropertyConvertible...
    ) throws -> Int {
        try delete(entity, where: Predicate.parse(format, arguments: arguments.map(\.propertyValue)))
    }
}
