import CorestoneValues

/// The changed slots of one object: how many slots there are, a bitmap of the changed ones, and their values.
///
/// One pointer, since every object has room for it. The places of other slots' values are not even cleared: that would touch
/// some hundred bytes for each object of which a number changes.
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
        _ = (memory + words * 8).bindMemory(to: PropertyValue.self, capacity: slotCount)
    }

    /// An overlay that was moved here.
    init(_ memory: UnsafeMutableRawPointer) { start = memory.assumingMemoryBound(to: UInt64.self) }

    var memory: UnsafeMutableRawPointer { UnsafeMutableRawPointer(start) }
    var size: Int { Overlay.size(slotCount: count) }

    /// Ends the values; the memory is the caller's to free.
    func deinitialize() { forEachChanged { (values + $0).deinitialize(count: 1) } }

    private var count: Int { Int(truncatingIfNeeded: start.pointee) }
    @inlinable var changed: UnsafeMutablePointer<UInt64> { start + 1 }
    private var values: UnsafeMutablePointer<PropertyValue> {
        UnsafeMutableRawPointer(start + 1 + (count &+ 63) >> 6).assumingMemoryBound(to: PropertyValue.self)
    }

    @inlinable @inline(__always)
    func isChanged(_ slot: Int) -> Bool { changed[slot >> 6] >> UInt64(slot & 63) & 1 != 0 }

    /// The value of a changed slot; the others have none here.
    subscript(slot: Int) -> PropertyValue {
        unsafeAddress {
            assert(isChanged(slot))
            return UnsafePointer(values + slot)
        }
    }

    /// The changed value of an attribute.
    @usableFromInline @inline(never)
    func attributeView(_ slot: Int) -> ValueView { ValueView(self[slot]) }

    @inline(__always)
    func set(_ value: PropertyValue, _ slot: Int) {
        if isChanged(slot) { return values[slot] = value }
        changed[slot >> 6] |= 1 << UInt64(slot & 63)
        (values + slot).initialize(to: value)
    }

    func clear(_ slot: Int) {
        guard isChanged(slot) else { return }
        changed[slot >> 6] &= ~(1 << UInt64(slot & 63))
        (values + slot).deinitialize(count: 1)
    }

    /// Of two overlays of the same entity.
    func changesSameSlots(as other: Overlay) -> Bool {
        (0..<wordCount).allSatisfy { changed[$0] == other.changed[$0] }
    }

    var isEmpty: Bool { (0..<wordCount).allSatisfy { changed[$0] == 0 } }

    /// Calls `body` with each changed slot, in order.
    @inline(__always)
    func forEachChanged(_ body: (Int) throws -> Void) rethrows {
        for word in 0..<wordCount {
            var bits = changed[word]
            while bits != 0 {
                try body(word << 6 + bits.trailingZeroBitCount)
                bits &= bits - 1
            }
        }
    }

    private var wordCount: Int { (count &+ 63) >> 6 }
}
