import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// The position at which the next record is written.
///
/// The row loop uses its plain pointers, and therefore needs neither retains nor calls for a value that fits.
struct RecordCursor {
    /// The filled chunks and the current one.
    private(set) var chunks: [RecordChunk]
    private(set) var chunk: RecordChunk
    /// The address of the record under construction.
    private(set) var start: UnsafeMutableRawPointer
    /// The number of bytes of the record that are used.
    private(set) var tail = 0
    private var end: UnsafeMutableRawPointer
    private let largest: Int

    /// Creates a cursor whose chunks grow from `first` bytes up to `largest`.
    init(first: Int, largest: Int = 2 << 20) {
        self.largest = max(largest, 1024)
        chunk = RecordChunk(capacity: RecordCursor.capacity(first, self.largest))
        chunks = [chunk]
        start = chunk.end
        end = chunk.memory + chunk.capacity
    }

    /// Returns the capacity of a chunk.
    ///
    /// A large chunk has the full size, so that it uses a huge page, which the system clears at once. Small pages cause
    /// a page fault each.
    private static func capacity(_ wanted: Int, _ largest: Int) -> Int {
        wanted < largest / 2 ? max(1024, wanted) : largest
    }

    /// Starts a record with all values null.
    @inline(__always)
    mutating func begin(primaryKey: Int64, version: Int32, _ steps: EntitySteps) {
        if end - start < steps.fixedSize { nextChunk(for: steps.fixedSize) }
        start.storeBytes(
            of: RecordHeader(
                primaryKey: primaryKey, version: version, entity: steps.entity, size: 0,
                distance: UInt32(truncatingIfNeeded: (start - chunk.memory) >> 3)), as: RecordHeader.self)
        let bitmap = (start + RecordLayout.headerSize).assumingMemoryBound(to: UInt64.self)
        for word in 0..<steps.clearedWords { bitmap[word] = 0 }
        tail = steps.fixedSize
    }

    @inline(__always)
    func mark(_ slot: UInt16) {
        let bitmap = (start + RecordLayout.headerSize).assumingMemoryBound(to: UInt64.self)
        bitmap[Int(slot >> 6)] |= 1 << UInt64(slot & 63)
    }

    /// Returns the address of the value of a step.
    @inline(__always)
    func place(_ step: ColumnStep) -> UnsafeMutableRawPointer { start + Int(step.offset) }

    /// Reserves `count` bytes and a NUL at the record's tail, and enters them as the step's value.
    ///
    /// - Returns: The address of the bytes; nil if the record would exceed 4 GB.
    @inline(__always)
    mutating func takeBytes(_ count: Int, _ step: ColumnStep) -> UnsafeMutableRawPointer? {
        if end - start < tail + count + 8 {
            guard tail + count < Int(UInt32.max) - 64 else { return nil }
            moveToNewChunk(for: count)
        }
        let place = start + Int(step.offset)
        place.storeBytes(of: UInt32(truncatingIfNeeded: tail), as: UInt32.self)
        (place + 4).storeBytes(of: UInt32(truncatingIfNeeded: count), as: UInt32.self)
        let target = start + tail
        (target + count).storeBytes(of: 0, as: UInt8.self)
        tail += count + 1
        mark(step.slot)
        return target
    }

    /// Enters the name of the backing file of the step's value; see `Record.fileName`.
    ///
    /// - Returns: false if the record would exceed 4 GB.
    mutating func note(fileName: String, _ step: ColumnStep) -> Bool {
        var fileName = fileName
        return fileName.withUTF8 { name in
            guard let target = takeBytes(name.count, step) else { return false }
            if let start = name.baseAddress { memcpy(target, start, name.count) }
            let bitmap = (start + RecordLayout.headerSize).assumingMemoryBound(to: UInt64.self)
            bitmap[Int(step.slot >> 6)] &= ~(1 << UInt64(step.slot & 63))
            return true
        }
    }

    /// Ends the record, which is immutable from then on.
    @inline(__always)
    mutating func finish() -> Record {
        let record = Record(start)
        let size = (tail + 7) & ~7
        record.header.pointee.size = UInt32(truncatingIfNeeded: size)
        start += size
        return record
    }

    /// Updates the used size of the current chunk, and returns all chunks. Writing may continue.
    mutating func flush() -> [RecordChunk] {
        chunk.extend(by: start - chunk.end)
        return chunks
    }

    /// Updates the used size of the current chunk, and discards the filled chunks. Writing may continue.
    mutating func discardFilledChunks() {
        chunk.extend(by: start - chunk.end)
        if chunks.count > 1 { chunks = [chunk] }
    }

    @inline(never)
    private mutating func nextChunk(for size: Int) {
        chunk.extend(by: start - chunk.end)
        chunk = RecordChunk(capacity: max(size + 64, RecordCursor.capacity(chunk.capacity * 4, largest)))
        chunks.append(chunk)
        start = chunk.end
        end = chunk.memory + chunk.capacity
    }

    /// Moves the record under construction to a new chunk, because it does not fit.
    @inline(never)
    private mutating func moveToNewChunk(for count: Int) {
        let old = start
        let taken = tail
        nextChunk(for: taken + count + 64)
        start.copyMemory(from: old, byteCount: taken)
        Record(start).header.pointee.distance = UInt32(truncatingIfNeeded: (start - chunk.memory) >> 3)
    }
}
