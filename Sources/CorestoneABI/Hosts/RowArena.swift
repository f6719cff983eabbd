import CCorestone
import CorestoneGraph
import CorestoneCustomStores
import CorestoneModel
import CorestoneValues

/// The memory of the arguments of a callback: rows, values and lists. They are valid as long as the arena.
final class RowArena {
    private var blocks: [UnsafeMutableRawPointer] = []

    deinit { for block in blocks { block.deallocate() } }

    /// Returns a copy of the list, or NULL if it is empty.
    func list<Element>(_ elements: [Element]) -> UnsafePointer<Element>? {
        if elements.isEmpty { return nil }
        let copy = UnsafeMutablePointer<Element>.allocate(capacity: elements.count)
        copy.initialize(from: elements, count: elements.count)
        blocks.append(UnsafeMutableRawPointer(copy))
        return UnsafePointer(copy)
    }

    private func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeMutableRawPointer {
        let copy = UnsafeMutableRawPointer.allocate(byteCount: bytes.count + 1, alignment: 8)
        if let base = bytes.baseAddress { copy.copyMemory(from: base, byteCount: bytes.count) }
        copy.storeBytes(of: 0, toByteOffset: bytes.count, as: UInt8.self)
        blocks.append(copy)
        return copy
    }

    func string(_ text: String?) -> cst_string {
        guard var text else { return .null }
        return text.withUTF8 { bytes in
            cst_string(
                data: UnsafeRawPointer(copy(UnsafeRawBufferPointer(bytes))).assumingMemoryBound(to: CChar.self),
                size: bytes.count)
        }
    }

    func bytes(_ bytes: [UInt8]) -> cst_bytes {
        bytes.withUnsafeBytes {
            cst_bytes(data: UnsafeRawPointer(copy($0)).assumingMemoryBound(to: UInt8.self), size: bytes.count)
        }
    }

    func reference(_ reference: StoreReference) -> cst_value {
        var value = cst_value()
        switch reference {
        case .integer(let number):
            value.type = cst_type(CST_INT)
            value.as.integer = number
        case .text(let text):
            value.type = cst_type(CST_STRING)
            value.as.string = string(text)
        case .bytes(let bytes):
            value.type = cst_type(CST_BYTES)
            value.as.bytes = self.bytes(bytes)
        }
        return value
    }

    /// Returns a copy of a value, whose text or bytes are in the arena.
    func value(_ value: PropertyValue) -> cst_value {
        var out = cst_value()
        switch value {
        case .text(let text):
            put(ValueView(value), &out)
            out.as.string = string(text.string)
        case .uri(let text):
            put(ValueView(value), &out)
            out.as.string = string(text.string)
        case .bytes(let bytes):
            put(ValueView(value), &out)
            out.as.bytes = self.bytes(bytes.array)
        default: put(ValueView(value), &out)
        }
        return out
    }

    /// Returns a row with entity, reference and version only.
    func row(_ row: RowReference, version: Int32 = 0) throws -> cst_row {
        var out = cst_row()
        out.entity = try borrowedHandle(row.entity)
        out.reference = reference(row.reference)
        out.version = Int64(version)
        return out
    }

    func rows(_ rows: [RowReference]) throws -> UnsafePointer<cst_row>? { list(try rows.map { try row($0) }) }

    /// Returns a row with its values. The record must stay valid as long as the row is used.
    ///
    /// - Parameter members: The members of to-many relationships, each as a list of references.
    func row(
        _ record: Record, _ entity: Entity, _ changes: HostChanges,
        _ members: [(relationship: Relationship, rows: [RowReference])]
    ) throws -> cst_row {
        var out = try row(record, entity, changes, nulls: false)
        var keys = Array(UnsafeBufferPointer(start: out.keys, count: out.count))
        var values = Array(UnsafeBufferPointer(start: out.values, count: out.count))
        let targets = Array(UnsafeBufferPointer(start: out.targets, count: out.count))
        for (relationship, rows) in members {
            var list = cst_value()
            list.type = cst_type(CST_ARRAY)
            list.as.values = cst_values(data: self.list(rows.map { reference($0.reference) }), size: rows.count)
            keys.append(relationship.key)
            values.append(list)
        }
        set(&out, keys, values, targets + members.map { _ in nil })
        return out
    }

    /// Returns a row with its values. The record must stay valid as long as the row is used.
    ///
    /// - Parameter nulls: Whether null attributes are listed. Null to-one relationships are always listed, so that they
    ///   are not requested later.
    func row(_ record: Record, _ entity: Entity, _ changes: HostChanges, nulls: Bool) throws -> cst_row {
        var out = try row(changes.row(of: record, entity), version: record.version)
        var (keys, values, targets): ([cst_key], [cst_value], [OpaquePointer?]) = ([], [], [])
        try changes.forEachValue(record, entity) { slot, view, target in
            var value = cst_value()
            if let target { value = reference(target.reference) } else { put(view, &value) }
            if value.type == CST_NULL, !nulls, entity.layout.slots[slot].kind != .toOne { return }
            keys.append(entity.slotKeys[slot])
            values.append(value)
            targets.append(try target.map { try borrowedHandle($0.entity) } ?? nil)
        }
        set(&out, keys, values, targets)
        return out
    }

    func set(_ row: inout cst_row, _ keys: [cst_key], _ values: [cst_value], _ targets: [OpaquePointer?]) {
        row.count = keys.count
        row.keys = list(keys)
        row.values = list(values)
        row.targets = list(targets)
    }

    /// Returns a new row with its attributes that are not null.
    func row(_ new: NewRow) throws -> cst_row {
        var out = cst_row()
        out.entity = try borrowedHandle(new.entity)
        var (keys, values): ([cst_key], [cst_value]) = ([], [])
        for slot in 0..<Int(new.entity.slotCount) {
            let layout = new.entity.layout.slots[slot]
            guard layout.role == .attribute || layout.role == .external, layout.kind != .none else { continue }
            let value = new.value(slot)
            if value.isNull { continue }
            keys.append(new.entity.slotKeys[slot])
            values.append(self.value(value))
        }
        set(&out, keys, values, keys.map { _ in nil })
        return out
    }

    func change(_ change: MemberChange) throws -> cst_member_change {
        var out = cst_member_change()
        out.owner = try row(change.owner)
        out.relationship = change.relationship.key
        out.is_ordered = change.members != nil
        out.added_count = change.added.count
        out.added = try rows(change.added)
        out.removed_count = change.removed.count
        out.removed = try rows(change.removed)
        out.member_count = change.members?.count ?? 0
        out.members = try rows(change.members ?? [])
        return out
    }
}
