import CorestoneGraph

extension MainQueue {
    /// Makes the main actor's thread the one of the main queue, and lets the main actor drain it: contexts of the main queue
    /// may then be used on the main actor, and what other threads perform on them runs there without a loop of the host's.
    /// - Throws: `.wrongThread` when another thread is the main one already.
    @MainActor
    public static func bindToMainActor() throws {
        try bind()
        setWaker { Task { @MainActor in _ = try? drain(timeoutMilliseconds: 0) } }
    }
}
