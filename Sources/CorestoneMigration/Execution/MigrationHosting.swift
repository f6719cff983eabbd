import CorestoneGraph

/// The access of application code in another language to the contexts and the manager of a migration.
package enum MigrationHosting {
    /// A function that ends the access.
    package typealias End = () -> Void

    /// The function that creates handles for contexts. They are valid until the migration, or its current step, ends;
    /// the contexts are then closed. The C boundary sets the function once.
    package nonisolated(unsafe) static var openContextHandles: ([Context]) throws -> End = { _ in {} }
    /// The function that deallocates the objects of a reset context whose handles were released in callbacks. The C
    /// boundary sets the function once.
    ///
    /// Otherwise, objects would stay in memory for the whole migration, because released objects are deallocated when
    /// the outermost call ends.
    package nonisolated(unsafe) static var endBatch: (Context) -> Void = { _ in }
    /// The function that creates a handle for a manager while it is in use. The C boundary sets the function once.
    package nonisolated(unsafe) static var openManagerHandle: (MigrationManager) throws -> End = { _ in {} }

    /// Runs `body`, which calls application code, with access to contexts.
    static func withHostAccess<Result>(to contexts: Context..., body: () throws -> Result) throws -> Result {
        let end = try openContextHandles(contexts)
        defer { end() }
        return try body()
    }

    static func withHostAccess<Result>(to manager: MigrationManager, body: () throws -> Result) throws -> Result {
        let end = try openManagerHandle(manager)
        defer { end() }
        return try body()
    }
}
