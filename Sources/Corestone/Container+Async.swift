import CorestoneGraph
import CorestoneContainers
import CorestoneValues

extension Container {
    /// Opens on another thread the stores that are not open yet. If a store fails, the other stores are still opened.
    ///
    ///     let container = try Container(name: "Shop", model: model)
    ///     try await container.loadStores()
    ///
    /// - Throws: The error of the store that failed. If several failed, an error with one child for each.
    public func loadStores() async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            inBackground({ try $0.loadStores() as Void }, { continuation.resume(with: $0) })
        }
    }

    /// Runs `body` on the queue of a new background context, and returns its result.
    ///
    /// The context is closed after `body`, and unsaved changes are discarded.
    ///
    ///     let count = try await container.performBackgroundTask { context in
    ///         try importAll(into: context)
    ///         try context.save()
    ///         return try context.count("Item")
    ///     }
    ///
    /// - Throws: The error of `body`; `.invalidHandle` if the container is closed or closing.
    public func performBackgroundTask<Result: Sendable>(
        _ body: @escaping @Sendable (Context) throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            performBackgroundTask(body) { continuation.resume(with: $0) }
        }
    }
}
