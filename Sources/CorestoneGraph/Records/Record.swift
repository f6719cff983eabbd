import CorestoneModel
import CorestoneValues

/// The header of a row record.
///
/// A record is a copy of one row in the format of `RecordLayout`, and is immutable once it is published. The header is
/// followed by the bitmap of values that are not null, the fixed part, and the bytes of text and binary values.
@usableFromInline package struct RecordHeader {
    @usableFromInline package var primaryKey: Int64
    /// The row's optimistic-locking version (`Z_OPT`).
    @usableFromInline package var version: Int32
    /// The index of the row's concrete entity in the model.
    @usableFromInline package var entity: UInt32
    /// The size of the record in bytes, a multiple of 8.
    @usableFromInline package var size: UInt32
    /// The distance in bytes from the start of the chunk's memory, divided by 8.
    @usableFromInline package var distance: UInt32

    @inlinable package init(primaryKey: Int64, version: Int32, entity: UInt32, size: UInt32, distance: UInt32) {
        self.primaryKey = primaryKey
        self.version = version
        self.entity = entity
        self.size = size
        self.distance = distance
    }
}

/// A row record in memory. Valid while its chunk is retained.
@usableFromInline package struct Record {
    @usableFromInline package let start: UnsafeMutableRawPointer

    @inlinable package init(_ start: UnsafeMutableRawPointer) { self.start = start }

    @inlinable package var header: UnsafeMutablePointer<RecordHeader> {
        start.assumingMemoryBound(to: RecordHeader.self)
    }
    @inlinable package var primaryKey: Int64 { header.pointee.primaryKey }
    @inlinable package var version: Int32 { header.pointee.version }

    /// The chunk that contains the record.
    @inlinable package var chunk: Unmanaged<RecordChunk> {
        let chunkStart = start - Int(header.pointee.distance) << 3
        return Unmanaged.fromOpaque(chunkStart.load(as: UnsafeRawPointer.self))
    }

    @inlinable package func hasValue(_ slot: Int) -> Bool {
        let word = (start + RecordLayout.recordHeaderSize + (slot >> 6) << 3).load(as: UInt64.self)
        return word >> UInt64(slot & 63) & 1 != 0
    }

    /// Returns the value of a slot without a copy: text, URIs and bytes point into the record.
    ///
    /// Returns null for a value in a backing file.
    @inlinable @inline(__always)
    package func view(_ slot: Int, _ layout: SlotLayout) -> ValueView {
        guard hasValue(slot) else { return .null }
        let place = start + Int(layout.offset)
        switch layout.kind {
        case .none: return .null
        case .bool: return ValueView(.bool, place.load(as: UInt8.self) != 0 ? 1 : 0)
        case .int16: return ValueView(.int, UInt64(bitPattern: Int64(place.load(as: Int16.self))))
        case .int32: return ValueView(.int, UInt64(bitPattern: Int64(place.load(as: Int32.self))))
        case .int64: return ValueView(.int, place.load(as: UInt64.self))
        case .double: return ValueView(.double, place.load(as: UInt64.self))
        case .date: return ValueView(.date, place.load(as: UInt64.self))
        case .text: return bytes(.string, place)
        case .uri: return bytes(.uri, place)
        case .bytes: return bytes(.bytes, place)
        case .uuid: return ValueView(.uuid, place.load(as: UInt64.self), (place + 8).load(as: UInt64.self))
        case .decimal:
            return ValueView(
                .decimal, place.load(as: UInt64.self), (place + 8).load(as: UInt64.self),
                aux: (place + 16).load(as: UInt32.self))
        case .toOne: return ValueView(.objectID, place.load(as: UInt64.self), UInt64((place + 8).load(as: UInt32.self)))
        }
    }

    @inlinable func bytes(_ type: ValueType, _ place: UnsafeMutableRawPointer) -> ValueView {
        let offset = place.load(as: UInt32.self)
        let count = (place + 4).load(as: UInt32.self)
        return ValueView(type, UInt64(UInt(bitPattern: start + Int(offset))), UInt64(count))
    }

    /// Returns the name of the backing file of a slot of role `external`, without a copy.
    ///
    /// Returns nil if the record contains the value, or if the value is null. Returns an empty name if the row's
    /// reference to the backing file is damaged.
    package func fileName(_ slot: Int, _ layout: SlotLayout) -> UnsafeRawBufferPointer? {
        guard layout.role == .external, layout.kind == .bytes, !hasValue(slot) else { return nil }
        let place = start + Int(layout.offset)
        return place.load(as: UInt32.self) == 0 ? nil : bytes(.string, place).bytes
    }

    /// Whether a slot has the same value in both records. Backing files are compared by name, which is unique.
    package func isEqual(to other: Record, _ slot: Int, _ layout: SlotLayout) -> Bool {
        switch (fileName(slot, layout), other.fileName(slot, layout)) {
        case (nil, nil): ValueView.same(view(slot, layout), other.view(slot, layout))
        case (let name?, let otherName?): equalBytes(name, otherName)
        default: false
        }
    }

    /// Sets the new version of an updated row, before the record is published.
    func setVersion(_ version: Int32) { header.pointee.version = version }

    /// Replaces the target of a to-one relationship, before the record is published.
    ///
    /// A store that reads references before their targets determines the entity of the target later.
    package func replaceTarget(_ primaryKey: Int64, entity: UInt32, _ layout: SlotLayout) {
        let place = start + Int(layout.offset)
        place.storeBytes(of: primaryKey, as: Int64.self)
        (place + 8).storeBytes(of: entity, as: UInt32.self)
    }

    /// Sets a to-one relationship to null, before the record is published.
    package func clearTarget(_ slot: Int) {
        let place = start + RecordLayout.recordHeaderSize + (slot >> 6) << 3
        place.storeBytes(of: place.load(as: UInt64.self) & ~(1 << UInt64(slot & 63)), as: UInt64.self)
    }

    /// Returns the target of a to-one relationship; nil for null.
    ///
    /// The target is its primary key and the index of its entity in the model.
    @inlinable package func target(_ slot: Int, _ layout: SlotLayout) -> (primaryKey: Int64, entity: UInt32)? {
        guard hasValue(slot) else { return nil }
        let place = start + Int(layout.offset)
        return (place.load(as: Int64.self), (place + 8).load(as: UInt32.self))
    }
}

extension RecordLayout {
    @inlinable package static var recordHeaderSize: Int { 24 }
}

/// A view of a value, with the layout of a `cst_value`. The contents of `low` and `high` depend on the type.
///
/// - Boolean, integer, double and date: the bits in `low`.
/// - Text, URIs and bytes: address and count.
/// - UUID: its 16 bytes in memory order.
/// - Decimal: low and high word of the mantissa, sign and exponent in `aux`.
/// - Object ID: primary key and entity index.
/// - Object: the unretained `ManagedObject`.
@usableFromInline package struct ValueView {
    @usableFromInline package var type: ValueType
    @usableFromInline package var aux: UInt32
    @usableFromInline package var low: UInt64
    @usableFromInline package var high: UInt64

    @inlinable package init(_ type: ValueType, _ low: UInt64 = 0, _ high: UInt64 = 0, aux: UInt32 = 0) {
        self.type = type
        self.aux = aux
        self.low = low
        self.high = high
    }

    @inlinable package static var null: ValueView { ValueView(ValueType.null) }

    /// The bytes of text, a URI or binary data. Undefined for other types.
    @inlinable package var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: UInt(low)), count: Int(high))
    }
    @inlinable package var double: Double { Double(bitPattern: low) }
    @inlinable package var integer: Int64 { Int64(bitPattern: low) }
}

extension ValueView {
    /// Whether two views of the same slot have the same value.
    static func same(_ a: ValueView, _ b: ValueView) -> Bool {
        guard a.type == b.type else { return false }
        switch a.type {
        case .string, .uri, .bytes: return equalBytes(a.bytes, b.bytes)
        case .decimal where a.aux != b.aux: return a.propertyValue == b.propertyValue  // 1.5 and 1.50
        default: return a.low == b.low && a.high == b.high && a.aux == b.aux
        }
    }
}

extension ValueView {
    /// A copy that owns its bytes; null for objects and IDs, which do not have such a copy.
    @usableFromInline package var propertyValue: PropertyValue {
        switch type {
        case .bool: .bool(low != 0)
        case .int: .int(integer)
        case .double: .double(double)
        case .date: .date(double)
        case .string: .text(Text(utf8: bytes))
        case .uri: .uri(Text(utf8: bytes))
        case .bytes: .bytes(Bytes(copying: bytes))
        case .uuid: .uuid(UUIDValue(high: low.bigEndian, low: high.bigEndian))
        case .decimal: .decimal(DecimalNumber(words: (low, high), aux: aux))
        default: .null
        }
    }

    /// Creates a view of `value`, which must outlive the view. The view of an object or a list is null.
    @usableFromInline package init(_ value: borrowing PropertyValue) {
        switch value {
        case .bool(let flag): self.init(.bool, flag ? 1 : 0)
        case .int(let number): self.init(.int, UInt64(bitPattern: number))
        case .double(let number): self.init(.double, number.bitPattern)
        case .date(let seconds): self.init(.date, seconds.bitPattern)
        case .text(let text): self.init(.string, UInt64(UInt(bitPattern: text.buffer.start)), UInt64(text.count))
        case .uri(let text): self.init(.uri, UInt64(UInt(bitPattern: text.buffer.start)), UInt64(text.count))
        case .bytes(let data): self.init(.bytes, UInt64(UInt(bitPattern: data.buffer.start)), UInt64(data.count))
        case .uuid(let uuid): self.init(.uuid, uuid.high.bigEndian, uuid.low.bigEndian)
        case .decimal(let number):
            let words = number.words
            self.init(.decimal, words.0, words.1, aux: number.aux)
        default: self.init(ValueType.null)
        }
    }
}

extension DecimalNumber {
    /// Creates a number from the low and high word of the mantissa, and the sign and exponent of a `cst_value`.
    @usableFromInline package init(words: (UInt64, UInt64), aux: UInt32) {
        self.init(
            mantissa: UInt128(words.1) << 64 | UInt128(words.0), exponent: Int8(truncatingIfNeeded: aux),
            isNegative: aux & 0x100 != 0)
    }
    @usableFromInline package var words: (UInt64, UInt64) {
        (UInt64(truncatingIfNeeded: mantissa), UInt64(truncatingIfNeeded: mantissa >> 64))
    }
    @usableFromInline package var aux: UInt32 { UInt32(UInt8(bitPattern: exponent)) | (isNegative ? 0x100 : 0) }
}
