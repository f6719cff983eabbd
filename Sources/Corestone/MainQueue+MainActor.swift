import CorestoneGraph

extension MainQueue {
    /// Binds the main queue to the main actor's thread, and drains it on the main actor.
    ///
    /// Contexts of the main queue may then be used on the main actor, and blocks from other threads run there without a
    /// loop in the application.
    ///
    /// - Throws: `.wrongThread` if the main queue is already bound to another thread.
    @MainActor
    public static func bindToMainActor() throws {
        try bind()
        setWaker { Task { @MainActor in _ = try? drain(timeoutMilliseconds: 0) } }
    }
}
