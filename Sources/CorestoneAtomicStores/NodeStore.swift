import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// An atomic store: all rows are in memory. Its file, if it has one, is read and written as a whole.
///
/// It executes fetches with the predicate evaluator of contexts. Conditions that need managed objects or application
/// code are left to the context. One thread at a time uses it.
package final class NodeStore: PersistentStore, WritableAfterMove, @unchecked Sendable {
    let nodes: Nodes
    package let type: StoreType
    private let file: StoreFile?
    /// The path of the next save; only a name for a store without a file.
    private let location: Locked<String>
    package var path: String { location.withLock { $0 } }
    private let isMoved = Locked(false)
    private let mayWrite: Locked<Bool>
    /// The reason why the store is read-only: content of the file that a save would lose. nil if a save would not lose
    /// any content.
    private let obstacle: Locked<String?>
    package var isReadOnly: Bool { readOnlyReason != nil }
    package var readOnlyReason: String? {
        obstacle.withLock { $0 } ?? (mayWrite.withLock { $0 } ? nil : Store.isOpenForReading)
    }
    package let postsOwnChanges: Bool
    private let watchInterval: Int32
    /// The metadata of the state in memory.
    private var ownMetadata: StoreMetadata
    /// The number of saves, and of reads of other writers' saves, since the store was opened.
    private let saves = Locked(0)

    package let identifier: String
    package let modelSource: ModelSource
    package let abilities: StoreAbilities
    private(set) var interruptCheck: (() -> Bool)?
    private(set) lazy var schema = NodesSchema(nodes.model)
    private(set) lazy var hostNames = HostNames(nodes.model)

    /// Creates a store with the given rows.
    ///
    /// - Parameter file: The file; nil for an in-memory store.
    init(
        _ nodes: Nodes, _ metadata: StoreMetadata, type: StoreType, file: StoreFile?, path: String,
        _ options: StoreOptions
    ) {
        (self.nodes, ownMetadata, self.type, self.file) = (nodes, metadata, type, file)
        location = Locked(path)
        (mayWrite, postsOwnChanges) = (Locked(!options.isReadOnly), options.postsOwnChanges)
        obstacle = Locked(file?.obstacle)
        watchInterval = Int32(clamping: options.watchIntervalMilliseconds)
        modelSource = options.modelSource
        identifier = metadata.uuid.description
        // Other processes can write to a file, so the row cache tracks its rows and their age.
        abilities = file == nil ? [.uniqueConstraints, .rowsInMemory] : .uniqueConstraints
    }

    package var contentState: String? {
        let saves = saves.withLock { $0 }
        return "\(identifier) \(file.map { $0.contentState ?? "gone" } ?? "\(saves)")"
    }

    package func metadata() throws -> StoreMetadata {
        try adoptForeignWrites()
        return ownMetadata
    }
    package func requireWritable(_ metadata: StoreMetadata) throws {
        do { try file?.format.requireWritable(metadata) } catch let error as CoreError where error.file == nil {
            throw error.within("cannot set the metadata of \(path)", file: path)
        }
    }

    // MARK: Moving

    package var needsSave: Bool { isMoved.withLock { $0 } }

    package func move(to path: String) throws {
        guard let file else { return location.withLock { $0 = path } }
        if isReadOnly {
            throw CoreError(
                .storeReadOnly, code: .persistentStoreOperation,
                "\(self.path) is open read-only and cannot be moved to \(path): \(readOnlyReason ?? "")",
                file: self.path)
        }
        let place = try StoreLocation(path)
        try file.move(to: place, ownMetadata.uuid)
        location.withLock { $0 = place.absolute }
        isMoved.withLock { $0 = true }
    }

    package func setMayWrite(_ mayWrite: Bool) { self.mayWrite.withLock { $0 = mayWrite } }

    package var isNew: Bool { file?.isNew ?? false }
    package func setInterruptCheck(_ check: (() -> Bool)?) { interruptCheck = check }
    package func endRead() {}
    package func close() { file?.close() }

    package func watch(_ notify: @escaping @Sendable (ExternalChanges) -> Void) throws -> (any StoreWatch)? {
        guard let file else { return nil }
        let watch = StoreFileWatch(file.place.path, file.observedStates, interval: watchInterval)
        try watch.start(notify)
        return watch
    }

    // MARK: Saving

    /// Reserves primary keys. The file of a writable store is written, so that other processes use other keys.
    package func reservePrimaryKeys(of root: Entity, count: Int) throws -> Int64 {
        guard let file, !isReadOnly else { return try reserveKeys(of: root, count: count) }
        return try file.withExclusiveLock {
            try adoptContent(file)
            try requireWritable()
            let first = try reserveKeys(of: root, count: count)
            try file.write(nodes, ownMetadata)
            return first
        }
    }

    /// Reserves primary keys in memory.
    ///
    /// - Throws: `.storeCorrupt` if there are no unused primary keys.
    func reserveKeys(of root: Entity, count: Int) throws -> Int64 {
        if let first = nodes.reserveKeys(of: root, count: count) { return first }
        throw CoreError(
            .storeCorrupt, code: .persistentStoreSave,
            "\(Coordinator.shown(path)) has too few unused primary keys for \(count) new \(root.name) "
                + "\(count == 1 ? "object" : "objects"): the highest key is \(nodes.lastKey(of: root)); "
                + (file == nil
                    ? "insert the objects into a new store, added with cst_coordinator_add_store (add_store, addStore)"
                    : "restore the store from a backup"),
            entity: root.name, value: .int(nodes.lastKey(of: root)), file: path)
    }

    package func save(by author: SaveAuthor, _ body: (any SaveTransaction) throws -> Void) throws {
        try requireWritable()
        try MemoryCheck.require(2 << 20, to: "save to \(Coordinator.shown(path))", file: path)
        guard let file else { return try change(body) }
        try file.withExclusiveLock {
            // Other processes' saves are read first, so that this save is compared with them.
            try adoptContent(file)
            try requireWritable()
            try change(body)
        }
    }

    private func requireWritable() throws {
        guard let readOnlyReason else { return }
        throw CoreError(
            .storeReadOnly, code: .persistentStoreSave,
            "\(Coordinator.shown(path)) is open read-only: \(readOnlyReason)", file: path)
    }

    private func change(_ body: (any SaveTransaction) throws -> Void) throws {
        let transaction = AtomicTransaction(self, ownMetadata)
        nodes.begin()
        do {
            try body(transaction)
            if nodes.hasChanges || needsSave || transaction.metadata.values != ownMetadata.values {
                try file?.write(nodes, transaction.metadata)
            }
        } catch {
            nodes.rollBack()
            throw error
        }
        ownMetadata = transaction.metadata
        isMoved.withLock { $0 = false }
        if nodes.commit() { saves.withLock { $0 += 1 } }
    }

    /// Replaces the content with that of another in-memory store, which must not be used afterwards.
    ///
    /// Must not be called within a transaction.
    ///
    /// - Parameter keepsVersions: Whether the rows keep their versions, because an external source assigns and compares
    ///   them. Otherwise, changed rows are assigned new versions.
    package func adoptContent(_ other: NodeStore, keepingVersions keepsVersions: Bool) {
        if keepsVersions { nodes.replaceContent(other.nodes) } else { nodes.adoptContent(other.nodes) }
        saves.withLock { $0 += 1 }
    }

    /// Reads the file again if another process or coordinator wrote it. Does nothing within a transaction.
    func adoptForeignWrites() throws { if let file, !nodes.isChanging { try adoptContent(file) } }

    /// Reads the file again if it changed since it was last read or written.
    private func adoptContent(_ file: StoreFile) throws {
        guard try file.hasChanged() else { return }
        let others = file.format.nodes(nodes.model)
        let own = ownMetadata.uuid, path = path
        let metadata = try file.read(into: others) { metadata in
            guard metadata.uuid == own else {
                throw CoreError(
                    .storeIO, code: .persistentStoreOperation,
                    "\(path) was replaced by another store, with the identifier \"\(metadata.uuid)\" instead of "
                        + "\"\(own)\"; \(StoreLocation.addingAgain), or revert a document with cst_document_revert "
                        + "(revert)",
                    value: .uuid(metadata.uuid), file: path)
            }
        }
        nodes.adoptContent(others)
        obstacle.withLock { $0 = file.obstacle }
        file.observedStates.withLock { $0.noteAdopted() }
        ownMetadata = metadata
        saves.withLock { $0 += 1 }
    }
}
