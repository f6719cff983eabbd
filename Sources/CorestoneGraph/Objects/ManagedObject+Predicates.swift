import CorestoneModel
import CorestonePredicate
import CorestoneValues

// Access to values for predicates. Repeated evaluation does not look names up again or copy text.
extension ManagedObject {
    public func value(for key: KeyName) throws -> PropertyValue {
        guard let slot = slot(of: key) else {
            // A property that only other entities of the entity tree have is nil here, as in their common table.
            let isOfTree = entity.root.withDescendants.contains { $0.property(named: key.text) != nil }
            return isOfTree ? .null : try value(forKey: key.text)
        }
        return asPredicatesSeeIt(try value(slot: slot), slot)
    }

    /// Returns a value as predicates access it.
    ///
    /// Returns the plain data of a transformable attribute if its transformer provides such data. Other values are
    /// unchanged.
    func asPredicatesSeeIt(_ value: PropertyValue, _ slot: Int) -> PropertyValue {
        guard case .bytes(let bytes) = value, isTransformable(slot) else { return value }
        return entity.attribute(slot).dataForPredicates(bytes.rawBytes)
    }

    public func withValue(for key: KeyName, _ body: (BorrowedValue) throws -> Bool) throws -> Bool {
        guard let slot = slot(of: key) else { return try body(BorrowedValue(try value(for: key))) }
        switch entity.layout.slots[slot].role {
        case .attribute: return try withBorrowedValue(try view(key: entity.slotKeys[slot]), slot, to: body)
        case .external: return try withView(key: entity.slotKeys[slot]) { try withBorrowedValue($0, slot, to: body) }
        default: return try body(BorrowedValue(try value(for: key)))
        }
    }

    public func isNull(for key: KeyName) throws -> Bool {
        guard let slot = slot(of: key), entity.layout.slots[slot].role == .external else {
            return try withValue(for: key) { $0.isNull }
        }
        return try isExternalNull(slot)
    }

    @inline(__always)
    private func withBorrowedValue(_ view: ValueView, _ slot: Int, to body: (BorrowedValue) throws -> Bool) throws
        -> Bool
    {
        switch view.type {
        case .null: return try body(.null)
        case .bool: return try body(.bool(view.low != 0))
        case .int: return try body(.int(view.integer))
        case .double: return try body(.double(view.double))
        case .date: return try body(.date(view.double))
        case .string, .uri: return try body(.text(view.bytes))
        case .bytes:
            if isTransformable(slot) {
                return try body(BorrowedValue(entity.attribute(slot).dataForPredicates(view.bytes)))
            }
            return try body(.bytes(view.bytes))
        default: return try body(.value(view.propertyValue))
        }
    }

    private func isTransformable(_ slot: Int) -> Bool {
        (entity.properties[slot] as? Attribute)?.type == .transformable
    }

    public func hasMembers(for key: KeyName) -> Bool {
        if let property = entity.property(named: key.text) { return (property as? Relationship)?.isToMany == true }
        return entity.fetchedProperty(named: key.text) != nil
    }

    public func memberCount(for key: KeyName) throws -> Int? {
        guard let slot = slot(of: key), let relationship = entity.properties[slot] as? Relationship,
            relationship.isToMany
        else { return nil }
        return try readToMany(relationship).count()
    }

    /// Returns the slot of a property; nil if the entity does not have it.
    ///
    /// The key caches the last slot, which is checked and replaced for objects of another entity.
    private func slot(of key: KeyName) -> Int? {
        let known = Int(truncatingIfNeeded: key.hint.load(ordering: .relaxed)) - 1
        if known >= 0, known < entity.properties.count, entity.properties[known].path == key.text { return known }
        guard let property = entity.property(named: key.text) else { return nil }
        key.hint.store(UInt64(property.slot) + 1, ordering: .relaxed)
        return Int(property.slot)
    }
}
