import CorestoneValues

/// The changed slots of one object: a bitmap of which, and their values.
@usableFromInline
struct Overlay {
    @usableFromInline let changed: UnsafeMutablePointer<UInt64>
    @usableFromInline let values: UnsafeMutablePointer<PropertyValue>
    let count: Int

    init(slotCount: Int) {
        count = slotCount
        let words = (slotCount + 63) / 64
        let start = UnsafeMutableRawPointer.allocate(
            byteCount: words * 8 + slotCount * MemoryLayout<PropertyValue>.stride, alignment: 16)
        changed = start.bindMemory(to: UInt64.self, capacity: words)
        changed.initialize(repeating: 0, count: words)
        values = (start + words * 8).bindMemory(to: PropertyValue.self, capacity: slotCount)
        values.initialize(repeating: .null, count: slotCount)
    }

    func deallocate() {
        values.deinitialize(count: count)
        UnsafeMutableRawPointer(changed).deallocate()
    }

    @inlinable @inline(__always)
    func isChanged(_ slot: Int) -> Bool { changed[slot >> 6] >> UInt64(slot & 63) & 1 != 0 }

    @inlinable @inline(__always)
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
