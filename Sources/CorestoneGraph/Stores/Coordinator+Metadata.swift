import CorestoneModel
import CorestoneValues

extension Coordinator {
    /// What a store says about itself: `NSStoreType`, `NSStoreUUID`, its model's versions, what an application added; with what was
    /// set and is not written yet.
    ///
    /// - Throws: `.invalidArgument` for a store that is not open here; what reading the store fails with.
    public func metadata(of store: Store) throws -> [String: PropertyListValue] {
        try requireOwn(store)
        return try store.metadata().dictionary
    }

    /// Has a store say something else about itself, from the next save on of any context of this coordinator, also of one that has
    /// no changes.
    ///
    /// - Parameter values: all entries. The store's type, UUID and versions, and what else it needs, stay when they are not given.
    /// - Throws: `.invalidArgument` with the key where one of those would change, where an XML store cannot hold the value (null, and
    ///   characters and dates that XML lacks), and for a store that is not open here; `.storeReadOnly` for one that cannot be
    ///   written.
    public func setMetadata(_ values: [String: PropertyListValue], of store: Store) throws {
        try requireOwn(store)
        if store.isReadOnly { throw store.isReadOnlyError() }
        let metadata = try store.metadata().replacing(values, file: store.path)
        // Else the saves to come would fail, and not for anything that they have.
        try store.backing.requireWritable(metadata)
        store.setMetadata(metadata)
    }
}

extension Store {
    /// The metadata with entries that are set and not saved yet.
    func metadata() throws -> StoreMetadata {
        try pendingMetadata.withLock { $0 } ?? use { try backing.metadata() }
    }

    fileprivate func setMetadata(_ metadata: StoreMetadata) { pendingMetadata.withLock { $0 = metadata } }

    /// What was set is committed; unless something else was set meanwhile.
    func didWriteMetadata(_ written: StoreMetadata?) {
        pendingMetadata.withLock { if let written, $0?.values == written.values { $0 = nil } }
    }
}
