import CPlatform
import CorestoneValues

extension Coordinator {
    /// Runs `body` on the calling thread while nothing is saved to the stores that are open now, but by `body` itself. Waits for
    /// saves that run or that came before; other contexts go on reading.
    ///
    /// For what concerns the stores as a whole: adding and removing them, copying their files, several saves that nobody else's is
    /// to come between. Core Data's coordinator keeps readers out too.
    ///
    /// - Throws: what `body` throws; `.invalidArgument` where the thread is in the middle of a fetch or a save.
    public func performAndWait<Result>(_ body: () throws -> Result) throws -> Result {
        try performAndWait(
            "block the saves of other threads to \(stores.map(\.path).joined(separator: ", "))", body)
    }

    /// - Parameter purpose: what for, as in "cannot …".
    package func performAndWait<Result>(
        _ purpose: @autoclosure () -> String, _ body: () throws -> Result
    ) throws -> Result {
        // In the order of the locks, which is not the coordinator's once a store took the place of an older one.
        let stores = stores.sorted { $0.number < $1.number }
        // Within another one all is held already.
        if !stores.contains(where: { !$0.writing.isMine }) { return try body() }
        try Coordinator.requireNoStoreInUse(purpose())
        for store in stores { store.writing.lock() }
        defer { for store in stores.reversed() { store.writing.unlock() } }
        return try body()
    }

    /// Runs `body` as `performAndWait` does, later and on another thread; in the order in which the calls came.
    ///
    /// - Throws: `.noMemory` when the system gives no thread.
    public func perform(_ body: @escaping @Sendable () -> Void) throws {
        if platform_is_forked() { throw Context.forked() }
        try queue.enqueue { [self] in try? performAndWait(body) }
    }

    /// Who holds a lock of a store and waits for another one of those, or for a context's queue, might wait for ever.
    static func requireNoStoreInUse(_ purpose: @autoclosure () -> String) throws {
        if platform_holds_store() { throw storeInUse(purpose()) }
    }

    static func storeInUse(_ purpose: String, file: String? = nil) -> CoreError {
        CoreError(
            .invalidArgument,
            "cannot \(purpose) during a fetch, a save or a coordinator's perform, which could deadlock; do so before or "
                + "after it", file: file)
    }
}
