extension KeyTable {
    /// Verifies, in debug builds, the rules that searches and removals rely on:
    /// - The capacity is a power of two, and at least one entry is free.
    /// - `count` is the number of entries with a key.
    /// - Robin Hood order: an entry is at most one place farther from its home than its predecessor, and an entry after
    ///   a free one is at its home.
    ///
    /// Called after the table grew, and after a removal from a table of at most 128 places and 64 entries.
    func checkInvariants() {
        #if DEBUG
            let capacity = mask + 1
            precondition(
                capacity & mask == 0 && count < capacity,
                "a key table is full, or its capacity is not a power of two")
            var used = valueOfZero == nil ? 0 : 1
            for place in 0..<capacity where entries[place].key != 0 {
                used += 1
                let distance = distance(of: entries[place].key, at: place)
                let former = (place &- 1) & mask
                let limit = entries[former].key == 0 ? 0 : self.distance(of: entries[former].key, at: former) + 1
                precondition(distance <= limit, "an entry of a key table cannot be found")
            }
            precondition(used == count, "the count of a key table is not the number of its keys")
        #endif
    }
}
