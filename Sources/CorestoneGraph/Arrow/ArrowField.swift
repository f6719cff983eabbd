import CorestoneModel
import CorestoneValues

/// A column of an export, or the row, whose children are the columns: the name, the type and the source of the values.
///
/// The type of decimals and the width of offsets depend on the values, so both can change until `finaliseType` is
/// called.
final class ArrowField {
    enum Source {
        /// The whole row. The children are its columns.
        case row
        /// The object itself, as its URI or primary key.
        case identity
        case attribute(ArrowSlots)
        case toOne(ArrowSlots)
        case toMany(Relationship)
        /// A composite attribute. The children are its elements, in the same row.
        case composite
        /// A key path with a collection operator, and the entities of the related objects.
        case computed(ExpressionDescription, reached: [Entity])
        /// Values that are appended one by one.
        case values
    }

    let name: String
    var type: ArrowType
    var isLarge: Bool
    /// The digits that the decimals appended so far need.
    var decimals = ArrowDecimals()
    /// Whether the schema is final: the type and the width of offsets no longer change.
    private(set) var isTypeFinal = false
    /// The to-one relationships from the exported row to the row with the value.
    let hops: [ArrowSlots]
    let source: Source
    /// Whether the rows are the objects of a list. The rows of deleted objects contain only nulls.
    var isOfList = false
    let children: [ArrowField]
    /// The property; nil for a row, for an object itself, and for values without a property.
    let property: Property?

    init(
        _ name: String, _ type: ArrowType, _ source: Source, hops: [ArrowSlots] = [], children: [ArrowField] = [],
        property: Property? = nil
    ) {
        (self.name, self.type, self.source) = (name, type, source)
        (self.hops, self.children, self.property) = (hops, children, property)
        isLarge = (property as? Attribute)?.allowsExternalStorage == true
    }

    /// Creates the field of a row with these columns.
    convenience init(row columns: [ArrowField]) { self.init("", .structure, .row, children: columns) }

    /// Whether the schema declares the field as not nullable.
    var isRequired: Bool {
        switch source {
        case .row: true
        case .identity: hops.isEmpty && !isOfList
        default: false
        }
    }

    /// The keys of the properties that must be fetched with the rows.
    var neededKeys: Set<UInt32> {
        if let first = hops.first { return Set(first.keys) }
        switch source {
        case .attribute(let slots), .toOne(let slots): return Set(slots.keys)
        case .row, .composite: return children.reduce(into: []) { $0.formUnion($1.neededKeys) }
        case .identity, .toMany, .computed, .values: return []
        }
    }

    /// The root entities of related objects on which the values depend.
    var reached: [Entity] {
        var properties = hops.map(\.property)
        if case .toMany(let relationship) = source { properties.append(relationship) }
        if case .computed(_, let reached) = source { return reached }
        return properties.compactMap { ($0 as? Relationship)?.destination.root } + children.flatMap(\.reached)
    }

    /// The column in a request for rows, if the field is a key path with a collection operator.
    var computed: ExpressionDescription? { if case .computed(let column, _) = source { column } else { nil } }

    /// Determines the final type. The decimals appended so far determine the type of a decimal column.
    func finaliseType() {
        for child in children { child.finaliseType() }
        if case .decimal = type { type = decimals.type }
        isTypeFinal = true
    }

    var hasDecimals: Bool {
        if case .decimal = type { return true }
        return children.contains(where: \.hasDecimals)
    }
}

/// The slots and record offsets of the properties with one name, by entity.
final class ArrowSlots {
    struct Place {
        /// The slot; -1 for entities without the property.
        var slot: Int32 = -1
        /// The offset of the value in a record.
        var offset: UInt32 = 0
    }

    /// The slots and offsets, indexed by the entity's index in the model.
    let places: UnsafeMutablePointer<Place>
    let property: Property
    /// The keys of the properties, one for each entity.
    ///
    /// They differ if entities that do not inherit from each other have properties of the same name.
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

    /// Returns the slot in objects of an entity; nil if the entity does not have the property.
    func slot(_ entity: Entity) -> Int? {
        let slot = places[Int(entity.index)].slot
        return slot < 0 ? nil : Int(slot)
    }

    /// Returns the address of the value in a record; nil if the record does not contain a value.
    @inline(__always)
    func place(_ record: Record) -> UnsafeMutableRawPointer? {
        let place = places[Int(record.header.pointee.entity)]
        guard place.slot >= 0, record.hasValue(Int(place.slot)) else { return nil }
        return record.start + Int(place.offset)
    }
}
