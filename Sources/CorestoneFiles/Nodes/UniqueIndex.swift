import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The rows by the values of one unique constraint. No value is like no other.
struct UniqueIndex {
    let properties: [Property]
    private let entities: Set<UInt32>
    private var keys: [[PropertyValue]: Int64] = [:]

    init(_ entity: Entity, _ constraint: [String]) {
        properties = entity.slots(of: constraint).map { entity.properties[$0] }
        entities = Set(entity.withDescendants.map(\.index))
    }

    /// The values that only one row may have; nil for a row that the constraint does not concern.
    func values(of node: Node?, _ model: Model) -> [PropertyValue]? {
        guard let record = node?.record, entities.contains(record.header.pointee.entity) else { return nil }
        let layout = model.entities[Int(record.header.pointee.entity)].layout
        var values: [PropertyValue] = []
        for property in properties {
            let slot = Int(property.slot)
            if property is Relationship {
                guard let target = record.target(slot, layout.slots[slot]) else { return nil }
                values.append(.int(target.primaryKey))
            } else {
                let value = record.view(slot, layout.slots[slot]).propertyValue
                if value.isNull { return nil }
                values.append(value)
            }
        }
        return values
    }

    /// The row that has the values already.
    func holder(of values: [PropertyValue]) -> Int64? { keys[values] }

    mutating func move(_ key: Int64, from former: [PropertyValue]?, to values: [PropertyValue]?) {
        if former == values { return }
        if let former, keys[former] == key { keys[former] = nil }
        if let values { keys[values] = key }
    }
}
