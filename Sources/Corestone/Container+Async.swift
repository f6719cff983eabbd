import CorestoneGraph
import CorestoneContainers
import CorestoneValues

extension Container {
    /// Opens on another thread the stores that are not open yet. If a store fails, the other stores are still opened.
    ///
    ///     let container = try Container(name: "Shop", model: model)
    ///     try await container.loadStores()
    ///
    /// - Throws: The error of the store that failed.
    ///   An error with one child for each store if several failed.
    ///   `.invalidHandle` if the container is closed.
    ///   `.noMemory` if no thread can be created.
    public func loadStores() async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            inBackground({ try $0.loadStores() as Void }, { continuation.resume(with: $0) })
        }
    }

    /// Runs `body` on the queue of a new background context, and returns the result of `body`.
    ///
    /// The context is released after `body`. If the application does not retain it, its unsaved changes are discarded.
    ///
    ///     let count = try await container.performBackgroundTask { context in
    ///         try importAll(into: context)
    ///         try context.save()
    ///         return try context.count("Item")
    ///     }
    ///
    /// - Throws: The error of `body`.
    ///   `.invalidHandle` if the container is closed or being closed.
    ///   `.noMemory` if no thread can be created.
    public func performBackgroundTask<Result: Sendable>(
        _ body: @escaping @Sendable (Context) throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            performBackgroundTask(body) { continuation.resume(with: $0) }
        }
    }
}
