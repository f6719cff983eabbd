import CorestoneModel
import CorestoneValues

/// How the whole of an atomic store is written down in a file.
protocol AtomicFormat: Sendable {
    var type: StoreType { get }

    /// What takes the rows of a new store, or of one that is about to be read.
    func nodes(_ model: Model) -> Nodes

    /// The file of a store.
    func encode(_ nodes: Nodes, _ metadata: StoreMetadata) throws -> [UInt8]

    /// Reads a file from anywhere: whatever its bytes are, there is a result or an error.
    ///
    /// - Parameters:
    ///   - nodes: empty; takes the rows.
    ///   - path: as the host named it, for errors.
    ///   - leftOut: takes what the nodes' model has no place for; nil when that is an error.
    /// - Returns: what the store says about itself.
    /// - Throws: `.storeCorrupt` (134080) with what is wrong and where; `.modelMismatch` (134100) for what the nodes' model has no
    ///   place for, with entity and key.
    func decode(_ bytes: [UInt8], into nodes: Nodes, path: String, leftOut: LeftOut?) throws -> StoreMetadata

    /// Reads only what a store says about itself. Needs no model.
    func metadata(_ bytes: [UInt8], path: String) throws -> StoreMetadata

    /// Throws with the key for what a file cannot say about itself.
    func requireWritable(_ metadata: StoreMetadata) throws

    /// The same file with something else said about itself; needs no model.
    func replacingMetadata(of bytes: [UInt8], by metadata: StoreMetadata, path: String) throws -> [UInt8]
}

extension AtomicFormat {
    func nodes(_ model: Model) -> Nodes { Nodes(model) }
    func requireWritable(_ metadata: StoreMetadata) throws {}
}

extension CoreError {
    /// The error of a file that another model wrote.
    ///
    /// - Parameter difference: where the models differ, as a part of the message.
    static func ofAnotherModel(
        _ path: String, _ difference: String, entity: String?, key: String? = nil, value: PropertyValue? = nil,
        object: String? = nil, children: [CoreError] = []
    ) -> CoreError {
        CoreError(
            .modelMismatch, code: .persistentStoreIncompatibleVersionHash,
            "\(path) was written with another model: \(difference); open it with that model", entity: entity, key: key,
            value: value, objectURI: object, children: children, file: path)
    }
}
