import CPlatform
import CorestoneModel
import CorestoneValues
import Glibc

/// One column of a record batch under construction, or the batch itself, whose children are the columns.
final class ArrowBuilder {
    let field: ArrowField
    let children: [ArrowBuilder]
    /// The name of the column, for messages; for an element of a composite attribute with the name of the element.
    let title: String
    /// The property of the column; nil for a column without a property.
    private let property: Property?
    private(set) var count = 0
    private(set) var nullCount = 0
    /// The values, for booleans as bits. Decimals are mantissas until the batch is finished.
    private(set) var values = ArrowMemory()
    /// Signs and exponents of decimals until the batch is finished.
    private var signs = ArrowMemory()
    private var validity = ArrowMemory()
    private var offsets = ArrowMemory()
    /// The used bytes of `values`, for text and bytes.
    private(set) var used = 0
    private var capacity = 0
    /// Whether the offsets have 64 bits.
    private var isLarge: Bool

    /// The largest 32-bit offset, in bytes or in list members. A variable, so that tests can lower it.
    nonisolated(unsafe) package static var largestOffset = Int(Int32.max)

    convenience init(_ field: ArrowField) { self.init(field, title: field.name, nil) }

    private init(_ field: ArrowField, title: String, _ owner: Property?) {
        let property = field.property ?? owner
        (self.field, self.title, self.property) = (field, title, property)
        isLarge = field.isLarge
        children = field.children.map { child in
            switch field.source {
            case .row: ArrowBuilder(child)
            case .composite: ArrowBuilder(child, title: "\(title).\(child.name)", property)
            // The items of a list.
            default: ArrowBuilder(child, title: title, property)
            }
        }
    }

    deinit {
        values.release()
        signs.release()
        validity.release()
        offsets.release()
    }

    /// The approximate size of the column in bytes.
    var size: Int { used + count * (field.type.width + 4) + children.reduce(0) { $0 + $1.size } }

    // MARK: Appending

    /// Reserves capacity for `more` values.
    @inline(__always)
    func reserve(_ more: Int) throws { if count + more > capacity || capacity == 0 { try grow(count + more) } }

    @inline(never)
    private func grow(_ needed: Int) throws {
        let newCapacity = max(needed, capacity * 2, 64)
        let bits = (count + 7) / 8
        try validity.reserve((newCapacity + 7) / 8, keeping: bits)
        memset(validity.start! + bits, 0xFF, validity.capacity - bits)
        let width = field.type.width
        if width > 0 { try values.reserve(newCapacity * width, keeping: count * width) }
        if field.type == .bool {
            try values.reserve((newCapacity + 7) / 8, keeping: bits)
            memset(values.start! + bits, 0, values.capacity - bits)
        }
        if case .decimal = field.type { try signs.reserve(newCapacity * 4, keeping: count * 4) }
        if field.type.hasOffsets {
            let size = offsetSize
            try offsets.reserve((newCapacity + 1) * size, keeping: (count + 1) * size)
            if count == 0 { memset(offsets.start!, 0, size) }
        }
        capacity = newCapacity
    }

    @inline(__always)
    func setNull(_ index: Int) {
        let byte = validity.start! + index >> 3
        byte.storeBytes(of: byte.load(as: UInt8.self) & ~(1 << UInt8(index & 7)), as: UInt8.self)
        nullCount += 1
    }

    func isNull(_ index: Int) -> Bool {
        (validity.start! + index >> 3).load(as: UInt8.self) >> UInt8(index & 7) & 1 == 0
    }

    /// Appends a value of a fixed size. The caller must have reserved capacity (`reserve`).
    @inline(__always)
    func appendFixed<Value>(_ value: Value) {
        values.start!.storeBytes(of: value, toByteOffset: count * MemoryLayout<Value>.size, as: Value.self)
        count += 1
    }

    @inline(__always)
    func append(_ flag: Bool) {
        if flag {
            let byte = values.start! + count >> 3
            byte.storeBytes(of: byte.load(as: UInt8.self) | 1 << UInt8(count & 7), as: UInt8.self)
        }
        count += 1
    }

    /// Appends a date in seconds since 2001-01-01 UTC.
    ///
    /// A date that does not fit into 64 bits of microseconds becomes null, because a clamped date would look valid.
    @inline(__always)
    func appendDate(_ seconds: Double) {
        // Rounds like Python's timedelta: whole seconds are exact, and the fraction is rounded to the nearest
        // microsecond.
        guard abs(seconds) < 9_222_000_000_000 else { return appendNull() }
        let whole = Int64(seconds)
        let rest = ((seconds - Double(whole)) * 1e6).rounded(.toNearestOrEven)
        appendFixed((whole + 978_307_200) * 1_000_000 + Int64(rest))
    }

    func append(_ decimal: DecimalNumber) {
        if !field.isTypeFinal { field.decimals.include(decimal) }
        signs.start!.storeBytes(of: decimal.aux, toByteOffset: count * 4, as: UInt32.self)
        appendFixed(decimal.mantissa)
    }

    @inline(__always)
    func append(_ bytes: UnsafeRawBufferPointer) throws {
        let end = used + bytes.count
        try values.reserve(end, keeping: used)
        if let start = bytes.baseAddress { memcpy(values.start! + used, start, bytes.count) }
        used = end
        try endValue(at: end)
    }

    func append(_ text: String) throws {
        var text = text
        try text.withUTF8 { try append(UnsafeRawBufferPointer($0)) }
    }

    /// Appends the concatenation of two parts as one value.
    @inline(__always)
    func append(_ head: UnsafeRawBufferPointer, _ tail: UnsafeRawBufferPointer) throws {
        try values.reserve(used + head.count + tail.count, keeping: used)
        memcpy(values.start! + used, head.baseAddress!, head.count)
        memcpy(values.start! + used + head.count, tail.baseAddress!, tail.count)
        used += head.count + tail.count
        try endValue(at: used)
    }

    /// Ends a value or a list at the offset `end`.
    @inline(__always)
    func endValue(at end: Int) throws {
        if end > ArrowBuilder.largestOffset, !isLarge { try becomeLarge() }
        count += 1
        if isLarge {
            offsets.start!.storeBytes(of: Int64(end), toByteOffset: count * 8, as: Int64.self)
        } else {
            offsets.start!.storeBytes(of: Int32(truncatingIfNeeded: end), toByteOffset: count * 4, as: Int32.self)
        }
    }

    func appendNull() {
        setNull(count)
        switch field.type {
        case .bool, .null, .structure: count += 1
        case .int16: appendFixed(0 as Int16)
        case .int32, .float: appendFixed(0 as Int32)
        case .int64, .double, .date: appendFixed(0 as Int64)
        case .decimal:
            signs.start!.storeBytes(of: 0, toByteOffset: count * 4, as: UInt32.self)
            appendFixed(0 as UInt128)
        case .uuid: appendFixed(0 as UInt128)
        case .text, .bytes, .list:
            let size = offsetSize
            memcpy(offsets.start! + (count + 1) * size, offsets.start! + count * size, size)
            count += 1
        }
    }

    /// Appends null, also to the children of a structure.
    func appendNothing() throws {
        try reserve(1)
        if field.type == .structure { for child in children { try child.appendNothing() } }
        appendNull()
    }

    /// Counts `more` rows, whose values were appended to the columns.
    func endRows(_ more: Int) { count += more }

    /// Ends a structure after a value was appended to each child. The structure is null if all of these are null.
    func appendStructure() {
        if children.allSatisfy({ $0.isNull(count) }) { setNull(count) }
        count += 1
    }

    private var offsetSize: Int { isLarge ? 8 : 4 }

    @inline(never)
    private func becomeLarge() throws {
        guard !field.isTypeFinal else {
            throw CoreError(
                .unsupported,
                "the column \"\(title)\" of an Arrow export exceeds the range of 32-bit offsets in one "
                    + "record batch; pass a smaller batch_size (batchSize)",
                entity: property?.entity.name, key: title)
        }
        field.isLarge = true
        try widenOffsets()
    }

    private func widenOffsets() throws {
        var wide = ArrowMemory()
        try wide.reserve((capacity + 1) * 8, keeping: 0)
        for place in 0...count {
            let offset = offsets.start!.load(fromByteOffset: place * 4, as: Int32.self)
            wide.start!.storeBytes(of: Int64(offset), toByteOffset: place * 8, as: Int64.self)
        }
        offsets.release()
        offsets = wide
        isLarge = true
    }

    // MARK: The end of a batch

    /// Converts the decimals to the final type of the field: decimals of one scale, or text.
    private func finaliseDecimals() throws {
        guard signs.start != nil else { return }
        defer { signs.release() }
        func decimal(_ place: Int) -> DecimalNumber {
            let mantissa = values.start!.load(fromByteOffset: place * 16, as: UInt128.self)
            let sign = signs.start!.load(fromByteOffset: place * 4, as: UInt32.self)
            return DecimalNumber(
                mantissa: mantissa, exponent: Int8(truncatingIfNeeded: sign), isNegative: sign & 0x100 != 0)
        }
        if case .decimal(let scale) = field.type {
            for place in 0..<count {
                guard let units = decimal(place).scaled(to: scale) else {
                    throw CoreError(
                        .typeMismatch,
                        "the column \"\(title)\" has \(decimal(place)), which does not fit a decimal of 38 digits with "
                            + "scale \(scale); export with CST_ARROW_DECIMAL_TEXT (decimal_text, showsDecimalsAsText)",
                        entity: field.property?.entity.name, key: field.property?.path ?? title,
                        value: .decimal(decimal(place)))
                }
                values.start!.storeBytes(of: units, toByteOffset: place * 16, as: Int128.self)
            }
            return
        }
        let texts = ArrowBuilder(ArrowField(field.name, .text, .values))
        try texts.reserve(count)
        for place in 0..<count {
            if isNull(place) { texts.appendNull() } else { try texts.append(decimal(place).description) }
        }
        values.release()
        (values, offsets, used) = (texts.values, texts.offsets, texts.used)
        (texts.values, texts.offsets) = (ArrowMemory(), ArrowMemory())
    }

    /// Moves the column into an array of the C data interface, and empties the builder.
    func finish(into out: UnsafeMutablePointer<platform_arrow_array>) throws {
        try reserve(0)
        try finaliseDecimals()
        // Another batch of the same export may have needed 64-bit offsets.
        if field.isLarge, !isLarge, field.type.hasOffsets {
            try widenOffsets()
        }
        let type = field.type
        if type.hasOffsets, type != .list { try values.reserve(used, keeping: used) }
        if type == .null { nullCount = count }
        if nullCount == 0 || type == .null { validity.release() }
        var buffers: [UnsafeMutableRawPointer?] = type == .null ? [] : [validity.start]
        if type.hasOffsets { buffers.append(offsets.start) }
        if type != .null, type != .structure, type != .list { buffers.append(values.start) }
        guard
            platform_arrow_make_array(
                out, Int64(count), Int64(nullCount), buffers, Int64(buffers.count), Int64(children.count))
        else {
            let part = title.isEmpty ? "a record batch" : "the column \"\(title)\""
            throw CoreError(
                .noMemory,
                "out of memory: cannot allocate \(part) of an Arrow export; export fewer rows or columns, or a stream "
                    + "with a smaller batch_size (batchSize)",
                entity: property?.entity.name, key: title.isEmpty ? nil : title)
        }
        _ = (validity.take(), offsets.take(), values.take())
        (count, nullCount, used, capacity, isLarge) = (0, 0, 0, 0, field.isLarge)
        do {
            for (place, child) in children.enumerated() { try child.finish(into: out.pointee.children[place]!) }
        } catch {
            out.pointee.release(out)
            throw error
        }
    }
}
