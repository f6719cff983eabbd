import CorestoneGraph
import CorestoneStack
import CorestoneValues

extension Container {
    /// Opens the stores that are not open, on another thread. What can be opened is open then, also when it throws.
    ///
    ///     let container = try Container(name: "Shop", model: model)
    ///     try await container.loadStores()
    ///
    /// - Throws: what the one store failed with; for several, an error whose children tell of each.
    public func loadStores() async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            inBackground({ try $0.loadStores() as Void }, { continuation.resume(with: $0) })
        }
    }

    /// Runs `body` on the queue of a context that is made for it and ends with it; gives back what it returns, or throws what it
    /// throws. What it does not save is lost. A container that is closed, or about to be, refuses it with `.invalidHandle`.
    ///
    ///     let count = try await container.performBackgroundTask { context in
    ///         try importAll(into: context)
    ///         try context.save()
    ///         return try context.count("Item")
    ///     }
    public func performBackgroundTask<Result: Sendable>(
        _ body: @escaping @Sendable (Context) throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            performBackgroundTask(body) { continuation.resume(with: $0) }
        }
    }
}
