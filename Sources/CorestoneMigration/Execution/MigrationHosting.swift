import CorestoneGraph

/// Makes the contexts and the manager of a migration known to a host in another language.
package enum MigrationHosting {
    /// Ends what was made known.
    package typealias End = () -> Void

    /// Makes contexts known until the migration, or the step of it that uses them, has ended; then they are closed. Set once by the C
    /// boundary.
    package nonisolated(unsafe) static var lendContexts: ([Context]) throws -> End = { _ in {} }
    /// Ends the objects of a context that callbacks gave up, when the context was reset. Set once by the C boundary.
    ///
    /// A migration is one call, and what callbacks give up usually ends with the outermost call.
    package nonisolated(unsafe) static var endBatch: (Context) -> Void = { _ in }
    /// Makes a manager known while it is in use. Set once by the C boundary.
    package nonisolated(unsafe) static var lendManager: (MigrationManager) throws -> End = { _ in {} }

    /// Runs host code, and what follows from it, with contexts that the host may use meanwhile.
    static func lending<Result>(_ contexts: Context..., body: () throws -> Result) throws -> Result {
        let end = try lendContexts(contexts)
        defer { end() }
        return try body()
    }

    static func lending<Result>(_ manager: MigrationManager, body: () throws -> Result) throws -> Result {
        let end = try lendManager(manager)
        defer { end() }
        return try body()
    }
}
