import CCorestone
import CorestoneGraph
import CorestoneModel
import CorestoneValues

extension cst_value {
    var isDefault: Bool { type == CST_DEFAULT }
}

extension BatchRows {
    /// Fills a row. For each slot, `put` sets a value and returns true, or returns false to use the default.
    func put(_ slots: [Int], _ put: (_ place: Int, _ slot: Int) throws -> Bool) throws {
        clear()
        var left: [Int] = []
        for (place, slot) in slots.enumerated() where try !put(place, slot) { left.append(slot) }
        setSlots(slots, defaulting: left)
    }

    /// Sets which slots have a value in the row; `left` are the slots that use their default.
    @inline(__always)
    func setSlots(_ slots: [Int], defaulting left: [Int]) {
        given = .slots(left.isEmpty ? slots : slots.filter { !left.contains($0) })
    }

    /// Sets a slot to a value of the host. The value must stay valid until the next row.
    @inline(__always)
    func set(_ value: cst_value, slot: Int) throws {
        switch Int(value.type) {
        case CST_STRING: try set(value.as.string, slot: slot)
        case CST_INT: try set(ValueView(.int, UInt64(bitPattern: value.as.integer)), slot: slot)
        case CST_DOUBLE: try set(ValueView(.double, value.as.real.bitPattern), slot: slot)
        case CST_DATE: try set(ValueView(.date, value.as.date.bitPattern), slot: slot)
        default: try set(try reading(slot) { try hostValue(value) }, slot: slot)
        }
    }

    @inline(__always)
    func set(_ string: cst_string, slot: Int) throws {
        guard let bytes = try reading(slot, { try string.utf8("the string") }) else {
            return try set(.null as ValueView, slot: slot)
        }
        try set(ValueView(.string, UInt64(UInt(bitPattern: bytes.baseAddress)), UInt64(bytes.count)), slot: slot)
    }

    /// Reads a value of the host. An error names the row and the property.
    @inline(__always)
    private func reading<Result>(_ slot: Int, _ body: () throws -> Result) throws -> Result {
        do { return try body() } catch { throw located(error, slot) }
    }

    @inline(never)
    private func located(_ error: any Error, _ slot: Int) -> any Error {
        (error as? CoreError)?.named(entity.name, entity.properties[slot].path).inRow(number + 1) ?? error
    }
}

/// A column that the host passes, and the slot of its attribute.
struct BatchColumn: @unchecked Sendable {
    private enum Form: UInt32 {
        case int64 = 1, int32, double, string, bytes, uuid, value
    }

    private let form: Form
    let slot: Int
    private let values: UnsafeRawPointer
    private let present: UnsafePointer<UInt8>?
    private let kind: SlotKind

    init(_ column: cst_batch_column, _ entity: Entity, slot: Int, rows: Int) throws {
        guard let form = Form(rawValue: column.form) else {
            throw BatchColumn.refused(
                entity, slot, "\(column.form) is not a column form; use a CST_COLUMN_ constant",
                value: .int(Int64(column.form)))
        }
        guard let values = column.values ?? (rows == 0 ? UnsafeRawPointer(bitPattern: 8) : nil) else {
            throw BatchColumn.refused(entity, slot, "columns.values is NULL; point it to a value for each row")
        }
        (self.form, self.slot, self.values, present) = (form, slot, values, column.present)
        kind = entity.layout.slots[slot].kind
    }

    private static func refused(
        _ entity: Entity, _ slot: Int, _ complaint: String, value: PropertyValue? = nil
    ) -> CoreError {
        let key = entity.properties[slot].path
        return CoreError(
            .invalidArgument, "\(entity.name).\(key): \(complaint)", entity: entity.name, key: key, value: value)
    }

    /// Sets the column's value in a row. Returns false if the row uses the default.
    @inline(__always)
    func put(_ row: Int, into rows: BatchRows) throws -> Bool {
        if let present, present[row] == 0 {
            try rows.set(.null as ValueView, slot: slot)
            return true
        }
        switch form {
        case .int64:
            let number = values.loadUnaligned(fromByteOffset: row * 8, as: UInt64.self)
            try rows.set(ValueView(kind == .bool && number <= 1 ? .bool : .int, number), slot: slot)
        case .int32:
            let number = Int64(values.loadUnaligned(fromByteOffset: row * 4, as: Int32.self))
            try rows.set(ValueView(.int, UInt64(bitPattern: number)), slot: slot)
        case .double:
            let bits = values.loadUnaligned(fromByteOffset: row * 8, as: UInt64.self)
            try rows.set(ValueView(kind == .date ? .date : .double, bits), slot: slot)
        case .string: try rows.set(values.assumingMemoryBound(to: cst_string.self)[row], slot: slot)
        case .uuid:
            let (low, high) = values.loadUnaligned(fromByteOffset: row * 16, as: (UInt64, UInt64).self)
            try rows.set(ValueView(.uuid, low, high), slot: slot)
        case .bytes:
            var value = cst_value()
            value.type = cst_type(CST_BYTES)
            value.as.bytes = values.assumingMemoryBound(to: cst_bytes.self)[row]
            try rows.set(value, slot: slot)
        case .value:
            let value = values.assumingMemoryBound(to: cst_value.self)[row]
            if value.isDefault {
                rows.setDefault(slot: slot)
                return false
            }
            try rows.set(value, slot: slot)
        }
        return true
    }
}

/// The rows of a batch insert, which the host's callback fills block by block.
final class BatchBlock {
    private let handler: HostCallback<cst_batch_rows_fn>
    private let entity: String
    private let columns: Int
    private let values: UnsafeMutablePointer<cst_value>
    private var count = 0
    private var next = 0

    /// The maximum number of rows that the host fills in one call.
    private static let capacity = 256

    init(_ handler: HostCallback<cst_batch_rows_fn>, of entity: String, columns: Int) {
        (self.handler, self.entity, self.columns) = (handler, entity, columns)
        values = .allocate(capacity: max(columns, 1) * BatchBlock.capacity)
    }

    deinit { values.deallocate() }

    /// The number of filled rows that were not used yet.
    var left: Int { count - next }

    /// Returns the next row, or nil after the last one.
    func nextRow() throws -> UnsafeMutablePointer<cst_value>? {
        if next == count { try fill() }
        guard next < count else { return nil }
        defer { next += 1 }
        return values + next * columns
    }

    private func fill() throws {
        var empty = cst_value()
        empty.type = cst_type(CST_DEFAULT)
        values.initialize(repeating: empty, count: columns * BatchBlock.capacity)
        (next, count) = (0, 0)
        var filled = 0
        try callHost("the handler of the batch insert of \(entity)", entity: entity) {
            handler.function(handler.userdata, BatchBlock.capacity, values, &filled, $0)
        }
        guard 0...BatchBlock.capacity ~= filled else {
            throw CoreError(
                .invalidArgument,
                "the handler of the batch insert of \(entity) reported \(UInt(bitPattern: filled)) filled rows, but "
                    + "the capacity was \(BatchBlock.capacity); set out_rows to at most \(BatchBlock.capacity), and "
                    + "fill further rows in the next call", entity: entity, key: "out_rows", value: sizeValue(filled))
        }
        count = filled
    }
}
