import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// A reader that copies rows from a statement into records.
struct RowReader {
    var cursor: RecordCursor

    /// Returns the record of the statement's row; nil for an entity that is not in the plan, or a key below 1.
    ///
    /// The primary key of the row is in column `leading`.
    @inline(__always)
    mutating func read(_ row: OpaquePointer, _ plan: RowPlan, leading: Int32 = 0) throws -> Record? {
        var place = plan.fallback
        if plan.hasEntityColumn {
            let number = sqlite3_column_int64(row, leading + 2)
            if number >= 0 && number < plan.numberLimit { place = plan.placeOfNumber[Int(number)] }
        }
        let key = sqlite3_column_int64(row, leading)
        // Keys start at 1; only a damaged file has lower ones.
        guard place >= 0, key > 0 else { return nil }
        let steps = plan.entities + Int(place)
        cursor.begin(primaryKey: key, version: sqlite3_column_int(row, leading + 1), steps.pointee)
        var step = steps.pointee.steps
        let last = step + steps.pointee.count
        while step < last {
            try read(row, step.pointee, plan)
            step += 1
        }
        return cursor.finish()
    }

    /// Reads one value.
    ///
    /// A value of another storage class is converted by SQLite's rules. A value is read as null and recorded if it is
    /// not a required number, decimal or UUID, or is outside the range of a 16-bit or 32-bit integer. A plausible wrong
    /// value would be worse. `StoreCheck` lists such rows.
    @inline(__always)
    private mutating func read(_ row: OpaquePointer, _ step: ColumnStep, _ plan: RowPlan) throws {
        let column = step.column
        switch step.kind {
        case .int16:
            let value = sqlite3_column_int64(row, column)
            if value == 0 && isNotANumber(row, step, plan) { return }
            guard let value = Int16(exactly: value) else { return noteMisfit(step, plan) }
            cursor.place(step).storeBytes(of: value, as: Int16.self)
        case .int32:
            let value = sqlite3_column_int64(row, column)
            if value == 0 && isNotANumber(row, step, plan) { return }
            guard let value = Int32(exactly: value) else { return noteMisfit(step, plan) }
            cursor.place(step).storeBytes(of: value, as: Int32.self)
        case .int64:
            let value = sqlite3_column_int64(row, column)
            if value == 0 && isNotANumber(row, step, plan) { return }
            cursor.place(step).storeBytes(of: value, as: Int64.self)
        case .bool:
            let value = sqlite3_column_int64(row, column)
            if value == 0 && isNotANumber(row, step, plan) { return }
            cursor.place(step).storeBytes(of: value != 0 ? 1 : 0, as: UInt8.self)
        case .real:
            let value = sqlite3_column_double(row, column)
            if value == 0 && isNotANumber(row, step, plan) { return }
            cursor.place(step).storeBytes(of: value, as: Double.self)
        case .toOne:
            let target = sqlite3_column_int64(row, column)
            if target <= 0 { return }
            var entity = step.target
            if step.entityColumn >= 0 {
                let number = sqlite3_column_int64(row, step.entityColumn)
                if number > 0 && number < plan.numberLimit {
                    let found = plan.entityOfNumber[Int(number)]
                    if found.root == step.targetRoot { entity = found.index }
                }
            }
            let place = cursor.place(step)
            place.storeBytes(of: target, as: Int64.self)
            (place + 8).storeBytes(of: entity, as: UInt32.self)
        case .text:
            guard let text = sqlite3_column_text(row, column) else { return try checkNull(row, column, plan) }
            let count = Int(sqlite3_column_bytes(row, column))
            if !isASCII(text, count) { return try readText(text, count, step, plan) }
            guard let target = cursor.takeBytes(count, step) else { throw tooLarge(plan) }
            memcpy(target, text, count)
            return
        case .bytes, .external, .uuid, .decimal:
            return try readRare(row, step, plan)
        }
        cursor.mark(step.slot)
    }

    /// Whether SQLite converted null, binary data or text that is not a number to 0.
    @inline(__always)
    private func isNotANumber(_ row: OpaquePointer, _ step: ColumnStep, _ plan: RowPlan) -> Bool {
        let type = sqlite3_column_type(row, step.column)
        return type == SQLITE_NULL || type > SQLITE_FLOAT && isMisfit(row, step, plan)
    }

    /// Whether text or binary data that SQLite converts to 0 is not a number. Records such a value.
    @inline(never)
    private func isMisfit(_ row: OpaquePointer, _ step: ColumnStep, _ plan: RowPlan) -> Bool {
        if sqlite3_column_type(row, step.column) == SQLITE_TEXT, let text = sqlite3_column_text(row, step.column),
            RowReader.mayBeZero(text)
        {
            return false
        }
        noteMisfit(step, plan)
        return true
    }

    /// Whether a text that SQLite converts to 0 is a number, as far as its first character shows.
    static func mayBeZero(_ text: UnsafePointer<UInt8>) -> Bool { "0123456789+-. ".utf8.contains(text[0]) }

    @inline(never)
    private func noteMisfit(_ step: ColumnStep, _ plan: RowPlan) {
        plan.misfits.note(entity: Record(cursor.start).header.pointee.entity, slot: step.slot)
    }

    @inline(never)
    private mutating func readRare(_ row: OpaquePointer, _ step: ColumnStep, _ plan: RowPlan) throws {
        let type = sqlite3_column_type(row, step.column)
        if type == SQLITE_NULL { return }
        switch step.kind {
        case .uuid: if !readUUID(row, step, isText: type == SQLITE_TEXT) { noteMisfit(step, plan) }
        case .decimal: if !readDecimal(row, step) { noteMisfit(step, plan) }
        default:
            let bytes = sqlite3_column_blob(row, step.column)
            let count = Int(sqlite3_column_bytes(row, step.column))
            let buffer = UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count)
            if step.kind == .external { return try readExternal(buffer, step, plan) }
            try copy(buffer, step, plan)
        }
    }

    private mutating func copy(_ bytes: UnsafeRawBufferPointer, _ step: ColumnStep, _ plan: RowPlan) throws {
        guard let target = cursor.takeBytes(bytes.count, step) else { throw tooLarge(plan) }
        if let start = bytes.baseAddress { memcpy(target, start, bytes.count) }
    }

    /// Copies text with non-ASCII characters. Invalid UTF-8 is replaced by U+FFFD.
    @inline(never)
    private mutating func readText(
        _ text: UnsafePointer<UInt8>, _ count: Int, _ step: ColumnStep, _ plan: RowPlan
    ) throws {
        let buffer = UnsafeBufferPointer(start: text, count: count)
        if isUTF8(text, count) { return try copy(UnsafeRawBufferPointer(buffer), step, plan) }
        var repaired = String(decoding: buffer, as: UTF8.self)
        try repaired.withUTF8 { try copy(UnsafeRawBufferPointer($0), step, plan) }
    }

    /// Reads a UUID. Returns false for an invalid one.
    private func readUUID(_ row: OpaquePointer, _ step: ColumnStep, isText: Bool) -> Bool {
        if isText {
            guard let text = sqlite3_column_text(row, step.column), let uuid = UUIDValue(String(cString: text)) else {
                return false
            }
            let place = cursor.place(step)
            place.storeBytes(of: uuid.high.bigEndian, as: UInt64.self)
            (place + 8).storeBytes(of: uuid.low.bigEndian, as: UInt64.self)
        } else {
            guard let bytes = sqlite3_column_blob(row, step.column), sqlite3_column_bytes(row, step.column) == 16 else {
                return false
            }
            memcpy(cursor.place(step), bytes, 16)
        }
        cursor.mark(step.slot)
        return true
    }

    /// Reads a decimal. Returns false for an invalid one.
    private func readDecimal(_ row: OpaquePointer, _ step: ColumnStep) -> Bool {
        guard let decimal = DecimalNumber(column: step.column, of: row) else { return false }
        let place = cursor.place(step)
        let words = decimal.words
        place.storeBytes(of: words.0, as: UInt64.self)
        (place + 8).storeBytes(of: words.1, as: UInt64.self)
        (place + 16).storeBytes(of: decimal.aux, as: UInt32.self)
        cursor.mark(step.slot)
        return true
    }

    /// Copies binary data, or the name of its backing file, depending on the first byte.
    ///
    /// The backing file is read at the first access to the value.
    private mutating func readExternal(_ bytes: UnsafeRawBufferPointer, _ step: ColumnStep, _ plan: RowPlan) throws {
        switch bytes.first {
        case ExternalFile.inlineMark: try copy(UnsafeRawBufferPointer(rebasing: bytes.dropFirst()), step, plan)
        case ExternalFile.fileMark:
            guard cursor.note(fileName: ExternalFile.name(in: bytes) ?? "", step) else { throw tooLarge(plan) }
        default: try copy(bytes, step, plan)
        }
    }

    /// Throws if SQLite returned no text because it was out of memory, not because the value is NULL.
    @inline(never)
    private func checkNull(_ row: OpaquePointer, _ column: Int32, _ plan: RowPlan) throws {
        if sqlite3_column_type(row, column) != SQLITE_NULL {
            throw CoreError(
                .noMemory, code: .sqlite,
                "out of memory: cannot read a row of \(plan.table.root.name); free some memory, or fetch fewer rows at "
                    + "a time",
                entity: plan.table.root.name, sqliteCode: SQLITE_NOMEM, file: plan.path)
        }
    }

    @inline(never)
    private func tooLarge(_ plan: RowPlan) -> CoreError {
        CoreError(
            .noMemory, code: .sqlite,
            "cannot read a row of \(plan.table.root.name): its values exceed 4 GB; fetch fewer properties",
            entity: plan.table.root.name, sqliteCode: SQLITE_TOOBIG, file: plan.path)
    }
}
