import CPlatform
import CorestoneValues

extension Coordinator {
    /// Runs `body` on the calling thread, while no other thread saves to the open stores through this coordinator.
    ///
    /// The call waits for saves that are running or waiting. Other contexts can still read. Use it for operations on
    /// whole stores: adding and removing them, copying their files, and sequences of saves without other saves in
    /// between. Core Data's coordinator also blocks readers.
    ///
    /// - Throws: The error of `body`.
    ///   `.invalidArgument` during a fetch, a save or the perform of another coordinator on this thread.
    public func performAndWait<Result>(_ body: () throws -> Result) throws -> Result {
        try performAndWait(
            "block other saves to \(stores.map { Coordinator.shown($0.path) }.listed)", body)
    }

    /// Runs `body` with the writer locks of all open stores.
    ///
    /// - Parameter purpose: The operation, in a message after "cannot".
    package func performAndWait<Result>(
        _ purpose: @autoclosure () -> String, _ body: () throws -> Result
    ) throws -> Result {
        // In lock order, which differs from the coordinator's order if a store replaced an older one.
        let stores = stores.sorted { $0.number < $1.number }
        // A nested call already holds all locks.
        if !stores.contains(where: { !$0.writing.isHeldByThisThread }) { return try body() }
        try Coordinator.requireNoStoreInUse(purpose())
        for store in stores { store.writing.lock() }
        defer { for store in stores.reversed() { store.writing.unlock() } }
        return try body()
    }

    /// Runs `body` like `performAndWait`, but later and on another thread, in the order of the calls.
    ///
    /// - Throws: `.noMemory` if no thread can be created.
    public func perform(_ body: @escaping @Sendable () -> Void) throws {
        if platform_is_forked() { throw Context.forked() }
        try queue.enqueue { [self] in try? performAndWait(body) }
    }

    /// Checks that the calling thread does not hold a lock of a store.
    ///
    /// Otherwise waiting for another store's lock or a context's queue could deadlock.
    static func requireNoStoreInUse(_ purpose: @autoclosure () -> String) throws {
        if platform_holds_store() { throw storeInUse(purpose()) }
    }

    static func storeInUse(_ purpose: String, file: String? = nil) -> CoreError {
        CoreError(
            .invalidArgument,
            "cannot \(purpose) during a fetch, save or fired fault, or a coordinator's perform: this could deadlock; "
                + "do so outside of these calls", file: file)
    }
}
