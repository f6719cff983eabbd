import CorestoneGraph
import CorestoneModel
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
    /// another model; `invalidArgument` for a configuration that the model lacks.   Nothing on disk has changed then.
    @discardableResult
    public func addSQLiteStore(at path: String, options: StoreOptions = StoreOptions()) throws -> Store {
        // Nothing is made for a configuration that does not exist.
        _ = try model.entities(ofConfiguration: options.configuration)
        let opened = try StoreOpening(path, model: model, options: options).run()
        return try add(SQLiteStore(opened, options: options), configuration: options.configuration)
    }

    /// What `Coordinator.open` does with an SQLite store.
    package static func openSQLiteStore(
        at path: String, model: Model?, options: StoreOptions, warnings: [String] = []
    ) throws -> Coordinator {
        var options = options
        options.mustExist = true
        try model?.freeze()
        let opened = try StoreOpening(path, model: model, options: options).run()
        let coordinator: Coordinator
        do { coordinator = try Coordinator(model: opened.schema.model) } catch {
            opened.connection.close()
            throw error
        }
        _ = try coordinator.add(
            SQLiteStore(opened, options: options), configuration: options.configuration, warnings: warnings)
        return coordinator
    }
}
