import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The rows of an atomic store, for the evaluation of predicates. No other thread may use the store meanwhile.
final class NodeRows: RowSource {
    private let nodes: Nodes
    let identifier: String
    /// The store of object IDs; nil if the evaluation does not create IDs.
    private let store: Store?
    var model: Model { nodes.model }

    init(_ nodes: Nodes, _ identifier: String, _ store: Store? = nil) {
        (self.nodes, self.identifier, self.store) = (nodes, identifier, store)
    }

    func find(_ target: StoredRow, of row: StoredRow, _ relationship: Relationship) {
        if let node = nodes.node(target.entity.root, target.primaryKey) { target.setRow(node.record) }
    }

    func members(of row: StoredRow, _ relationship: Relationship) -> [StoredRow] {
        let root = relationship.destination.root
        return nodes.members(relationship, row.primaryKey).compactMap { key in
            nodes.node(root, key).map { StoredRow(self, $0.record) }
        }
    }

    func memberCount(of row: StoredRow, _ relationship: Relationship) -> Int {
        nodes.memberCount(relationship, row.primaryKey)
    }

    func externalValue(named name: String) -> ExternalValue { .missing(file: name) }

    /// Always throws, because the context evaluates predicates that need values of properties that are not stored.
    func hostValue(of row: StoredRow, _ name: String) throws -> PropertyValue {
        throw CoreError(
            .internal,
            "\(row.entity.name).\(name) is not a stored property but was requested from the store; report it as a defect of the library",
            entity: row.entity.name, key: name, objectURI: row.valueDescription)
    }

    func object(of row: StoredRow) -> (any ValueObject)? { nil }

    func reference(of row: StoredRow) -> ObjectIDReference? {
        store.map { ObjectIDReference(ObjectID(store: $0, entity: row.entity, reference: row.primaryKey)) }
    }
}
