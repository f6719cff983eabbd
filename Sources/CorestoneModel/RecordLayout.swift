/// How a value lies in a row record.
package enum SlotKind: UInt8 {
    /// To-many relationships, transient attributes: nothing in the record.
    case none = 0
    case bool, int16, int32, int64, double, date
    /// Offset and length, 32 bits each, of bytes behind the fixed part; text is followed by a NUL.
    case text, uri, bytes
    case uuid
    /// Mantissa (16 bytes), then sign and exponent as the aux of a `cst_value`.
    case decimal
    /// Primary key (8 bytes), then the index of the target's entity in the model (4 bytes).
    case toOne
}

/// Where one property lies in the records of an entity.
package struct SlotLayout {
    /// From the start of the record, in bytes.
    package let offset: UInt32
    package let kind: SlotKind
    package let isTransient: Bool

    @inlinable package init(offset: UInt32, kind: SlotKind, isTransient: Bool) {
        self.offset = offset
        self.kind = kind
        self.isTransient = isTransient
    }
}

/// The places of an entity's values in its row records: header, bitmap of values that are not null, fixed part, bytes.
///
/// Wide fields come first, so that nothing is padded; the order has nothing to do with the order of slots.
package struct RecordLayout {
    /// By slot.
    package let slots: UnsafeMutablePointer<SlotLayout>
    package let slotCount: Int
    /// Header, bitmap and fixed part, a multiple of 8.
    package let fixedSize: Int

    /// Primary key, version, entity index, size: see `RecordHeader`.
    package static let headerSize = 24

    package init(properties: [Property]) {
        slotCount = properties.count
        slots = UnsafeMutablePointer.allocate(capacity: max(slotCount, 1))
        let kinds = properties.map(RecordLayout.kind)
        var offset = RecordLayout.headerSize + (slotCount + 63) / 64 * 8
        for width in [24, 16, 8, 4, 2, 1] {
            for (slot, kind) in kinds.enumerated() where RecordLayout.width(kind) == width {
                slots[slot] = SlotLayout(
                    offset: UInt32(offset), kind: kind, isTransient: properties[slot].isTransient)
                offset += width
            }
        }
        for (slot, kind) in kinds.enumerated() where kind == .none {
            slots[slot] = SlotLayout(offset: 0, kind: .none, isTransient: properties[slot].isTransient)
        }
        fixedSize = (offset + 7) & ~7
    }

    func deallocate() { slots.deallocate() }

    private static func kind(_ property: Property) -> SlotKind {
        if property.isTransient { return .none }
        if let relationship = property as? Relationship { return relationship.isToMany ? .none : .toOne }
        guard let attribute = property as? Attribute else { return .none }
        switch attribute.type {
        case .undefined: return .none
        case .integer16: return .int16
        case .integer32: return .int32
        case .integer64: return .int64
        case .decimal: return .decimal
        case .double, .float: return .double
        case .string: return .text
        case .boolean: return .bool
        case .date: return .date
        case .binary, .transformable: return .bytes
        case .uuid: return .uuid
        case .uri: return .uri
        }
    }

    private static func width(_ kind: SlotKind) -> Int {
        switch kind {
        case .none: 0
        case .bool: 1
        case .int16: 2
        case .int32: 4
        case .int64, .double, .date, .text, .uri, .bytes: 8
        case .uuid, .toOne: 16
        case .decimal: 24
        }
    }
}
