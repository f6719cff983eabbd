import CorestoneGraph
import CorestoneModel

/// Who points to whom by one to-one relationship: what its inverse has for members.
struct TargetIndex {
    let relationship: Relationship
    private let slot: Int
    /// The entities that have the relationship.
    private let entities: Set<UInt32>
    private var sources: [Int64: Set<Int64>] = [:]

    init(_ relationship: Relationship) {
        self.relationship = relationship
        slot = Int(relationship.slot)
        entities = Set(relationship.entity.withDescendants.map(\.index))
    }

    func sources(of target: Int64) -> Set<Int64> { sources[target] ?? [] }

    /// The key that a row's relationship leads to.
    private func target(of node: Node?, _ model: Model) -> Int64? {
        guard let record = node?.record, entities.contains(record.header.pointee.entity) else { return nil }
        let entity = model.entities[Int(record.header.pointee.entity)]
        return record.target(slot, entity.layout.slots[slot])?.primaryKey
    }

    /// Takes over a row; returns the target that it left.
    mutating func move(_ key: Int64, from former: Node?, to node: Node?, _ model: Model) -> Int64? {
        let (old, new) = (target(of: former, model), target(of: node, model))
        if old == new { return nil }
        if let old, sources[old]?.remove(key) != nil, sources[old]?.isEmpty == true { sources[old] = nil }
        if let new { sources[new, default: []].insert(key) }
        return old
    }
}
