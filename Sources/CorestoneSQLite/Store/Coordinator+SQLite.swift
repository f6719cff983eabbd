import CorestoneGraph
import CorestoneValues

extension Coordinator {
    /// Opens the SQLite store at `path`, or makes it when there is no file.
    ///
    /// - Parameters:
    ///   - path: relative to the working directory at the time of the call.
    ///   - options: how to open it.
    /// - Returns: the store, which stays open until it is removed or the coordinator ends.
    /// - Throws: `storeIO`, `storeBusy`, `storeReadOnly`, `storeCorrupt`, `notAStore` with code 134080 when the file
    /// cannot be   opened; `modelMismatch` (134100), which names entity and property, when it was written with
    /// another model.   Nothing on disk has changed then.
    @discardableResult
    public func addSQLiteStore(at path: String, options: StoreOptions = StoreOptions()) throws -> Store {
        let opened = try StoreOpening(model: model, options: options).run(path)
        return try add(SQLiteStore(opened))
    }
}
