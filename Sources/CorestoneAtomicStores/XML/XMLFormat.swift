import CorestoneFormats
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The file format of an XML store, compatible with Apple's framework. docs/XML-STORE.md describes it.
///
/// The objects of all entities share one sequence of IDs, from `z102` on. The number is the primary key, so object URIs
/// are stable.
struct XMLFormat: AtomicFormat {
    let type = StoreType.xml

    /// The value of `<version>` in each file.
    static let version = "134481920"
    /// The last assigned key of an empty store, as in Apple's framework.
    static let lastReservedKey: Int64 = 101
    /// The highest valid primary key of a file. Larger keys are reported as damage, because the next keys could
    /// overflow.
    static let maximumKey: Int64 = 1 << 60

    func nodes(_ model: Model) -> Nodes { Nodes(model, lastSharedKey: XMLFormat.lastReservedKey) }

    func encode(_ nodes: Nodes, _ metadata: StoreMetadata) throws -> [UInt8] {
        try XMLStoreWriter(nodes).write(metadata)
    }

    func decode(_ bytes: [UInt8], into nodes: Nodes, path: String, skipped: SkippedContent?) throws -> StoreMetadata {
        try XMLStoreReader(bytes, path).read(into: nodes, skipped)
    }

    func metadata(_ bytes: [UInt8], path: String) throws -> StoreMetadata {
        try XMLStoreReader(bytes, path).readMetadata().metadata
    }

    func requireWritable(_ metadata: StoreMetadata) throws { _ = try XMLFormat.element(of: metadata) }

    func replacingMetadata(of bytes: [UInt8], by metadata: StoreMetadata, path: String) throws -> [UInt8] {
        let place = try XMLStoreReader(bytes, path).readMetadata().place
        return try bytes[..<place.lowerBound] + XMLFormat.element(of: metadata) + bytes[place.upperBound...]
    }

    /// Encodes the `<metadata>` element. The element does not contain the identifier or the store type.
    static func element(of metadata: StoreMetadata) throws -> [UInt8] {
        var values = metadata.values
        values[StoreMetadata.Key.storeType] = nil
        if values.isEmpty { return Array("<metadata></metadata>".utf8) }
        return try Array("<metadata>\n".utf8) + encodeXMLStoreMetadata(values) + Array("        </metadata>".utf8)
    }
}
