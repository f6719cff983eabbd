import Glibc

/// A hash table from primary keys to pointers: open addressing in Robin Hood order, without tombstones.
///
/// The home of a key is the place at which its search begins. The entries of a cluster, which is a run of used places,
/// are ordered by their homes, so that unsuccessful searches and removals end early.
///
/// Key 0 marks a free entry. It is not a valid primary key, but a damaged store may contain it. Its value therefore has
/// its own place.
package final class KeyTable {
    @usableFromInline struct Entry {
        @usableFromInline var key: Int64
        @usableFromInline var value: UnsafeMutableRawPointer
    }

    @usableFromInline var entries: UnsafeMutablePointer<Entry>
    @usableFromInline var mask: Int
    /// A 64-bit product shifted right by this number is the index of a block of four entries.
    @usableFromInline var shift: UInt64
    /// The value of key 0.
    @usableFromInline var valueOfZero: UnsafeMutableRawPointer?
    package private(set) var count = 0

    package init(capacity: Int = 16) {
        mask = capacity - 1
        shift = KeyTable.shift(capacity)
        entries = KeyTable.allocate(capacity)
    }

    private static func shift(_ capacity: Int) -> UInt64 { UInt64(66 - capacity.trailingZeroBitCount) }

    /// Returns the home of a key.
    ///
    /// Four consecutive keys share a block of 64 bytes, the size of a cache line. Consecutive blocks are spread by the
    /// golden ratio, which distributes dense keys almost evenly.
    @inlinable @inline(__always)
    func home(of key: Int64) -> Int {
        let block = UInt64(bitPattern: key &>> 2) &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: (block &>> shift) << 2) | Int(truncatingIfNeeded: key & 3)
    }

    deinit { freeBlock(entries) }

    private static func allocate(_ capacity: Int) -> UnsafeMutablePointer<Entry> {
        // The memory is cleared here, because a first access by reading would cost two page faults.
        let bytes = capacity * MemoryLayout<Entry>.stride
        let memory = allocateLargeBlock(bytes)
        memset(memory, 0, bytes)
        return memory.assumingMemoryBound(to: Entry.self)
    }

    @inlinable @inline(__always)
    package func find(_ key: Int64) -> UnsafeMutableRawPointer? {
        if key == 0 { return valueOfZero }
        var place = home(of: key)
        while true {
            let found = entries[place].key
            if found == key { return entries[place].value }
            if found == 0 || distance(of: found, at: place) < distance(of: key, at: place) { return nil }
            place = (place &+ 1) & mask
        }
    }

    /// Whether a table must grow before an entry is added.
    ///
    /// Up to a load of seven eighths, searches are short because of the Robin Hood order.
    @inline(__always)
    private static func isFull(_ count: Int, _ capacity: Int) -> Bool { count &* 8 >= capacity &* 7 }

    /// Returns the distance of a place from the home of a key.
    @inlinable @inline(__always)
    func distance(of key: Int64, at place: Int) -> Int { (place &- home(of: key)) & mask }

    /// Sets the value of a key. Returns the replaced value; nil for a new key.
    @discardableResult
    package func set(_ key: Int64, _ value: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        if key == 0 { return setZero(value) }
        if KeyTable.isFull(count, mask &+ 1) { grow((mask &+ 1) &* 2) }
        var place = home(of: key)
        while entries[place].key != 0 {
            if entries[place].key == key {
                let old = entries[place].value
                entries[place].value = value
                return old
            }
            if distance(of: entries[place].key, at: place) < distance(of: key, at: place) { break }
            place = (place &+ 1) & mask
        }
        put(Entry(key: key, value: value), at: place)
        count &+= 1
        return nil
    }

    /// Sets or removes the value of key 0, and returns the former value.
    @inline(never)
    private func setZero(_ value: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        let former = valueOfZero
        valueOfZero = value
        count &+= (value == nil ? 0 : 1) &- (former == nil ? 0 : 1)
        return former
    }

    /// Inserts an entry, and moves following entries so that the Robin Hood order holds.
    private func put(_ entry: Entry, at first: Int) {
        var (moving, place) = (entry, first)
        while entries[place].key != 0 {
            if distance(of: entries[place].key, at: place) < distance(of: moving.key, at: place) {
                swap(&entries[place], &moving)
            }
            place = (place &+ 1) & mask
        }
        entries[place] = moving
    }

    /// Adds a key with a value. Returns false, without a change, if the table already contains the key.
    package func setIfAbsent(_ key: Int64, _ value: UnsafeMutableRawPointer) -> Bool {
        if find(key) != nil { return false }
        set(key, value)
        return true
    }

    /// Reserves capacity for `more` further keys.
    package func reserve(_ more: Int) {
        var capacity = mask + 1
        while KeyTable.isFull(count + more, capacity) { capacity *= 2 }
        if capacity > mask + 1 { grow(capacity) }
    }

    private func grow(_ capacity: Int) {
        let (old, oldCapacity) = (entries, mask + 1)
        entries = KeyTable.allocate(capacity)
        mask = capacity - 1
        shift = KeyTable.shift(capacity)
        for place in 0..<oldCapacity where old[place].key != 0 {
            put(old[place], at: home(of: old[place].key))
        }
        freeBlock(old)
        checkInvariants()
    }

    /// Removes a key and closes the gap.
    ///
    /// - Parameter expected: The value that the key must have; nil for any value.
    /// - Returns: The value of the removed key; nil if the table does not contain the key with this value.
    @discardableResult
    package func remove(_ key: Int64, of expected: UnsafeMutableRawPointer? = nil) -> UnsafeMutableRawPointer? {
        if key == 0 { return expected == nil || expected == valueOfZero ? setZero(nil) : nil }
        var place = home(of: key)
        while entries[place].key != key {
            let found = entries[place].key
            if found == 0 || distance(of: found, at: place) < distance(of: key, at: place) { return nil }
            place = (place &+ 1) & mask
        }
        let value = entries[place].value
        if let expected, expected != value { return nil }
        // The following entries move back, up to a free entry or an entry at its home.
        var next = (place &+ 1) & mask
        while entries[next].key != 0, distance(of: entries[next].key, at: next) > 0 {
            entries[place] = entries[next]
            place = next
            next = (next &+ 1) & mask
        }
        entries[place].key = 0
        count &-= 1
        #if DEBUG
            // Large tables are not checked, because each check reads all places.
            if count <= 64 && mask < 128 { checkInvariants() }
        #endif
        return value
    }

    package func forEach(_ body: (Int64, UnsafeMutableRawPointer) -> Void) {
        if let valueOfZero { body(0, valueOfZero) }
        for place in 0...mask where entries[place].key != 0 { body(entries[place].key, entries[place].value) }
    }
}
