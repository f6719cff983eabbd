import CorestoneValues

/// The changed slots of one object: how many slots there are, a bitmap of the changed ones, and their values.
///
/// One pointer, since every object has room for it.
@usableFromInline
struct Overlay {
    @usableFromInline let start: UnsafeMutablePointer<UInt64>

    /// The bytes that an overlay for so many slots takes.
    static func size(slotCount: Int) -> Int {
        8 + (slotCount + 63) / 64 * 8 + slotCount * MemoryLayout<PropertyValue>.stride
    }

    /// In fresh memory of `size(slotCount:)` bytes, which the caller keeps and frees.
    init(_ memory: UnsafeMutableRawPointer, slotCount: Int) {
        let words = 1 + (slotCount + 63) / 64
        start = memory.bindMemory(to: UInt64.self, capacity: words)
        start.initialize(repeating: 0, count: words)
        start.pointee = UInt64(slotCount)
        (memory + words * 8).bindMemory(to: PropertyValue.self, capacity: slotCount)
            .initialize(repeating: .null, count: slotCount)
    }

    /// An overlay that was moved here.
    init(_ memory: UnsafeMutableRawPointer) { start = memory.assumingMemoryBound(to: UInt64.self) }

    var memory: UnsafeMutableRawPointer { UnsafeMutableRawPointer(start) }
    var size: Int { Overlay.size(slotCount: count) }

    /// Ends the values; the memory is the caller's to free.
    func deinitialize() { values.deinitialize(count: count) }

    private var count: Int { Int(truncatingIfNeeded: start.pointee) }
    @inlinable var changed: UnsafeMutablePointer<UInt64> { start + 1 }
    var values: UnsafeMutablePointer<PropertyValue> {
        UnsafeMutableRawPointer(start + 1 + (count &+ 63) >> 6).assumingMemoryBound(to: PropertyValue.self)
    }

    @inlinable @inline(__always)
    func isChanged(_ slot: Int) -> Bool { changed[slot >> 6] >> UInt64(slot & 63) & 1 != 0 }

    /// The changed value of an attribute.
    @usableFromInline @inline(never)
    func attributeView(_ slot: Int) -> ValueView { ValueView(values[slot]) }

    @inline(__always)
    func set(_ value: PropertyValue, _ slot: Int) {
        changed[slot >> 6] |= 1 << UInt64(slot & 63)
        values[slot] = value
    }

    func clear(_ slot: Int) {
        changed[slot >> 6] &= ~(1 << UInt64(slot & 63))
        values[slot] = .null
    }

    /// Of two overlays of the same entity.
    func changesSameSlots(as other: Overlay) -> Bool {
        (0..<(count + 63) / 64).allSatisfy { changed[$0] == other.changed[$0] }
    }

    var isEmpty: Bool { (0..<(count + 63) / 64).allSatisfy { changed[$0] == 0 } }
}
