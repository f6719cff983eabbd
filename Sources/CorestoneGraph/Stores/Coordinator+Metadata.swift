import CorestoneFormats
import CorestoneModel
import CorestoneValues

extension Coordinator {
    /// Returns the metadata of a store.
    ///
    /// It contains `NSStoreType`, `NSStoreUUID`, the version hashes of the model, and entries of the application,
    /// including entries that are set and not saved yet.
    ///
    /// - Throws: `.invalidArgument` for a store that is not open in this coordinator.
    ///   Errors of reading the store.
    public func metadata(of store: Store) throws -> [String: PropertyListValue] {
        try requireOwn(store)
        return try store.metadata
    }

    /// Sets the metadata of a store.
    ///
    /// The next save of any context without a parent writes the metadata, even if the context does not have changes.
    ///
    /// - Parameter values: All entries. The store's type, UUID, versions and other required entries are kept if
    ///   `values` does not contain them.
    /// - Throws: `.invalidArgument` with the key if a required entry would change, or if an XML store cannot contain
    ///   the value. XML does not support null, some characters and some dates.
    ///   `.invalidArgument` for a store that is not open in this coordinator.
    ///   `.storeReadOnly` for a read-only store.
    public func setMetadata(_ values: [String: PropertyListValue], of store: Store) throws {
        try requireOwn(store)
        if store.isReadOnly { throw store.readOnlyError() }
        let metadata = try store.currentMetadata().replacing(values, file: store.path)
        // Otherwise later saves would fail for a reason unrelated to their changes.
        try store.backing.requireWritable(metadata)
        store.setMetadata(metadata)
    }
}

extension Store {
    /// The metadata of the store, as `Coordinator.metadata(of:)` returns it. Can be used on any thread.
    ///
    /// - Throws: `.objectGone` if the store was removed.
    ///   Errors of reading the store.
    public var metadata: [String: PropertyListValue] { get throws { try currentMetadata().dictionary } }

    /// Returns the metadata, including entries that are set and not saved yet.
    func currentMetadata() throws -> StoreMetadata {
        try pendingMetadata.withLock { $0 } ?? use { try backing.metadata() }
    }

    fileprivate func setMetadata(_ metadata: StoreMetadata) { pendingMetadata.withLock { $0 = metadata } }

    /// Discards the pending metadata after its commit, unless it has been set again.
    func didWriteMetadata(_ written: StoreMetadata?) {
        pendingMetadata.withLock { if let written, $0?.values == written.values { $0 = nil } }
    }
}
