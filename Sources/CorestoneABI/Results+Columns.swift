import CCorestone
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// The forms of a packed column; the numbers are those of the header.
private enum ColumnForm: UInt64 {
    case integers = 1, doubles, text, bytes, uuids, keys

    /// Creates the form of a property's column. Throws for a property without a column.
    init(_ key: UInt32, _ entity: Entity) throws {
        let slot = Int(key & (1 << Entity.slotBits - 1))
        guard slot < Int(entity.slotCount), entity.slotKeys[slot] == key else {
            throw CoreError(
                .invalidArgument,
                "\(key) is not the key of a property of \(entity.name); look it up with cst_entity_key for that entity",
                entity: entity.name, key: "keys", value: .int(Int64(key)))
        }
        switch entity.layout.slots[slot].kind {
        case .bool, .int16, .int32, .int64: self = .integers
        case .double, .date: self = .doubles
        case .text, .uri, .decimal: self = .text
        case .bytes: self = .bytes
        case .uuid: self = .uuids
        case .toOne: self = .keys
        case .none:
            throw ColumnForm.missing(entity.properties[slot], of: entity)
        }
    }

    private static func missing(_ property: Property, of entity: Entity) -> CoreError {
        let type = (property as? Attribute)?.type
        let reason =
            property.isTransient ? "transient" : type.map { "of type \($0.displayName)" } ?? "to-many"
        // The elements of a transient composite attribute are transient too.
        let remedy =
            type == .composite && !property.isTransient
            ? "request its elements" : "request stored attributes or to-one relationships"
        return CoreError(
            .typeMismatch, "\(entity.name).\(property.path) is \(reason) and does not have a column; \(remedy)",
            entity: entity.name, key: property.path)
    }
}

@_cdecl("cst_results_copy_columns") @implementation
public func cst_results_copy_columns(
    _ pointer: OpaquePointer?, _ first: Int, _ count: Int, _ columns: Int, _ keys: UnsafePointer<cst_key>?,
    _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_columns")
        let results = try objectsOnQueue(pointer)
        let keys = try array(keys, columns, "keys")
        let window = window(results, first, count) ?? 0..<0
        var packer = ColumnPacker(out)
        try packer.append(UInt64(window.count))
        try packer.append(UInt64(keys.count))
        let objects = try results.objects(window)
        for (place, object) in objects.enumerated() where try results.isMissing(object, row: window.lowerBound + place)
        {
            packer.missing.insert(place)
        }
        for key in keys { try packer.pack(key, objects, results.entity) }
        out.end(at: packer.size)
    }
}

/// A writer of columns into a buffer, one after the other. Every part begins at a multiple of 8 bytes.
private struct ColumnPacker {
    private let buffer: UnsafeMutablePointer<cst_buffer>
    private(set) var size = 0
    /// The indexes of objects that were deleted meanwhile.
    var missing: Set<Int> = []

    /// The remedy if memory for the buffer cannot be allocated.
    private static let remedy: StaticString = "copy fewer rows at a time, or free some memory"

    init(_ buffer: UnsafeMutablePointer<cst_buffer>) { self.buffer = buffer }

    mutating func append(_ word: UInt64) throws {
        let place = try room(8)
        place.storeBytes(of: word, as: UInt64.self)
    }

    /// Reserves `count` more bytes, rounded up to a multiple of 8.
    private mutating func room(_ count: Int) throws -> UnsafeMutableRawPointer {
        let needed = size + (count + 7) & ~7
        if needed >= buffer.pointee.capacity || buffer.pointee.data == nil {
            try buffer.reserve(max(needed, size * 2), remedy: ColumnPacker.remedy)
        }
        defer { size = needed }
        return bytes(at: size)
    }

    mutating func pack(_ key: UInt32, _ objects: ArraySlice<ManagedObject>, _ entity: Entity?) throws {
        // The form does not matter for an empty list without an entity.
        let form = try (objects.first?.entity ?? entity).map { try ColumnForm(key, $0) } ?? .integers
        try append(form.rawValue)
        // The position is kept as an offset, because the buffer may move when it grows.
        let nulls = size
        memset(try room(objects.count), 0, (objects.count + 7) & ~7)
        switch form {
        case .integers, .doubles: try packWords(key, objects, nulls)
        case .keys: try packKeys(key, objects, nulls)
        case .uuids: try packUUIDs(key, objects, nulls)
        case .text, .bytes: try packBytes(key, objects, nulls, isText: form == .text)
        }
    }

    /// Whether the object of a row was deleted. Marks such a row.
    private func isMissing(_ place: Int, _ nulls: Int) -> Bool {
        if missing.isEmpty || !missing.contains(place) { return false }
        bytes(at: nulls).storeBytes(of: 2, toByteOffset: place, as: UInt8.self)
        return true
    }

    private func bytes(at offset: Int) -> UnsafeMutableRawPointer {
        UnsafeMutableRawPointer(buffer.pointee.data.unsafelyUnwrapped) + offset
    }

    private mutating func packWords(_ key: UInt32, _ objects: ArraySlice<ManagedObject>, _ nulls: Int) throws {
        let words = try room(objects.count * 8)
        let isNull = bytes(at: nulls)
        for (place, object) in objects.enumerated() where !isMissing(place, nulls) {
            let view = try object.view(key: key)
            isNull.storeBytes(of: view.type == .null ? 1 : 0, toByteOffset: place, as: UInt8.self)
            words.storeBytes(of: view.low, toByteOffset: place * 8, as: UInt64.self)
        }
    }

    /// Packs the primary keys of to-one targets. For an unchanged row, the target object is usually not created.
    private mutating func packKeys(_ key: UInt32, _ objects: ArraySlice<ManagedObject>, _ nulls: Int) throws {
        let words = try room(objects.count * 8)
        let isNull = bytes(at: nulls)
        for (place, object) in objects.enumerated() where !isMissing(place, nulls) {
            let primaryKey = try targetKey(key, object)
            isNull.storeBytes(of: primaryKey == nil ? 1 : 0, toByteOffset: place, as: UInt8.self)
            words.storeBytes(of: primaryKey ?? 0, toByteOffset: place * 8, as: Int64.self)
        }
    }

    private func targetKey(_ key: UInt32, _ object: ManagedObject) throws -> Int64? {
        let slot = try object.slot(of: key)
        if let record = object.record, try !object.isChanged(key: key) {
            let target = Record(record).target(slot, object.entity.layout.slots[slot])?.primaryKey
            // A negative key is that of a temporary ID. The permanent key is then read from the target.
            if target ?? 0 >= 0 { return target }
        }
        let view = try object.view(key: key)
        guard let target = UnsafeRawPointer(bitPattern: UInt(view.low)) else { return nil }
        return Unmanaged<ManagedObject>.fromOpaque(target)._withUnsafeGuaranteedRef { $0.primaryKey }
    }

    private mutating func packUUIDs(_ key: UInt32, _ objects: ArraySlice<ManagedObject>, _ nulls: Int) throws {
        let values = try room(objects.count * 16)
        let isNull = bytes(at: nulls)
        for (place, object) in objects.enumerated() where !isMissing(place, nulls) {
            let view = try object.view(key: key)
            isNull.storeBytes(of: view.type == .null ? 1 : 0, toByteOffset: place, as: UInt8.self)
            values.storeBytes(of: view.low, toByteOffset: place * 16, as: UInt64.self)
            values.storeBytes(of: view.high, toByteOffset: place * 16 + 8, as: UInt64.self)
        }
    }

    /// Packs the total size, the offsets (in code points for text) and the bytes.
    private mutating func packBytes(
        _ key: UInt32, _ objects: ArraySlice<ManagedObject>, _ nulls: Int, isText: Bool
    ) throws {
        let total = size
        try append(0)
        let offsets = size
        _ = try room((objects.count + 1) * 8)
        let start = size
        var (used, offset) = (0, 0)
        for (place, object) in objects.enumerated() {
            bytes(at: offsets).storeBytes(of: UInt64(offset), toByteOffset: place * 8, as: UInt64.self)
            if isMissing(place, nulls) { continue }
            try object.withView(key: key) { view in
                if view.type == .null {
                    bytes(at: nulls).storeBytes(of: 1, toByteOffset: place, as: UInt8.self)
                } else if view.type == .decimal {
                    let text = Text(view.propertyValue.decimalText)
                    try add(text.utf8, at: start + used)
                    used += text.count
                    offset += text.count
                } else {
                    try add(view.bytes, at: start + used)
                    used += view.bytes.count
                    offset += isText ? codePoints(view.bytes) : view.bytes.count
                }
            }
        }
        bytes(at: offsets).storeBytes(of: UInt64(offset), toByteOffset: objects.count * 8, as: UInt64.self)
        bytes(at: total).storeBytes(of: UInt64(used), as: UInt64.self)
        size = start
        memset(try room(used) + used, 0, (used + 7) & ~7 - used)
    }

    /// Copies bytes to an offset after the used part, and grows the buffer if needed.
    private func add(_ source: UnsafeRawBufferPointer, at offset: Int) throws {
        if offset + source.count + 8 >= buffer.pointee.capacity {
            try buffer.reserve(
                max(offset + source.count + 64, buffer.pointee.capacity * 2), remedy: ColumnPacker.remedy)
        }
        if let base = source.baseAddress { memcpy(bytes(at: offset), base, source.count) }
    }
}

/// Returns the number of code points in UTF-8 text: all bytes except continuation bytes.
private func codePoints(_ bytes: UnsafeRawBufferPointer) -> Int {
    var (count, place) = (0, 0)
    while place + 8 <= bytes.count {
        let word = bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
        // The top bits of a continuation byte are 10.
        let continuing = (word >> 7) & ~(word >> 6) & 0x0101_0101_0101_0101
        count += 8 - continuing.nonzeroBitCount
        place += 8
    }
    while place < bytes.count {
        if bytes[place] & 0xC0 != 0x80 { count += 1 }
        place += 1
    }
    return count
}

extension PropertyValue {
    fileprivate var decimalText: String { if case .decimal(let number) = self { number.description } else { "" } }
}
