import CorestoneFormats
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// A save of an atomic store.
final class AtomicTransaction: SaveTransaction {
    let store: NodeStore
    var nodes: Nodes { store.nodes }
    private(set) var metadata: StoreMetadata

    init(_ store: NodeStore, _ metadata: StoreMetadata) { (self.store, self.metadata) = (store, metadata) }

    func reservePrimaryKeys(of root: Entity, count: Int) throws -> Int64 {
        try store.reserveKeys(of: root, count: count)
    }

    func insert(_ records: [Record], entity: Entity) throws {
        try MemoryCheck.require(
            (2 << 20) + nodes.growth(of: entity.root), to: "save to \(Coordinator.shown(store.path))",
            file: store.path)
        for record in records {
            // An insert must not replace an existing row.
            guard nodes.node(entity.root, record.primaryKey) == nil else {
                // The rows of other types come from the application.
                let isOwnType = [.xml, .binary, .inMemory].contains(store.type)
                let remedy =
                    isOwnType
                    ? "delete the new object with cst_context_delete (delete), and insert it again with "
                        + "cst_context_insert (insert)"
                    : "use references that are unique in the entity tree"
                throw CoreError(
                    .storeIO, code: .persistentStoreSave,
                    "the primary key \(record.primaryKey) of a new \(entity.name) is already in use in "
                        + "\(Coordinator.shown(store.path)); \(remedy)",
                    entity: entity.name, value: .int(record.primaryKey),
                    objectURI: ObjectID.uri(ofKey: record.primaryKey, entity: entity.name, store: store.identifier),
                    file: store.path)
            }
            try put(record, entity)
        }
    }

    func update(_ rows: [UpdatedRow], slots: [Int], entity: Entity) throws -> [Int] {
        try MemoryCheck.require(
            (2 << 20) + nodes.growthOfJournal, to: "save to \(Coordinator.shown(store.path))", file: store.path)
        var stale: [Int] = []
        for (place, row) in rows.enumerated() {
            if isCurrent(row.record.primaryKey, version: row.oldVersion, entity: entity) {
                try put(row.record, entity)
            } else {
                stale.append(place)
            }
        }
        return stale
    }

    func delete(_ rows: [(primaryKey: Int64, version: Int32)], entity: Entity) -> [Int] {
        var stale: [Int] = []
        for (place, row) in rows.enumerated() {
            if isCurrent(row.primaryKey, version: row.version, entity: entity) {
                nodes.remove(entity.root, row.primaryKey)
            } else {
                stale.append(place)
            }
        }
        return stale
    }

    func isCurrent(_ primaryKey: Int64, version: Int32, entity: Entity) -> Bool {
        nodes.node(entity.root, primaryKey)?.record.version == version
    }

    func clear(_ slots: [Int], of primaryKey: Int64, entity: Entity) throws {
        guard let node = nodes.node(entity.root, primaryKey) else { return }
        var writer = RecordWriter(expectedBytes: Int(node.record.header.pointee.size))
        writer.begin(copying: node.record, version: node.record.version)
        for slot in slots { writer.clear(slot) }
        let record = writer.finish()
        try withExtendedLifetime(writer.chunks) { try put(record, entity) }
    }

    func put(_ record: Record, _ entity: Entity) throws {
        try nodes.put(record) { properties, values in
            .notUnique(
                entity, properties, values, in: store.path,
                objectURI: ObjectID.uri(ofKey: record.primaryKey, entity: entity.name, store: store.identifier))
        }
    }

    func link(_ relationship: Relationship, added: [Link], removed: [Link]) {
        nodes.link(relationship, added: added, removed: removed)
    }

    func setOrder(_ relationship: Relationship, owners: [(owner: Int64, members: [Int64])]) {
        for (owner, members) in owners { nodes.setMembers(relationship, owner, members) }
    }

    func setMetadata(_ metadata: StoreMetadata) { self.metadata = metadata }

    func setApplicationMetadata(_ values: [String: PropertyListValue]) { metadata.values.merge(values) { $1 } }
}
