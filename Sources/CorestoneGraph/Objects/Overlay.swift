import CorestoneValues

/// The changed slots of one object: the number of slots, a bitmap of the changed ones, and their values.
///
/// An overlay is a single pointer, because every object has a field for one. The memory for values of unchanged slots
/// is not initialised.
@usableFromInline
struct Overlay {
    @usableFromInline let start: UnsafeMutablePointer<UInt64>

    /// Returns the size in bytes of an overlay with a number of slots.
    static func size(slotCount: Int) -> Int {
        8 + (slotCount + 63) / 64 * 8 + slotCount * MemoryLayout<PropertyValue>.stride
    }

    /// Creates an empty overlay in memory of `size(slotCount:)` bytes, which the caller owns and frees.
    init(_ memory: UnsafeMutableRawPointer, slotCount: Int) {
        let words = 1 + (slotCount + 63) / 64
        start = memory.bindMemory(to: UInt64.self, capacity: words)
        start.initialize(repeating: 0, count: words)
        start.pointee = UInt64(slotCount)
        _ = (memory + words * 8).bindMemory(to: PropertyValue.self, capacity: slotCount)
    }

    /// Creates an overlay from memory to which an overlay was moved.
    init(_ memory: UnsafeMutableRawPointer) { start = memory.assumingMemoryBound(to: UInt64.self) }

    var memory: UnsafeMutableRawPointer { UnsafeMutableRawPointer(start) }
    var size: Int { Overlay.size(slotCount: count) }

    /// Deinitialises the values. The caller frees the memory.
    func deinitialize() { forEachChanged { (values + $0).deinitialize(count: 1) } }

    private var count: Int { Int(truncatingIfNeeded: start.pointee) }
    @inlinable var changed: UnsafeMutablePointer<UInt64> { start + 1 }
    fileprivate var values: UnsafeMutablePointer<PropertyValue> {
        UnsafeMutableRawPointer(start + 1 + (count &+ 63) >> 6).assumingMemoryBound(to: PropertyValue.self)
    }

    @inlinable @inline(__always)
    func isChanged(_ slot: Int) -> Bool { changed[slot >> 6] >> UInt64(slot & 63) & 1 != 0 }

    /// Returns the value of a changed slot. The slot must be changed.
    subscript(slot: Int) -> PropertyValue {
        unsafeAddress {
            assert(isChanged(slot))
            return UnsafePointer(values + slot)
        }
    }

    /// Returns a view of the changed value of an attribute.
    @usableFromInline @inline(never)
    func attributeView(_ slot: Int) -> ValueView { ValueView(self[slot]) }

    /// Whether both overlays, which must be of the same entity, have the same changed slots.
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

extension ManagedObject {
    /// Sets the unsaved value of a slot, without change tracking.
    ///
    /// This function and the next one are the only ones that change the values of an overlay.
    @inline(__always)
    func setChange(_ value: PropertyValue, _ slot: Int) {
        let overlay = overlayForWriting()
        changes &+= 1
        if overlay.isChanged(slot) { return overlay.values[slot] = value }
        overlay.changed[slot >> 6] |= 1 << UInt64(slot & 63)
        (overlay.values + slot).initialize(to: value)
    }

    /// Discards the unsaved value of a slot, without change tracking.
    func clearChange(_ slot: Int) {
        guard let overlay, overlay.isChanged(slot) else { return }
        changes &+= 1
        overlay.changed[slot >> 6] &= ~(1 << UInt64(slot & 63))
        (overlay.values + slot).deinitialize(count: 1)
    }
}
