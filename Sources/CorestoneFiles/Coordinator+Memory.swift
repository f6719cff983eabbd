import CorestoneGraph
import CorestoneModel
import CorestoneValues

extension Coordinator {
    /// Adds an empty store that lies in memory alone: what is saved into it is there for all contexts of the coordinator, and ends
    /// with the store.
    ///
    /// - Parameters:
    ///   - path: what the store is called; nothing is there.
    ///   - configuration: of the model, whose objects the store is for; nil for those of the whole model.
    /// - Throws: `.invalidArgument` for a configuration that the model lacks; `.unsupported` for a model with derived attributes.
    @discardableResult
    public func addInMemoryStore(path: String = "/dev/null", configuration: String? = nil) throws -> Store {
        try add(memoryStore(path), configuration: configuration)
    }

    /// Has a new store in memory take the place of a store, with all that this one holds; see `migrateStore(_:toSQLiteStoreAt:)`.
    @discardableResult
    public func migrateStore(_ store: Store, toInMemoryStoreAt path: String = "/dev/null") throws -> Store {
        try migrate(store, to: memoryStore(path))
    }

    private func memoryStore(_ path: String) -> AtomicStore {
        AtomicStore(Nodes(model), StoreMetadata(model: model, type: .inMemory), file: nil, path: path)
    }
}
