import CorestoneFormats
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The file format of a binary store: a binary property list. docs/BINARY-STORE.md describes it.
///
/// Its content is a nested property list with a checksum. Numbers and text are stored in columns.
struct BinaryFormat: AtomicFormat {
    let type = StoreType.binary

    enum Key {
        static let version = StoreType.binaryMark
        static let checksum = "checksum"
        static let content = "content"
        static let uuid = "uuid"
        static let metadata = "metadata"
        static let entities = "entities"
        static let relationships = "relationships"
        static let name = "name"
        static let lastKey = "lastKey"
        static let keys = "keys"
        static let versions = "versions"
        static let columns = "columns"
        static let owners = "owners"
        static let counts = "counts"
        static let members = "members"
        static let destination = "destination"
        static let isToMany = "toMany"
    }

    /// The format version that is written, and the only version that can be read.
    static let version: Int64 = 1
    /// The memory limit for rows without their values: bytes per byte of the file, and additional bytes.
    ///
    /// Files that the library writes stay below this limit.
    private static let (mostMemory, spareMemory) = (64, 1 << 20)

    // MARK: Writing

    func encode(_ nodes: Nodes, _ metadata: StoreMetadata) throws -> [UInt8] {
        // Memory for the columns, the property list and the encoded file.
        try MemoryCheck.require(nodes.recordBytes * 4, to: "encode the store")
        return try file([
            Key.uuid: .string(metadata.uuid.description), Key.metadata: .dictionary(metadata.values),
            Key.entities: .array(nodes.model.entities.map { BinaryTable(of: $0, in: nodes).propertyList }),
            Key.relationships: .array(nodes.listedRelationships.map { list($0, nodes) }),
        ])
    }

    private func file(_ content: [String: PropertyListValue]) throws -> [UInt8] {
        let content = encodePropertyList(.dictionary(content))
        // The buffer of the encoded file grows by doubling.
        try MemoryCheck.require(content.count * 4, to: "encode the store")
        return encodePropertyList(
            .dictionary([
                Key.version: .integer(BinaryFormat.version), Key.checksum: .integer(Int64(checksum(content))),
                Key.content: .data(content),
            ]))
    }

    /// Returns the members of a relationship that rows do not store, or do not store in order.
    private func list(_ relationship: Relationship, _ nodes: Nodes) -> PropertyListValue {
        let lists = nodes.lists(of: relationship)
        return .dictionary([
            Key.name: .string(relationship.listName),
            Key.owners: .data(PackedNumbers.bytes(lists.map(\.owner))),
            Key.counts: .data(PackedNumbers.bytes(lists.map { Int64($0.members.count) })),
            Key.members: .data(PackedNumbers.bytes(lists.flatMap(\.members))),
        ])
    }

    // MARK: Reading

    func decode(_ bytes: [UInt8], into nodes: Nodes, path: String, skipped: SkippedContent?) throws -> StoreMetadata {
        // Memory for the content of the file, its columns and the rows.
        try MemoryCheck.require(bytes.count * 4, to: "read \(path)", file: path)
        let content = try content(of: bytes, path)
        guard let listed = content[Key.entities]?.array else {
            throw BinaryFormat.damaged(path, "it does not have a list of entities")
        }
        guard let lists = content[Key.relationships]?.array else {
            throw BinaryFormat.damaged(path, "it does not have a list of relationships")
        }
        // The identifier for URIs in errors.
        let store = (try? metadata(in: content, path))?.uuid.description
        var budget = BinaryFormat.spareMemory + bytes.count * BinaryFormat.mostMemory
        // nil for a table that is skipped.
        var tables: [BinaryTable?] = []
        for value in listed {
            let table = try BinaryTable(value, nodes.model, path, store, skipped, budget: &budget)
            if let table, tables.contains(where: { $0?.entity === table.entity }) {
                let name = table.entity.name
                throw BinaryFormat.damaged(path, "it has two tables for \(name)", entity: name)
            }
            tables.append(table)
        }
        let entities = tables.map { $0?.entity }
        for case let table? in tables { try table.read(into: nodes, entities) }
        try BinaryLists(nodes, path, store, skipped).read(lists)
        return try metadata(in: content, path)
    }

    func metadata(_ bytes: [UInt8], path: String) throws -> StoreMetadata {
        try metadata(in: content(of: bytes, path), path)
    }

    func replacingMetadata(of bytes: [UInt8], by metadata: StoreMetadata, path: String) throws -> [UInt8] {
        var content = try content(of: bytes, path)
        content[Key.metadata] = .dictionary(metadata.values)
        return try file(content)
    }

    private func content(of bytes: [UInt8], _ path: String) throws -> [String: PropertyListValue] {
        let file = try dictionary(bytes, path)
        guard let version = file[Key.version]?.integer else {
            throw BinaryFormat.damaged(
                path, "it is a property list without the key \"\(Key.version)\"", key: Key.version)
        }
        guard version == BinaryFormat.version else {
            throw CoreError(
                .unsupported, code: .persistentStoreOpen,
                "\(path) is a binary store of version \(version), but only version \(BinaryFormat.version) can be read; "
                    + "open it with the version of Corestone that wrote it", value: .int(version), file: path)
        }
        guard let content = file[Key.content]?.data else {
            throw BinaryFormat.damaged(
                path, "it does not have data for the key \"\(Key.content)\"", key: Key.content)
        }
        guard let expected = file[Key.checksum]?.integer else {
            throw BinaryFormat.damaged(
                path, "it does not have an integer for the key \"\(Key.checksum)\"", key: Key.checksum)
        }
        let found = Int64(checksum(content))
        guard expected == found else {
            throw BinaryFormat.damaged(
                path, "the checksum of its content does not match: it is \(found), not \(expected)", value: .int(found))
        }
        return try dictionary(content, path, "the root of its content")
    }

    /// Decodes a property list.
    ///
    /// - Parameter root: The phrase for its root in the error.
    private func dictionary(
        _ bytes: [UInt8], _ path: String, _ root: String = "its root"
    ) throws -> [String: PropertyListValue] {
        var limits = PropertyListLimits()
        limits.size = .max
        limits.isStrict = true
        do {
            if case .dictionary(let entries) = try decodePropertyList(bytes, limits: limits) { return entries }
        } catch let error as CoreError where error.status != .noMemory {
            throw CoreError(
                .storeCorrupt, code: .persistentStoreOpen,
                "\(path) cannot be read as a binary store: \(error.message.withoutRemedy); restore it from a backup",
                key: error.key, value: error.value, file: path, offset: error.offset)
        }
        throw BinaryFormat.damaged(path, "\(root) is not a dictionary")
    }

    private func metadata(in content: [String: PropertyListValue], _ path: String) throws -> StoreMetadata {
        let text = content[Key.uuid]?.string
        guard let uuid = text.flatMap({ UUIDValue($0) }) else {
            let found = text.map { ", but \"\($0.prefix(60))\($0.count > 60 ? "…" : "")\"" } ?? ""
            throw BinaryFormat.damaged(
                path, "it does not have a valid UUID\(found)", value: text.map { .string($0) })
        }
        guard let values = content[Key.metadata]?.dictionary else {
            throw BinaryFormat.damaged(path, "it does not have a dictionary of metadata")
        }
        var metadata = StoreMetadata(uuid: uuid)
        metadata.values = values
        return metadata
    }

    /// Creates the error for a damaged file.
    ///
    /// - Parameter object: The URI of an object.
    static func damaged(
        _ path: String, _ problem: String, entity: String? = nil, key: String? = nil, value: PropertyValue? = nil,
        object: String? = nil
    ) -> CoreError {
        CoreError(
            .storeCorrupt, code: .persistentStoreOpen,
            "\(path) cannot be read as a binary store: \(problem); restore it from a backup", entity: entity, key: key,
            value: value, objectURI: object, file: path)
    }
}
