import CorestoneFormats
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

extension SQLiteStore {
    var keepsHistory: Bool { connections.first.history != nil }

    func metadata() throws -> StoreMetadata { try withFile { try StoreMetadata.stored(in: $0.connection) } }
}

extension WriteTransaction {
    func setApplicationMetadata(_ values: [String: PropertyListValue]) throws {
        if values.isEmpty { return }
        var metadata = try StoreMetadata.stored(in: connection)
        metadata.values.merge(values) { $1 }
        try setMetadata(metadata)
    }

    func setMetadata(_ metadata: StoreMetadata) throws { try StoreMetadata.store(metadata, in: connection) }
}

extension StoreMetadata {
    static func store(_ metadata: StoreMetadata, in connection: Connection) throws {
        let purpose = "write the metadata of \(connection.path)"
        let statement = try connection.statement("UPDATE Z_METADATA SET Z_PLIST = ?", purpose)
        statement.bind(copying: metadata.encoded(), at: 1)
        try statement.run(purpose)
    }

    fileprivate static func stored(in connection: Connection) throws -> StoreMetadata {
        let purpose = "read the metadata of \(connection.path)"
        let statement = try connection.statement("SELECT Z_UUID, Z_PLIST FROM Z_METADATA", purpose)
        defer { statement.reset() }
        let uuid = try statement.step(purpose) ? statement.text(0).flatMap { UUIDValue($0) } : nil
        guard let uuid, let propertyList = statement.blob(1), !propertyList.isEmpty else {
            return StoreMetadata(uuid: uuid ?? .random())
        }
        return try StoreMetadata(decoding: propertyList, uuid: uuid, ofStoreAt: connection.path)
    }
}
