import CorestoneModel
import CorestoneValues
import Glibc
import Synchronization

/// A memory block that contains row records, for example of one fetch or one save.
///
/// The block is freed when the last owner releases the chunk, for example an object or the row cache. The first 8 bytes
/// of the block are the chunk's own address, by which a record finds its chunk.
@usableFromInline package final class RecordChunk: @unchecked Sendable {
    package let memory: UnsafeMutableRawPointer
    package let capacity: Int
    package private(set) var used: Int
    /// The time of creation, in nanoseconds of the monotonic clock. The chunk's rows were not read earlier.
    let madeAt = monotonicNanoseconds()
    /// The size of all chunks of the process in bytes.
    private static let live = Atomic<Int>(0)
    package static var liveBytes: Int { live.load(ordering: .relaxed) }

    private static let head = 16

    package init(capacity requested: Int) {
        capacity = requested
        memory = allocateLargeBlock(requested)
        RecordChunk.live.add(requested, ordering: .relaxed)
        used = RecordChunk.head
        memory.storeBytes(of: UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque()), as: UnsafeRawPointer.self)
    }

    deinit {
        RecordChunk.live.subtract(capacity, ordering: .relaxed)
        freeBlock(memory)
    }

    package var room: Int { capacity - used }

    /// Adds the record of `size` bytes that was written at the end of the used part.
    package func extend(by size: Int) { used += size }

    package var end: UnsafeMutableRawPointer { memory + used }

    /// Calls `body` with each record in the chunk, in the order of writing.
    package func forEachRecord(_ body: (Record) -> Void) {
        var offset = RecordChunk.head
        while offset < used {
            let record = Record(memory + offset)
            body(record)
            offset += Int(record.header.pointee.size)
        }
    }
}

/// A writer of records into chunks: `begin`, setters and `finish` for each row.
package struct RecordWriter {
    /// The filled chunks and the current one.
    package private(set) var chunks: [RecordChunk] = []
    private var chunk: RecordChunk
    private var start: UnsafeMutableRawPointer
    private var tail: Int = 0

    /// Creates a writer.
    ///
    /// - Parameter expectedBytes: An estimate of the size of all records, so that small fetches use little memory.
    package init(expectedBytes: Int = 4096) {
        // For an estimate of at least half a huge page, the chunk is a whole one, because the first access to a huge
        // page costs only one page fault.
        chunk = RecordChunk(capacity: expectedBytes < hugePage / 2 ? max(1024, expectedBytes) : hugePage)
        chunks = [chunk]
        start = chunk.end
    }

    /// Starts a record whose values are all null.
    @inline(__always)
    package mutating func begin(primaryKey: Int64, version: Int32, entity: Entity) {
        let fixed = entity.layout.fixedSize
        if chunk.room < fixed { nextChunk(for: fixed) }
        start = chunk.end
        start.storeBytes(
            of: RecordHeader(
                primaryKey: primaryKey, version: version, entity: entity.index, size: 0,
                distance: UInt32(truncatingIfNeeded: (start - chunk.memory) >> 3)), as: RecordHeader.self)
        memset(start + RecordLayout.recordHeaderSize, 0, entity.layout.clearedWords * 8)
        tail = fixed
    }

    /// Starts a record as a copy of another record, with another version.
    ///
    /// The setters may then replace values. Replaced text and binary data remain as unused bytes in the record.
    @inline(__always)
    package mutating func begin(copying record: Record, version: Int32) {
        let size = Int(record.header.pointee.size)
        if chunk.room < size { nextChunk(for: size) }
        start = chunk.end
        start.copyMemory(from: record.start, byteCount: size)
        Record(start).header.pointee.version = version
        Record(start).header.pointee.distance = UInt32(truncatingIfNeeded: (start - chunk.memory) >> 3)
        tail = size
    }

    /// Adds a chunk. Later chunks are larger, up to the size of a huge page or of the record.
    ///
    /// A small fetch thus uses little memory, and a large fetch uses huge pages.
    private mutating func nextChunk(for size: Int) {
        let next = RecordChunk(capacity: max(size + 64, min(chunk.capacity * 4, hugePage)))
        chunk = next
        chunks.append(next)
    }

    @inline(__always)
    private func mark(_ slot: Int) { word(of: slot).pointee |= 1 << UInt64(slot & 63) }

    /// Sets a value to null.
    @inline(__always)
    package func clear(_ slot: Int) { word(of: slot).pointee &= ~(1 << UInt64(slot & 63)) }

    @inline(__always)
    private func word(of slot: Int) -> UnsafeMutablePointer<UInt64> {
        (start + RecordLayout.recordHeaderSize + (slot >> 6) << 3).assumingMemoryBound(to: UInt64.self)
    }

    @inline(__always)
    package func setInteger(_ value: Int64, _ slot: Int, _ layout: SlotLayout) {
        let place = start + Int(layout.offset)
        switch layout.kind {
        case .bool: place.storeBytes(of: value != 0 ? 1 : 0, as: UInt8.self)
        case .int16: place.storeBytes(of: Int16(truncatingIfNeeded: value), as: Int16.self)
        case .int32: place.storeBytes(of: Int32(truncatingIfNeeded: value), as: Int32.self)
        default: place.storeBytes(of: value, as: Int64.self)
        }
        mark(slot)
    }

    @inline(__always)
    package func setDouble(_ value: Double, _ slot: Int, _ layout: SlotLayout) {
        (start + Int(layout.offset)).storeBytes(of: value, as: Double.self)
        mark(slot)
    }

    @inline(__always)
    package func setTarget(_ primaryKey: Int64, entity: UInt32, _ slot: Int, _ layout: SlotLayout) {
        let place = start + Int(layout.offset)
        place.storeBytes(of: primaryKey, as: Int64.self)
        (place + 8).storeBytes(of: entity, as: UInt32.self)
        mark(slot)
    }

    /// Sets a UUID from 16 bytes in memory order.
    package func setUUID(_ bytes: UnsafeRawPointer, _ slot: Int, _ layout: SlotLayout) {
        (start + Int(layout.offset)).copyMemory(from: bytes, byteCount: 16)
        mark(slot)
    }

    package func setDecimal(_ low: UInt64, _ high: UInt64, aux: UInt32, _ slot: Int, _ layout: SlotLayout) {
        let place = start + Int(layout.offset)
        place.storeBytes(of: low, as: UInt64.self)
        (place + 8).storeBytes(of: high, as: UInt64.self)
        (place + 16).storeBytes(of: aux, as: UInt32.self)
        mark(slot)
    }

    /// Sets text, a URI or binary data. A NUL byte is appended.
    @inline(__always)
    package mutating func setBytes(_ bytes: UnsafeRawPointer?, count: Int, _ slot: Int, _ layout: SlotLayout) {
        if chunk.room < tail + count + 8 { moveToNewChunk(for: count) }
        let place = start + Int(layout.offset)
        place.storeBytes(of: UInt32(truncatingIfNeeded: tail), as: UInt32.self)
        (place + 4).storeBytes(of: UInt32(truncatingIfNeeded: count), as: UInt32.self)
        let target = start + tail
        if let bytes { memcpy(target, bytes, count) }
        (target + count).storeBytes(of: 0, as: UInt8.self)
        tail += count + 1
        mark(slot)
    }

    /// Sets the name of the backing file of a value; see `Record.fileName`.
    package mutating func setFileName(_ name: UnsafeRawBufferPointer, _ slot: Int, _ layout: SlotLayout) {
        setBytes(name.baseAddress, count: name.count, slot, layout)
        clear(slot)
    }

    /// Moves the record under construction to a new chunk that has space for it.
    private mutating func moveToNewChunk(for count: Int) {
        let old = start
        nextChunk(for: tail + count + 64)
        start = chunk.end
        start.copyMemory(from: old, byteCount: tail)
        Record(start).header.pointee.distance = UInt32(truncatingIfNeeded: (start - chunk.memory) >> 3)
    }

    /// Completes the record and returns it.
    @inline(__always)
    package mutating func finish() -> Record {
        let size = (tail + 7) & ~7
        // `setBytes` has reserved the padding behind text; a record without text ends with its fixed part.
        Record(start).header.pointee.size = UInt32(truncatingIfNeeded: size)
        chunk.extend(by: size)
        return Record(start)
    }
}

extension RecordWriter {
    /// Copies a value into the record under construction. `objectID` views become to-one targets.
    ///
    /// Views of null and of objects have no effect.
    package mutating func set(_ view: ValueView, _ slot: Int, _ layout: SlotLayout) {
        switch view.type {
        case .null: return
        case .bool, .int: setInteger(view.integer, slot, layout)
        case .double, .date: setDouble(view.double, slot, layout)
        case .string, .uri, .bytes: setBytes(view.bytes.baseAddress, count: view.bytes.count, slot, layout)
        case .uuid:
            withUnsafeBytes(of: (view.low, view.high)) { if let base = $0.baseAddress { setUUID(base, slot, layout) } }
        case .decimal: setDecimal(view.low, view.high, aux: view.aux, slot, layout)
        case .objectID: setTarget(view.integer, entity: UInt32(truncatingIfNeeded: view.high), slot, layout)
        default: return
        }
    }
}
