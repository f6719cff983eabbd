import CorestoneGraph
import CorestoneModel
import CorestoneValues

extension Coordinator {
    /// Opens the SQLite store at `path`, or creates it if the file does not exist.
    ///
    /// - Parameters:
    ///   - path: The path of the file, relative to the working directory at the time of the call.
    ///   - options: The options for opening the store.
    /// - Returns: The store, which stays open until it is removed or the coordinator is released.
    /// - Throws: `storeIO`, `storeBusy`, `storeReadOnly`, `storeCorrupt` or `notAStore` if the file cannot be opened.
    ///   `modelMismatch` (134100), which names entity and property, if it was written with another model.
    ///   `invalidArgument` for contradictory options, and for a configuration that the model lacks.
    ///   `migration` if the store cannot be migrated.
    ///   The store is not changed in these cases.
    @discardableResult
    public func addSQLiteStore(at path: String, options: StoreOptions = StoreOptions()) throws -> Store {
        // The configuration is checked first, so that no file is created for an unknown one.
        _ = try model.entities(ofConfiguration: options.configuration)
        let opened = try StoreOpener(path, model: model, options: options).run()
        return try add(SQLiteStore(opened, options: options), configuration: options.configuration, options: options)
    }

    /// Opens an existing SQLite store with a new coordinator, for `Coordinator.open`.
    package static func openSQLiteStore(
        at path: String, model: Model?, options: StoreOptions, warnings: [String] = []
    ) throws -> Coordinator {
        var options = options
        options.mustExist = true
        try model?.freeze()
        let opened = try StoreOpener(path, model: model, options: options).run()
        let coordinator: Coordinator
        do { coordinator = try Coordinator(model: opened.schema.model) } catch {
            opened.connection.close()
            throw error
        }
        _ = try coordinator.add(
            SQLiteStore(opened, options: options), configuration: options.configuration, warnings: warnings,
            options: options)
        return coordinator
    }
}
