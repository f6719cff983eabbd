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
        let opened = try StoreOpening(model: model, options: options).run(path)
        return try add(SQLiteStore(opened, options: options), configuration: options.configuration)
    }

    /// Opens a store that is there already, by `model`, else by the model that it carries, else by one inferred from its
    /// tables (`Store.modelSource` tells), and makes a coordinator of that model for it.
    ///
    /// Unless the options ask for writing, neither the file nor its folder changes, and nothing in it is locked. A store
    /// whose promises cannot be kept opens read-only all the same; `Store.readOnlyReason` says why.
    ///
    /// - Parameters:
    ///   - path: relative to the working directory at the time of the call.
    ///   - model: is frozen.
    /// - Returns: the coordinator, whose only store it is.
    /// - Throws: as `addSQLiteStore`; `unsupported` (134000) for an XML or a binary store.
    public static func open(
        _ path: String, model: Model? = nil, options: StoreOptions = .readOnly
    ) throws -> Coordinator {
        var options = options
        options.mustExist = true
        try model?.freeze()
        let opened = try StoreOpening(model: model, options: options).run(path)
        let coordinator: Coordinator
        do { coordinator = try Coordinator(model: opened.schema.model) } catch {
            opened.connection.close()
            throw error
        }
        _ = try coordinator.add(SQLiteStore(opened, options: options), configuration: options.configuration)
        return coordinator
    }
}

extension StoreMetadata {
    /// What the store at `path` says about itself. Needs no model, changes nothing and locks nothing.
    ///
    /// - Throws: as `Coordinator.open`.
    public init(ofStoreAt path: String) throws {
        let place = try StorePlace(path)
        try place.requireStore()
        let contents = try StoreContents(ReadOnlyFile(place).connection, place: place)
        self = contents.document.metadata ?? StoreMetadata(uuid: UUIDValue(contents.document.identifier) ?? .random())
    }
}
