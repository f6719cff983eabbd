import CorestoneGraph
import CorestoneModel

/// An index from the targets of a to-one relationship to the objects that refer to them.
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

    /// Returns the primary keys of the objects that refer to a target, in ascending order.
    func sources(of target: Int64) -> [Int64] { sources[target]?.sorted() ?? [] }

    func count(of target: Int64) -> Int { sources[target]?.count ?? 0 }

    /// Returns the primary key of a row's target.
    private func target(of record: Record?, _ model: Model) -> Int64? {
        guard let record, entities.contains(record.header.pointee.entity) else { return nil }
        let entity = model.entities[Int(record.header.pointee.entity)]
        return record.target(slot, entity.layout.slots[slot])?.primaryKey
    }

    /// Updates the index for a changed row, and returns the previous target if the target changed.
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
