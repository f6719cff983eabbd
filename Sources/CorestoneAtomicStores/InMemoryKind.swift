import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The type of in-memory stores.
///
/// Their content is visible to all contexts of the coordinator, and is lost when the store is removed.
package struct InMemoryKind: StoreKind {
    package let type = StoreType.inMemory
    package let hasFile = false
    package let abilities = StoreAbilities.uniqueConstraints

    package init() {}

    package func open(_ path: String, model: Model, options: StoreOptions) throws -> any PersistentStore {
        if options.mustExist {
            throw CoreError(
                .storeIO, code: .persistentStoreOpen,
                "an in-memory store cannot exist before it is added; add \(path.isEmpty ? "it" : path) without "
                    + "CST_STORE_MUST_EXIST (must_exist)", file: path)
        }
        try options.limits.check(path)
        return NodeStore(
            Nodes(model), StoreMetadata(model: model, type: type), type: type, file: nil, path: path, options)
    }

    package func metadata(ofStoreAt path: String) throws -> StoreMetadata { throw noFileError(path) }
    package func setMetadata(_ metadata: StoreMetadata, ofStoreAt path: String) throws { throw noFileError(path) }

    /// Returns false, because an in-memory store does not exist outside its coordinator.
    package func destroy(_ path: String, options: StoreOptions, removing: () throws -> Void) throws -> Bool { false }

    package func replace(
        _ path: String, byStoreAt source: String, options: StoreOptions, removing: () throws -> Void
    ) throws { throw noFileError(source) }

    package func unlink(_ place: StoreLocation, if isEmpty: () -> Bool) {}

    private func noFileError(_ path: String) -> CoreError {
        CoreError(
            .invalidArgument, code: .persistentStoreOperation,
            "cannot use \(Coordinator.shown(path)) as a store of type \(type.rawValue), which does not have a file; "
                + "call cst_coordinator_copy_metadata (metadata) or cst_coordinator_set_metadata (set_metadata, "
                + "setMetadata) for the open store, or pass the type of the file",
            key: "type", value: .string(type.rawValue), file: path)
    }
}

extension NodeStore {
    /// Returns an empty in-memory store, for the rows of a custom atomic store.
    package static func inMemory(
        _ model: Model, _ metadata: StoreMetadata, type: StoreType, path: String
    ) -> NodeStore {
        NodeStore(Nodes(model), metadata, type: type, file: nil, path: path, StoreOptions())
    }
}
