import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// An index of rows by the values of one unique constraint. Null values never conflict.
final class UniqueIndex {
    let properties: [Property]
    let entity: Entity
    private let entities: Set<UInt32>
    private var keys: [UniqueValues: Int64] = [:]

    init(_ entity: Entity, _ constraint: [String]) {
        self.entity = entity
        properties = entity.slots(of: constraint).map { entity.properties[$0] }
        entities = Set(entity.withDescendants.map(\.index))
    }

    /// Returns a row's values for the constraint; nil if one is null or the constraint does not apply to the row.
    func values(of record: Record?, _ model: Model) -> UniqueValues? {
        guard let record, entities.contains(record.header.pointee.entity) else { return nil }
        let layout = model.entities[Int(record.header.pointee.entity)].layout
        guard let first = value(of: properties[0], record, layout) else { return nil }
        var values = UniqueValues(first: first)
        for property in properties.dropFirst() {
            guard let value = value(of: property, record, layout) else { return nil }
            values.others.append(value)
        }
        return values
    }

    private func value(of property: Property, _ record: Record, _ layout: RecordLayout) -> PropertyValue? {
        let slot = Int(property.slot)
        if !record.hasValue(slot) { return nil }
        if property is Relationship { return record.target(slot, layout.slots[slot]).map { .int($0.primaryKey) } }
        return record.view(slot, layout.slots[slot]).propertyValue
    }

    /// Returns the primary key of the row with the given values.
    func holder(of values: UniqueValues) -> Int64? { keys[values] }

    func move(_ key: Int64, from former: UniqueValues?, to values: UniqueValues?) {
        if former == values { return }
        if let former, keys[former] == key { keys[former] = nil }
        if let values { keys[values] = key }
    }
}

/// A row's values for a constraint. Most constraints have only one property.
struct UniqueValues: Hashable {
    let first: PropertyValue
    var others: [PropertyValue] = []

    var all: [PropertyValue] { [first] + others }
}
