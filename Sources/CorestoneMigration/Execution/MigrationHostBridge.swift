import CorestoneGraph

/// The link between a migration and the handles of another language, for the application's code that a migration calls.
///
/// The C interface installs an implementation. Without it, `NoMigrationHostBridge` applies.
package protocol MigrationHostBridge: Sendable {
    /// Creates handles for contexts, and returns the function that ends their use.
    ///
    /// They are valid until the migration, or its current step, ends; the contexts are then closed.
    func openHandles(of contexts: [Context]) throws -> () -> Void
    /// Creates a handle for a manager, and returns the function that ends its use.
    func openHandle(of manager: MigrationManager) throws -> () -> Void
    /// Deallocates the objects of a reset context whose handles were released in callbacks.
    ///
    /// Otherwise, objects would stay in memory for the whole migration, because released objects are deallocated when
    /// the outermost call ends.
    func endBatch(of context: Context)
}

/// The bridge of a program without handles.
struct NoMigrationHostBridge: MigrationHostBridge {
    func openHandles(of contexts: [Context]) throws -> () -> Void { {} }
    func openHandle(of manager: MigrationManager) throws -> () -> Void { {} }
    func endBatch(of context: Context) {}
}

extension MigrationManager {
    /// The bridge, installed once, before the first migration.
    package nonisolated(unsafe) static var hostBridge: any MigrationHostBridge = NoMigrationHostBridge()

    /// Runs `body`, which calls application code, with handles for contexts.
    static func withHandles<Result>(of contexts: Context..., body: () throws -> Result) throws -> Result {
        let end = try hostBridge.openHandles(of: contexts)
        defer { end() }
        return try body()
    }

    /// Runs `body`, which calls application code, with a handle for the manager.
    func withHandle<Result>(_ body: () throws -> Result) throws -> Result {
        let end = try MigrationManager.hostBridge.openHandle(of: self)
        defer { end() }
        return try body()
    }
}
