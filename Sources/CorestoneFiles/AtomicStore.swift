import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// A store whose objects are all in memory: loaded as a whole, and after each save written as a whole, if it has a file.
///
/// It answers fetches with all rows of an entity and leaves predicates and order to the context, which decides as for its own
/// objects. One thread at a time uses it.
package final class AtomicStore: PersistentStore, @unchecked Sendable {
    let nodes: Nodes
    package let type: StoreType
    private let file: StoreFile?
    package let path: String
    package let isReadOnly: Bool
    package let readOnlyReason: String?
    /// What the store says about itself.
    package private(set) var metadata: StoreMetadata
    /// How often it was saved.
    private let saves = Locked(0)

    package let identifier: String
    package let abilities: StoreAbilities = .uniqueConstraints

    /// - Parameter file: nil for a store in memory alone.
    init(
        _ nodes: Nodes, _ metadata: StoreMetadata, type: StoreType, file: StoreFile?, path: String,
        readOnlyReason: String? = nil
    ) {
        (self.nodes, self.metadata, self.type, self.file, self.path) = (nodes, metadata, type, file, path)
        (isReadOnly, self.readOnlyReason) = (readOnlyReason != nil, readOnlyReason)
        identifier = metadata.uuid.description
    }

    package var contentState: String? { "\(identifier) \(saves.withLock { $0 })" }

    package func applicationMetadata() -> [String: PropertyListValue] { metadata.applicationValues }

    package func setInterruptCheck(_ check: (() -> Bool)?) {}
    package func endRead() {}
    package func close() { file?.close() }

    // MARK: Saving

    package func reservePrimaryKeys(of root: Entity, count: Int) -> Int64 { nodes.reserveKeys(of: root, count: count) }

    package func save(by author: SaveAuthor, _ body: (any SaveTransaction) throws -> Void) throws {
        if isReadOnly {
            throw CoreError(
                .storeReadOnly, code: .persistentStoreSave, "\(path) is open read-only: \(readOnlyReason ?? "")",
                file: path)
        }
        guard let file else { return try change(body) }
        try file.alone {
            // What others saved meanwhile is there before this save is compared with it.
            try takeOver(file)
            try change(body)
        }
    }

    private func change(_ body: (any SaveTransaction) throws -> Void) throws {
        let transaction = AtomicTransaction(self, metadata)
        nodes.begin()
        do {
            try body(transaction)
            if nodes.hasChanges || transaction.metadata.values != metadata.values {
                try file?.write(nodes, transaction.metadata)
            }
        } catch {
            nodes.rollBack()
            throw error
        }
        metadata = transaction.metadata
        if nodes.commit() { saves.withLock { $0 += 1 } }
    }

    /// Reads the file again if somebody else has written it.
    private func takeOver(_ file: StoreFile) throws {
        guard file.hasChanged else { return }
        let others = file.format.nodes(nodes.model)
        let metadata = try file.read(into: others)
        guard metadata.uuid == self.metadata.uuid else {
            throw CoreError(
                .storeIO, code: .persistentStoreOperation,
                "\(path) is another store by now: somebody has put one with the identifier \(metadata.uuid) in its place; "
                    + "remove the store from the coordinator and add it again", file: path)
        }
        nodes.takeOver(others)
        self.metadata = metadata
        saves.withLock { $0 += 1 }
    }
}

// MARK: - Reading

extension AtomicStore {
    package func fetch(_ fetch: StoreFetch) throws -> StoreFetchOutcome {
        if let file, !nodes.isChanging { try takeOver(file) }
        let root = fetch.entity.root
        var records = rows(of: fetch.entity, fetch.includesSubentities)
        var outcome = StoreFetchOutcome()
        guard fetch.predicate == nil, fetch.sortDescriptors.isEmpty else {
            outcome.remainder = FetchRemainder(
                predicate: fetch.predicate, isUnordered: !fetch.sortDescriptors.isEmpty,
                reasons: ["\(path) is a store in memory"])
            outcome.batch = RowBatch(records)
            return outcome
        }
        records = Array(records.dropFirst(max(fetch.offset, 0)))
        if fetch.limit > 0 { records = Array(records.prefix(fetch.limit)) }
        switch fetch.result {
        case .rows: outcome.batch = RowBatch(records)
        case .identifiers:
            outcome.identifiers = records.map { ($0.record.primaryKey, $0.record.header.pointee.entity) }
        case .count: outcome.count = records.count
        }
        return outcome
    }

    /// The rows of an entity, by primary key.
    private func rows(of entity: Entity, _ includesSubentities: Bool) -> [Node] {
        let wanted = Set(includesSubentities ? entity.withDescendants.map(\.index) : [entity.index])
        return nodes.keys(of: entity.root).compactMap { nodes.node(entity.root, $0) }
            .filter { wanted.contains($0.record.header.pointee.entity) }
    }

    package func rows(of root: Entity, primaryKeys: [Int64]) -> RowBatch {
        RowBatch(primaryKeys.compactMap { nodes.node(root, $0) })
    }

    package func members(of relationship: Relationship, owners: [Int64], includingRows: Bool) -> StoreMembers {
        var result = StoreMembers()
        var rows: [Node] = []
        for owner in owners {
            for key in nodes.members(relationship, owner) {
                guard let node = nodes.node(relationship.destination.root, key) else { continue }
                result.members.append(
                    .init(owner: owner, primaryKey: key, entity: node.record.header.pointee.entity))
                if includingRows { rows.append(node) }
            }
        }
        result.batch = RowBatch(rows)
        return result
    }
}

extension RowBatch {
    fileprivate init(_ nodes: [Node]) {
        self.init()
        records.reserveCapacity(nodes.count)
        for node in nodes {
            records.append(node.record)
            if chunks.last !== node.chunk { chunks.append(node.chunk) }
        }
    }
}
