import CorestoneGraph
import CorestoneModel

/// Who points to whom by one to-one relationship: what its inverse has for members.
final class TargetIndex {
    let relationship: Relationship
    private let slot: Int
    /// The entities that have the relationship.
    private let entities: Set<UInt32>
    private var sources: [Int64: KeySet] = [:]

    init(_ relationship: Relationship) {
        self.relationship = relationship
        slot = Int(relationship.slot)
        entities = Set(relationship.entity.withDescendants.map(\.index))
    }

    /// In ascending order.
    func sources(of target: Int64) -> [Int64] { sources[target]?.sorted() ?? [] }

    func count(of target: Int64) -> Int { sources[target]?.count ?? 0 }

    /// The key that a row's relationship leads to.
    private func target(of record: Record?, _ model: Model) -> Int64? {
        guard let record, entities.contains(record.header.pointee.entity) else { return nil }
        let entity = model.entities[Int(record.header.pointee.entity)]
        return record.target(slot, entity.layout.slots[slot])?.primaryKey
    }

    /// Takes over a row; returns the target that it left.
    func move(_ key: Int64, from former: Record?, to record: Record?, _ model: Model) -> Int64? {
        let (old, new) = (target(of: former, model), target(of: record, model))
        if old == new { return nil }
        if let old {
            sources[old]?.remove(key)
            if sources[old]?.count == 0 { sources[old] = nil }
        }
        if let new { sources[new, default: KeySet()].insert(key) }
        return old
    }
}
