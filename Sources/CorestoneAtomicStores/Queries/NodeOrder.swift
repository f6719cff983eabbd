import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// A sort of rows by sort descriptors, with the primary key as the tie-breaker.
struct NodeOrder {
    private let descriptors: [SortDescriptor]
    private let records: ContiguousArray<Record>
    /// The sort values of each row: views of stored values, which are not copied, or else computed values in `values`.
    private var views: ContiguousArray<ValueView> = []
    private var values: ContiguousArray<PropertyValue> = []
    private let clock: NodeClock

    init(_ descriptors: [SortDescriptor], _ records: ContiguousArray<Record>, _ rows: NodeRows, _ clock: NodeClock)
        throws
    {
        (self.descriptors, self.records, self.clock) = (descriptors, records, clock)
        if gatherViews(rows.model) { return }
        views = []
        values.reserveCapacity(records.count * descriptors.count)
        for record in records {
            try clock.tick()
            let row = PropertyValue.object(StoredRow(rows, record))
            for descriptor in descriptors { values.append(try KeyPathEvaluation.value(of: row, path: descriptor.path)) }
        }
    }

    /// Collects views of the sort values. Returns false if a sort key is not a plain stored attribute.
    private mutating func gatherViews(_ model: Model) -> Bool {
        views.reserveCapacity(records.count * descriptors.count)
        var last: (entity: UInt32, slots: [(Int, SlotLayout)]) = (.max, [])
        for record in records {
            let index = record.header.pointee.entity
            if index != last.entity {
                let entity = model.entities[Int(index)]
                var slots: [(Int, SlotLayout)] = []
                for descriptor in descriptors {
                    guard let key = descriptor.path.single,
                        let property = entity.property(named: key.text) as? Attribute,
                        entity.layout.slots[Int(property.slot)].role == .attribute, property.type != .transformable
                    else { return false }
                    slots.append((Int(property.slot), entity.layout.slots[Int(property.slot)]))
                }
                last = (index, slots)
            }
            for (slot, layout) in last.slots { views.append(record.view(slot, layout)) }
        }
        return true
    }

    /// Returns at least the first `most` rows, in the order of the descriptors.
    ///
    /// - Parameter most: The number of rows that are needed. If it is a large part of all rows, all rows are returned.
    func sorted(first most: Int) throws -> ContiguousArray<Record> {
        if records.count < 2 { return records }
        // Rows are in the order of primary keys, so their position is the tie-breaker.
        if most < records.count / 4 { return ContiguousArray(try best(most).map { records[$0] }) }
        var order = Array(records.indices)
        try sort(&order)
        return ContiguousArray(order.map { records[$0] })
    }

    /// Sorts positions. Not inlined, because each specialised sort adds kilobytes of code.
    @inline(never)
    private func sort(_ places: inout [Int]) throws { try places.sort { try precedes($0, $1) } }

    /// Returns the positions of the first rows, in order.
    private func best(_ most: Int) throws -> [Int] {
        if most == 0 { return [] }
        var chosen: [Int] = []
        chosen.reserveCapacity(2 * most)
        var worst: Int?
        for place in records.indices {
            if let worst, try !precedes(place, worst) { continue }
            chosen.append(place)
            if chosen.count < 2 * most { continue }
            try sort(&chosen)
            chosen.removeLast(chosen.count - most)
            worst = chosen.last
        }
        try sort(&chosen)
        return Array(chosen.prefix(most))
    }

    private func precedes(_ a: Int, _ b: Int) throws -> Bool {
        try clock.tick()
        let count = descriptors.count
        for index in 0..<count {
            let order =
                try views.isEmpty
                ? descriptors[index].compare(values[a * count + index], values[b * count + index])
                : compare(views[a * count + index], views[b * count + index], descriptors[index])
            if order != 0 { return order < 0 }
        }
        return a < b
    }

    private func compare(_ a: ValueView, _ b: ValueView, _ descriptor: SortDescriptor) throws -> Int {
        let order: Int
        switch (a.type, b.type) {
        case (.null, .null): return 0
        case (.null, _): order = -1
        case (_, .null): order = 1
        case (.int, .int): order = a.integer < b.integer ? -1 : a.integer > b.integer ? 1 : 0
        case (.double, .double) where !a.double.isNaN && !b.double.isNaN, (.date, .date):
            order = a.double < b.double ? -1 : a.double > b.double ? 1 : 0
        case (.string, .string), (.uri, .uri): order = descriptor.selector.order(a.bytes, b.bytes)
        default: return try descriptor.compare(a.propertyValue, b.propertyValue)
        }
        return descriptor.ascending ? order : -order.signum()
    }
}
