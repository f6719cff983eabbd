import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// Stores that lie in memory alone: what is saved into one is there for all contexts of its coordinator, and ends with the store.
package struct InMemoryKind: StoreKind {
    package let type = StoreType.inMemory
    package let hasFile = false
    package let abilities = StoreAbilities.uniqueConstraints

    package init() {}

    package func open(_ path: String, model: Model, options: StoreOptions) throws -> any PersistentStore {
        if options.mustExist {
            throw CoreError(
                .storeIO, code: .persistentStoreOpen,
                "an in-memory store cannot exist before it is added; add \(path) without CST_STORE_MUST_EXIST "
                    + "(must_exist)", file: path)
        }
        try options.limits.check(path)
        return AtomicStore(
            Nodes(model), StoreMetadata(model: model, type: type), type: type, file: nil, path: path, options)
    }

    package func metadata(ofStoreAt path: String) throws -> StoreMetadata { throw nowhere(path) }
    package func setMetadata(_ metadata: StoreMetadata, ofStoreAt path: String) throws { throw nowhere(path) }

    /// What lies in memory alone ends with its store.
    package func destroy(_ path: String, options: StoreOptions, removing: () throws -> Void) throws -> Bool { false }

    package func replace(
        _ path: String, byStoreAt source: String, options: StoreOptions, removing: () throws -> Void
    ) throws { throw nowhere(source) }

    package func unlink(_ place: StorePlace, if isEmpty: () -> Bool) {}

    private func nowhere(_ path: String) -> CoreError {
        CoreError(
            .invalidArgument, code: .persistentStoreOperation,
            "\(path) is an in-memory store without a file; use the coordinator that has it open",
            file: path)
    }
}

extension AtomicStore {
    /// An empty store in memory alone, for what a host keeps elsewhere.
    package static func inMemory(
        _ model: Model, _ metadata: StoreMetadata, type: StoreType, path: String
    ) -> AtomicStore {
        AtomicStore(Nodes(model), metadata, type: type, file: nil, path: path, StoreOptions())
    }
}
