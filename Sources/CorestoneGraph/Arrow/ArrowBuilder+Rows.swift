import CorestoneModel
import CorestoneValues

// Appends values of saved rows from their records. Each type has its own loop, so that the type is checked once for all
// rows.
extension ArrowBuilder {
    /// Appends a value for each row, and null for each nil row.
    func append(_ rows: [Record?], _ source: ArrowRowSource) throws {
        try reserve(rows.count)
        var rows = rows
        for hop in field.hops { rows = try source.targets(of: rows, hop) }
        switch field.source {
        case .attribute(let slots): try append(rows, slots, source)
        case .identity:
            for row in rows {
                guard let row else {
                    appendNull()
                    continue
                }
                try source.append(key: row.primaryKey, entity: row.header.pointee.entity, to: self)
            }
        case .toOne(let slots):
            try append(rows, slots) { place in
                try source.append(
                    key: place.load(as: Int64.self), entity: (place + 8).load(as: UInt32.self), to: self)
            }
        case .toMany(let relationship): try append(rows, relationship, source)
        case .row:
            for child in children { try child.append(rows, source) }
            endRows(rows.count)
        case .composite:
            for child in children { try child.append(rows, source) }
            for _ in rows { appendStructure() }
        case .computed, .values: break
        }
    }

    @inline(__always)
    private func append(
        _ rows: [Record?], _ slots: ArrowSlots, _ body: (UnsafeMutableRawPointer) throws -> Void
    ) rethrows {
        for row in rows {
            if let row, let place = slots.place(row) { try body(place) } else { appendNull() }
        }
    }

    private func append(_ rows: [Record?], _ slots: ArrowSlots, _ source: ArrowRowSource) throws {
        switch field.type {
        case .bool: append(rows, slots) { append($0.load(as: UInt8.self) != 0) }
        case .int16: append(rows, slots) { appendFixed($0.load(as: Int16.self)) }
        case .int32: append(rows, slots) { appendFixed($0.load(as: Int32.self)) }
        case .int64, .double: append(rows, slots) { appendFixed($0.load(as: Int64.self)) }
        case .float: append(rows, slots) { appendFixed(Float($0.load(as: Double.self))) }
        case .date: append(rows, slots) { appendDate($0.load(as: Double.self)) }
        case .uuid: append(rows, slots) { appendFixed($0.loadUnaligned(as: UInt128.self)) }
        case .decimal: append(rows, slots) { append(ArrowBuilder.decimal($0)) }
        case .text where (slots.property as? Attribute)?.type == .decimal:
            try append(rows, slots) { try append(ArrowBuilder.decimal($0).description) }
        case .text: try appendBytes(rows, slots)
        case .bytes:
            if field.isLarge { try appendFiles(rows, slots, source) } else { try appendBytes(rows, slots) }
        case .null, .structure, .list: break
        }
    }

    private static func decimal(_ place: UnsafeMutableRawPointer) -> DecimalNumber {
        DecimalNumber(
            words: (place.load(as: UInt64.self), (place + 8).load(as: UInt64.self)),
            aux: (place + 16).load(as: UInt32.self))
    }

    private func appendBytes(_ rows: [Record?], _ slots: ArrowSlots) throws {
        for row in rows {
            if let row, let place = slots.place(row) {
                try append(row.bytes(at: place))
            } else {
                appendNull()
            }
        }
    }

    /// Appends binary data, which may be stored in backing files.
    private func appendFiles(_ rows: [Record?], _ slots: ArrowSlots, _ source: ArrowRowSource) throws {
        for row in rows {
            guard let row else {
                appendNull()
                continue
            }
            let entity = source.entity(row)
            if let place = slots.place(row) {
                try append(row.bytes(at: place))
            } else if let slot = slots.slot(entity), let name = row.fileName(slot, entity.layout.slots[slot]) {
                let bytes = try source.file(name, field, row)
                try withExtendedLifetime(bytes) { try append(bytes.rawBytes) }
            } else {
                appendNull()
            }
        }
    }

    private func append(_ rows: [Record?], _ relationship: Relationship, _ source: ArrowRowSource) throws {
        let members = try source.members(of: relationship, rows)
        let items = children[0]
        for row in rows {
            guard let row, source.entity(row).isKind(of: relationship.entity) else {
                appendNull()
                continue
            }
            let found = members[row.primaryKey] ?? []
            try items.reserve(found.count)
            for member in found { try source.append(key: member.primaryKey, entity: member.entity, to: items) }
            try endValue(at: items.count)
        }
    }
}

extension Record {
    /// Returns the text or bytes whose offset and count are stored at `place`.
    @inline(__always)
    fileprivate func bytes(at place: UnsafeMutableRawPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(
            start: start + Int(place.load(as: UInt32.self)), count: Int((place + 4).load(as: UInt32.self)))
    }
}
