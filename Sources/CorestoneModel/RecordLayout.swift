/// The representation of a value in a row record.
@usableFromInline package enum SlotKind: UInt8 {
    /// The record does not contain a value, as for to-many relationships and transient attributes.
    case none = 0
    case bool, int16, int32, int64, double, date
    /// Offset and length, 32 bits each, of bytes after the fixed part. A NUL follows text.
    case text, uri, bytes
    case uuid
    /// Mantissa (16 bytes), then sign and exponent as in the field `aux` of a `cst_value`.
    case decimal
    /// Primary key (8 bytes), then the index of the target's entity in the model (4 bytes).
    case toOne
}

/// The kind of property in a slot.
@usableFromInline package enum SlotRole: UInt8 {
    case attribute = 0, transient, toOne, toMany
    /// An attribute whose value can be in a backing file (see `Record.fileName`).
    case external
    /// A composite attribute, whose elements have their own slots.
    case composite
}

/// The conditions of a value, as flags.
///
/// With these, setters and validation do not have to read the property.
@usableFromInline package struct SlotConditions: OptionSet, Sendable {
    @usableFromInline package let rawValue: UInt8
    @inlinable package init(rawValue: UInt8) { self.rawValue = rawValue }

    @inlinable package static var required: SlotConditions { SlotConditions(rawValue: 1) }
    @inlinable package static var allowsNaN: SlotConditions { SlotConditions(rawValue: 2) }
    /// A Float: values are rounded to single precision.
    @inlinable package static var single: SlotConditions { SlotConditions(rawValue: 4) }
    /// A to-many relationship that is required, or has a minimum or maximum number of members.
    @inlinable package static var bounded: SlotConditions { SlotConditions(rawValue: 8) }
    /// The property has validation rules.
    @inlinable package static var ruled: SlotConditions { SlotConditions(rawValue: 32) }
    /// A derived attribute. The store computes it, and a value that is set is never saved.
    @inlinable package static var derived: SlotConditions { SlotConditions(rawValue: 16) }
    /// A transient attribute whose changes do not make the object dirty.
    @inlinable package static var ignored: SlotConditions { SlotConditions(rawValue: 64) }
}

/// The location of a property in the records of an entity.
@usableFromInline package struct SlotLayout {
    /// The offset from the start of the record, in bytes.
    @usableFromInline package let offset: UInt32
    @usableFromInline package let kind: SlotKind
    @usableFromInline package let role: SlotRole
    /// The index among the entity's properties of the same role.
    @usableFromInline package let ordinal: UInt16
    @usableFromInline package let conditions: SlotConditions

    @inlinable package init(offset: UInt32, kind: SlotKind, role: SlotRole, ordinal: UInt16, conditions: SlotConditions)
    {
        self.offset = offset
        self.kind = kind
        self.role = role
        self.ordinal = ordinal
        self.conditions = conditions
    }
}

/// The layout of an entity's row records: header, bitmap of values that are not null, fixed part, bytes.
///
/// The fields are ordered by width, then by slot. Wide fields are first, so that padding is not needed.
@usableFromInline package struct RecordLayout {
    /// The locations by slot.
    @usableFromInline package let slots: UnsafeMutablePointer<SlotLayout>
    @usableFromInline package let slotCount: Int
    /// The size of header, bitmap and fixed part in bytes, a multiple of 8.
    @usableFromInline package let fixedSize: Int
    /// The number of words after the header that are zero in an empty record.
    ///
    /// They are the bitmap, and the fixed part if the entity has external attributes. Even a null slot of such an
    /// attribute can contain the name of a backing file.
    package let clearedWords: Int
    @usableFromInline package let toOneCount: Int
    @usableFromInline package let toManyCount: Int

    /// The size of the header: primary key, version, entity index and size; see `RecordHeader`.
    package static let headerSize = 24

    @usableFromInline package init(properties: [Property]) {
        slotCount = properties.count
        slots = UnsafeMutablePointer.allocate(capacity: max(slotCount, 1))
        let kinds = properties.map(RecordLayout.kind)
        var offset = RecordLayout.headerSize + (slotCount + 63) / 64 * 8
        var offsets = [Int](repeating: 0, count: slotCount)
        for width in [24, 16, 8, 4, 2, 1] {
            for (slot, kind) in kinds.enumerated() where RecordLayout.width(kind) == width {
                offsets[slot] = offset
                offset += width
            }
        }
        fixedSize = (offset + 7) & ~7
        let isExternal = properties.contains { RecordLayout.role($0) == .external }
        clearedWords = isExternal ? (fixedSize - RecordLayout.headerSize) / 8 : (slotCount + 63) / 64
        var counts: [SlotRole: UInt16] = [:]
        for (slot, property) in properties.enumerated() {
            let role = RecordLayout.role(property)
            slots[slot] = SlotLayout(
                offset: UInt32(offsets[slot]), kind: kinds[slot], role: role, ordinal: counts[role, default: 0],
                conditions: RecordLayout.conditions(property))
            counts[role, default: 0] += 1
        }
        toOneCount = Int(counts[.toOne, default: 0])
        toManyCount = Int(counts[.toMany, default: 0])
    }

    private static func conditions(_ property: Property) -> SlotConditions {
        var conditions: SlotConditions = property.isOptional ? [] : [.required]
        if !property.validationRules.isEmpty { conditions.insert(.ruled) }
        if let attribute = property as? Attribute {
            // The save computes the value. Before the first save, it can only be a default, so validation rules do not
            // apply.
            if attribute.derivation != nil && !attribute.isTransient {
                conditions = attribute.isOptional ? [.derived] : [.derived, .required]
            }
            if attribute.allowsNaN { conditions.insert(.allowsNaN) }
            if attribute.type == .float { conditions.insert(.single) }
            if attribute.ignoresChanges { conditions.insert(.ignored) }
        } else if let relationship = property as? Relationship, relationship.isToMany {
            let isBounded = relationship.minimumCount > 0 || relationship.maximumCount > 0
            if isBounded || !relationship.isOptional { conditions.insert(.bounded) }
        }
        return conditions
    }

    private static func role(_ property: Property) -> SlotRole {
        if let relationship = property as? Relationship { return relationship.isToMany ? .toMany : .toOne }
        guard let attribute = property as? Attribute else { return property.isTransient ? .transient : .attribute }
        if attribute.type == .composite { return .composite }
        if attribute.isTransient { return .transient }
        return attribute.allowsExternalStorage ? .external : .attribute
    }

    func deallocate() { slots.deallocate() }

    private static func kind(_ property: Property) -> SlotKind {
        if property.isTransient { return .none }
        if let relationship = property as? Relationship { return relationship.isToMany ? .none : .toOne }
        guard let attribute = property as? Attribute else { return .none }
        switch attribute.type {
        case .undefined, .objectID, .composite: return .none
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
