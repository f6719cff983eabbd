import CorestoneModel
import CorestoneValues

/// A column of an export: what it is called, its type, and where a row has its value.
///
/// The type of decimals, and whether offsets are large, is known for sure once all values were seen; the schema is made then.
final class ArrowField {
    enum Source {
        /// The whole row: the children are its columns.
        case row
        /// The object that the row stands for.
        case identity
        case attribute(ArrowSlots)
        case toOne(ArrowSlots)
        case toMany(Relationship)
        /// The children have the values, of the same row.
        case composite
        /// Values that are handed over one by one.
        case values
    }

    let name: String
    var type: ArrowType
    var isLarge: Bool
    /// Of all batches so far.
    var decimals = ArrowDecimals()
    /// Whether somebody has the schema: type and offsets stay as they are.
    private(set) var isSettled = false
    /// To-one relationships that lead from the row to the one that has the value.
    let hops: [ArrowSlots]
    let source: Source
    let children: [ArrowField]
    /// nil for the object itself, and for what was computed.
    let property: Property?

    init(
        _ name: String, _ type: ArrowType, _ source: Source, hops: [ArrowSlots] = [], children: [ArrowField] = [],
        property: Property? = nil
    ) {
        (self.name, self.type, self.source) = (name, type, source)
        (self.hops, self.children, self.property) = (hops, children, property)
        isLarge = (property as? Attribute)?.allowsExternalStorage == true
    }

    /// Of rows with these columns.
    convenience init(row columns: [ArrowField]) { self.init("", .structure, .row, children: columns) }

    /// Whether a value is there in any case.
    var isRequired: Bool {
        switch source {
        case .row: true
        case .identity: hops.isEmpty
        default: false
        }
    }

    /// The keys of the properties whose columns the rows have to have.
    var neededKeys: Set<UInt32> {
        if let first = hops.first { return Set(first.keys) }
        switch source {
        case .attribute(let slots), .toOne(let slots): return Set(slots.keys)
        case .row, .composite: return children.reduce(into: []) { $0.formUnion($1.neededKeys) }
        case .identity, .toMany, .values: return []
        }
    }

    /// The roots of the entities, other than that of the rows, whose objects have to do with the values.
    var reached: [Entity] {
        var properties = hops.map(\.property)
        if case .toMany(let relationship) = source { properties.append(relationship) }
        return properties.compactMap { ($0 as? Relationship)?.destination.root } + children.flatMap(\.reached)
    }

    /// Takes the type for the decimals that were seen, and keeps to it.
    func settle() {
        for child in children { child.settle() }
        if case .decimal = type { type = decimals.type }
        isSettled = true
    }

    var hasDecimals: Bool {
        if case .decimal = type { return true }
        return children.contains(where: \.hasDecimals)
    }
}

/// Where the objects of an entity, and of those that inherit from it, have one property.
final class ArrowSlots {
    struct Place {
        /// -1 for entities without the property.
        var slot: Int32 = -1
        /// In a record.
        var offset: UInt32 = 0
    }

    /// By the entity's index in the model.
    let places: UnsafeMutablePointer<Place>
    let property: Property
    /// More than one where entities that do not inherit from each other have properties of the same name.
    let keys: [UInt32]

    init(_ properties: [(entity: Entity, property: Property)], in model: Model) {
        property = properties[0].property
        keys = properties.map(\.property.key)
        places = .allocate(capacity: max(model.entities.count, 1))
        places.initialize(repeating: Place(), count: model.entities.count)
        for (entity, property) in properties {
            let layout = entity.layout.slots[Int(property.slot)]
            places[Int(entity.index)] = Place(slot: Int32(property.slot), offset: layout.offset)
        }
    }

    deinit { places.deallocate() }

    /// The slot in objects of an entity; nil where they have none.
    func slot(_ entity: Entity) -> Int? {
        let slot = places[Int(entity.index)].slot
        return slot < 0 ? nil : Int(slot)
    }

    /// Where a record has the value; nil when it has none.
    @inline(__always)
    func place(_ record: Record) -> UnsafeMutableRawPointer? {
        let place = places[Int(record.header.pointee.entity)]
        guard place.slot >= 0, record.hasValue(Int(place.slot)) else { return nil }
        return record.start + Int(place.offset)
    }
}
