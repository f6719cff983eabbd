import CorestoneModel

/// The meaning of the bits in the mask of a change (`ACHANGE.ZCOLUMNS`).
///
/// Bit 0 is the most significant bit of the first byte. Each entity has its own slots, including those of inherited
/// properties. Their order is:
/// - To-one relationships, each followed by a slot for the target's entity if it can vary.
/// - Order keys.
/// - Attributes.
/// - To-many relationships.
///
/// In a group, the properties of a superentity come first, and those of one entity are sorted by name.
struct HistorySlots {
    enum Part { case value, targetEntity, order }

    struct Slot: Equatable {
        let property: Property
        let part: Part

        static func == (one: Slot, other: Slot) -> Bool { one.property === other.property && one.part == other.part }
    }

    let slots: [Slot]

    init(of entity: Entity) {
        let lineage = Array(sequence(first: entity, next: \.parent)).reversed()
        let relationships = lineage.flatMap { entity in
            entity.ownRelationships.filter { !$0.isTransient }.sorted { byteOrder($0.name, $1.name) }
        }
        let toOnes = relationships.filter { !$0.isToMany }
        var slots = toOnes.flatMap { relationship -> [Slot] in
            let key = Slot(property: relationship, part: .value)
            return relationship.destination.children.isEmpty
                ? [key] : [key, Slot(property: relationship, part: .targetEntity)]
        }
        let ordered = toOnes.filter { $0.inverse?.isToMany == true && $0.inverse?.isOrdered == true }
        slots += ordered.map { Slot(property: $0, part: .order) }
        let attributes = lineage.flatMap { entity in
            entity.ownAttributes.flatMap(\.leaves).filter { !$0.isTransient }.sorted { byteOrder($0.path, $1.path) }
        }
        slots += attributes.map { Slot(property: $0, part: .value) }
        slots += relationships.filter(\.isToMany).map { Slot(property: $0, part: .value) }
        self.slots = slots
    }

    /// Returns the mask of a change of these properties.
    func mask(of properties: some Sequence<Property>) -> [UInt8] {
        let changed = Set(properties.map { ObjectIdentifier($0) })
        return mask { changed.contains(ObjectIdentifier($0.property)) && $0.part != .order }
    }

    private func mask(_ isChanged: (Slot) -> Bool) -> [UInt8] {
        var mask = [UInt8](repeating: 0, count: max((slots.count + 7) / 8, 1))
        for (place, slot) in slots.enumerated() where isChanged(slot) { mask[place / 8] |= 0x80 >> UInt8(place % 8) }
        return mask
    }

    /// Returns the slots whose bits are set; bits beyond the last slot are ignored.
    func slots(in mask: [UInt8]) -> [Slot] {
        slots.enumerated().filter { place, _ in
            place / 8 < mask.count && mask[place / 8] & (0x80 >> UInt8(place % 8)) != 0
        }.map(\.element)
    }

    /// Returns the mask of the same change after a migration. Removed properties do not have a bit.
    func translated(_ mask: [UInt8], to wanted: HistorySlots, by pair: EntityPair) -> [UInt8] {
        translated(mask, to: wanted) { property in pair.pair(from: property).map { [$0.destination] } ?? [] }
    }

    /// Returns the mask of the same change for other slots.
    ///
    /// - Parameter destinations: The properties that replace a property of the former entity.
    func translated(_ mask: [UInt8], to wanted: HistorySlots, by destinations: (Property) -> [Property]) -> [UInt8] {
        let changed = slots(in: mask).flatMap { slot in
            destinations(slot.property).map { wanted.slot(of: $0, slot.part) }
        }
        return wanted.mask { slot in changed.contains { $0 == slot } }
    }

    /// Returns the slot of a part of a property, or of its value if the property does not have that part.
    private func slot(of property: Property, _ part: Part) -> Slot {
        let slot = Slot(property: property, part: part)
        return slots.contains(slot) ? slot : Slot(property: property, part: .value)
    }
}

/// A cache of the slots of entities.
struct EntitySlots {
    private var known: [UInt32: HistorySlots] = [:]

    mutating func slots(of entity: Entity) -> HistorySlots {
        if let slots = known[entity.index] { return slots }
        let slots = HistorySlots(of: entity)
        known[entity.index] = slots
        return slots
    }
}
