// Whatever a context reads of a store, and whatever it knows of its rows already, comes through the first two. Saves, and the
// conflicts that they meet, go to the store itself.
extension Context {
    /// After `requireReadable`, which sees to the generation.
    func reader(of store: Store) -> any StoreReading { pin(of: store)?.reader ?? store.backing }

    /// The rows that are known of the state that `reader` reads.
    func rowCache(of store: Store) -> RowCache { pin(of: store)?.rowCache ?? store.rowCache }

    /// Runs `body`, which reads an open store, under the coordinator's lock and with this context's interrupt check.
    func reading<Result>(_ store: Store, _ body: (any StoreReading) throws -> Result) throws -> Result {
        try coordinator.withLock {
            try requireReadable(store)
            let reader = reader(of: store)
            reader.setInterruptCheck(interruptCheck)
            defer { reader.setInterruptCheck(nil) }
            return try body(reader)
        }
    }

    /// Runs `body`, which uses the newest state of an open store, in the same way.
    func writing<Result>(_ store: Store, _ body: () throws -> Result) throws -> Result {
        try coordinator.withLock {
            try store.requireOpen()
            store.backing.setInterruptCheck(interruptCheck)
            defer { store.backing.setInterruptCheck(nil) }
            return try body()
        }
    }
}
