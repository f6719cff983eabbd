import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The file of an XML store, as Apple's framework writes it and reads it; docs/XML-STORE.md describes it.
///
/// The objects of all entities share one row of numbers, from `z102` on. A number is the primary key, so object URIs stay.
struct XMLFormat: AtomicFormat {
    let type = StoreType.xml

    /// What every file says of itself.
    static let version = "134481920"
    /// An empty store has handed out the numbers up to this one, as those of Apple's framework.
    static let lastReservedKey: Int64 = 101
    /// Numbers of a file beyond this one are damage, and could not be counted on.
    static let maximumKey: Int64 = 1 << 60

    func nodes(_ model: Model) -> Nodes { Nodes(model, lastSharedKey: XMLFormat.lastReservedKey) }

    func encode(_ nodes: Nodes, _ metadata: StoreMetadata) throws -> [UInt8] {
        try XMLStoreWriter(nodes).write(metadata)
    }

    func decode(_ bytes: [UInt8], into nodes: Nodes, path: String, leftOut: LeftOut?) throws -> StoreMetadata {
        try XMLStoreReader(bytes, path).read(into: nodes, leftOut)
    }

    func metadata(_ bytes: [UInt8], path: String) throws -> StoreMetadata {
        try XMLStoreReader(bytes, path).readMetadata().metadata
    }

    func requireWritable(_ metadata: StoreMetadata) throws { _ = try XMLFormat.element(of: metadata) }

    func replacingMetadata(of bytes: [UInt8], by metadata: StoreMetadata, path: String) throws -> [UInt8] {
        let place = try XMLStoreReader(bytes, path).readMetadata().place
        return try bytes[..<place.lowerBound] + XMLFormat.element(of: metadata) + bytes[place.upperBound...]
    }

    /// What the store says about itself but for who it is. The file does not name its own type.
    static func element(of metadata: StoreMetadata) throws -> [UInt8] {
        var values = metadata.values
        values[StoreMetadata.Key.storeType] = nil
        if values.isEmpty { return Array("<metadata></metadata>".utf8) }
        return try Array("<metadata>\n".utf8) + encodeXMLStoreMetadata(values) + Array("        </metadata>".utf8)
    }
}
