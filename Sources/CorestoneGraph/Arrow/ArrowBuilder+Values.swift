import CorestoneModel
import CorestonePredicate
import CorestoneValues

// Appends single values: the current values of objects, including unsaved changes, and property values.
extension ArrowBuilder {
    /// Appends the object's value, or null for a nil object.
    func append(_ object: ManagedObject?) throws {
        try reserve(1)
        var object = object
        for hop in field.hops { object = try object?.target(hop) }
        guard let object else {
            guard case .row = field.source else { return try appendNothing() }
            for child in children { try child.appendNothing() }
            return endRows(1)
        }
        switch field.source {
        case .row:
            for child in children { try child.append(object) }
            endRows(1)
        case .identity: try append(object.objectID)
        case .attribute(let slots):
            guard let slot = slots.slot(object.entity) else { return appendNull() }
            try object.withView(key: object.entity.slotKeys[slot]) { try append($0) }
        case .toOne(let slots):
            if let target = try object.target(slots) { try append(target.objectID) } else { appendNull() }
        case .toMany(let relationship):
            guard object.entity.isKind(of: relationship.entity) else { return appendNull() }
            for member in try object.members(key: relationship.key) { try children[0].append(member) }
            try endValue(at: children[0].count)
        case .composite:
            for child in children { try child.append(object) }
            appendStructure()
        case .computed(let column, _): try append(column.expression.value(with: .object(object)))
        case .values: break
        }
    }

    /// Appends an object as its URI or its primary key, depending on the type of the field.
    private func append(_ id: ObjectID) throws {
        if field.type == .int64 { appendFixed(id.reference) } else { try append(id.uri) }
    }

    private func append(_ view: ValueView) throws {
        switch (field.type, view.type) {
        case (_, .null): appendNull()
        case (.bool, _): append(view.low != 0)
        case (.int16, _): appendFixed(Int16(truncatingIfNeeded: view.integer))
        case (.int32, _): appendFixed(Int32(truncatingIfNeeded: view.integer))
        case (.int64, _), (.double, _): appendFixed(view.low)
        case (.float, _): appendFixed(Float(view.double))
        case (.date, _): appendDate(view.double)
        case (.uuid, _): appendFixed(UInt128(view.high) << 64 | UInt128(view.low))
        case (.decimal, _): append(DecimalNumber(words: (view.low, view.high), aux: view.aux))
        case (.text, .decimal): try append(DecimalNumber(words: (view.low, view.high), aux: view.aux).description)
        // An integer in a column of decimals that are exported as text.
        case (.text, .int): try append(String(view.integer))
        case (.text, _), (.bytes, _): try append(view.bytes)
        case (.null, _), (.structure, _), (.list, _): appendNull()
        }
    }

    /// Appends a value whose type can be converted to that of the field.
    func append(_ value: PropertyValue) throws {
        try reserve(1)
        let value = try field.computed?.typed(value) ?? value
        switch (field.type, value) {
        case (_, .null): try appendNothing()
        case (.text, .object(let object)), (.int64, .object(let object)), (.bytes, .object(let object)):
            guard let id = object.asObjectID else { throw unsupportedColumnError(value) }
            try append(id)
        case (.list, .array(let members)):
            for member in members { try children[0].append(member) }
            try endValue(at: children[0].count)
        case (.list, .set(let members)): try append(.array(Array(members)))
        case (.structure, .dictionary(let entries)):
            for child in children { try child.append(entries[child.field.name] ?? .null) }
            appendStructure()
        case (.double, .int), (.double, .decimal), (.double, .bool): appendFixed(value.number ?? .nan)
        case (.decimal, .int(let number)): append(DecimalNumber(number))
        default: try withExtendedLifetime(value) { try append(ValueView(value)) }
        }
    }
}

extension ArrowBuilder {
    /// Creates the error for an object of a transformable attribute, for which Arrow does not have a type.
    private func unsupportedColumnError(_ value: PropertyValue) -> CoreError {
        CoreError(
            .typeMismatch,
            "the column \"\(title)\" has \(value.kind), which does not have an Arrow type; leave the column out",
            entity: field.property?.entity.name, key: title, value: value)
    }
}

extension ManagedObject {
    /// Returns the target of a to-one relationship.
    ///
    /// Returns nil if the relationship is null, or if the object's entity does not have it.
    fileprivate func target(_ slots: ArrowSlots) throws -> ManagedObject? {
        guard let slot = slots.slot(entity) else { return nil }
        let view = try view(key: entity.slotKeys[slot])
        return UnsafeRawPointer(bitPattern: UInt(view.low)).map {
            Unmanaged<ManagedObject>.fromOpaque($0).takeUnretainedValue()
        }
    }
}

extension ValueObject {
    /// The ID, if this is a managed object or a reference to one.
    fileprivate var asObjectID: ObjectID? {
        (original as? ManagedObject)?.objectID ?? (self as? ObjectIDReference)?.id
    }
}
