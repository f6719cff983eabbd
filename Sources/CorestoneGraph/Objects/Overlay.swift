import CorestoneValues

/// The changed slots of one object: how many slots there are, a bitmap of the changed ones, and their values.
///
/// One pointer, since every object has room for it.
@usableFromInline
struct Overlay {
    private let start: UnsafeMutablePointer<UInt64>

    init(slotCount: Int) {
        let words = 1 + (slotCount + 63) / 64
        let memory = allocateBlock(words * 8 + slotCount * MemoryLayout<PropertyValue>.stride)
        start = memory.bindMemory(to: UInt64.self, capacity: words)
        start.initialize(repeating: 0, count: words)
        start.pointee = UInt64(slotCount)
        (memory + words * 8).bindMemory(to: PropertyValue.self, capacity: slotCount)
            .initialize(repeating: .null, count: slotCount)
    }

    func deallocate() {
        values.deinitialize(count: count)
        freeBlock(start)
    }

    private var count: Int { Int(truncatingIfNeeded: start.pointee) }
    var changed: UnsafeMutablePointer<UInt64> { start + 1 }
    var values: UnsafeMutablePointer<PropertyValue> {
        UnsafeMutableRawPointer(start + 1 + (count &+ 63) >> 6).assumingMemoryBound(to: PropertyValue.self)
    }

    @inline(__always)
    func isChanged(_ slot: Int) -> Bool { changed[slot >> 6] >> UInt64(slot & 63) & 1 != 0 }

    @inline(__always)
    func set(_ value: PropertyValue, _ slot: Int) {
        changed[slot >> 6] |= 1 << UInt64(slot & 63)
        values[slot] = value
    }

    func clear(_ slot: Int) {
        changed[slot >> 6] &= ~(1 << UInt64(slot & 63))
        values[slot] = .null
    }

    var isEmpty: Bool { (0..<(count + 63) / 64).allSatisfy { changed[$0] == 0 } }
}
