import CorestoneModel
import CorestoneValues

/// The file format of an atomic store.
protocol AtomicFormat: Sendable {
    var type: StoreType { get }

    /// Returns an empty container for the rows of a store.
    func nodes(_ model: Model) -> Nodes

    /// Encodes a store as a file.
    func encode(_ nodes: Nodes, _ metadata: StoreMetadata) throws -> [UInt8]

    /// Reads a file, which may be untrusted.
    ///
    /// - Parameters:
    ///   - nodes: Receives the rows. Must be empty.
    ///   - path: The path as the application passed it, for errors.
    ///   - skipped: Records content that the model does not have; nil to throw an error for it.
    /// - Returns: The metadata of the store.
    /// - Throws: `.storeCorrupt` (134080) with the fault and its location.
    ///   `.modelMismatch` (134100), with entity and key, for content that the model does not have.
    func decode(_ bytes: [UInt8], into nodes: Nodes, path: String, skipped: SkippedContent?) throws -> StoreMetadata

    /// Reads only the metadata of a store. Does not need a model.
    func metadata(_ bytes: [UInt8], path: String) throws -> StoreMetadata

    /// Throws an error with the key if the format cannot store a metadata value.
    func requireWritable(_ metadata: StoreMetadata) throws

    /// Returns the file with other metadata. Does not need a model.
    func replacingMetadata(of bytes: [UInt8], by metadata: StoreMetadata, path: String) throws -> [UInt8]
}

extension AtomicFormat {
    func nodes(_ model: Model) -> Nodes { Nodes(model) }
    func requireWritable(_ metadata: StoreMetadata) throws {}
}

extension CoreError {
    /// Creates the error for a file that was written with another model.
    ///
    /// - Parameter difference: The difference between the models, as a part of the message.
    static func ofAnotherModel(
        _ path: String, _ difference: String, entity: String?, key: String? = nil, value: PropertyValue? = nil,
        object: String? = nil, children: [CoreError] = []
    ) -> CoreError {
        CoreError(
            .modelMismatch, code: .persistentStoreIncompatibleVersionHash,
            "\(path) was written with another model: \(difference); open the store with the model it was written "
                + "with", entity: entity, key: key,
            value: value, objectURI: object, children: children, file: path)
    }
}
