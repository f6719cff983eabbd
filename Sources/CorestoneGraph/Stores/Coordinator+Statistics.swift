import CorestoneValues

extension Coordinator {
    /// What was asked of the stores since the coordinator was made, or since the numbers were reset.
    public var statistics: Statistics { countLock.with { counted } }
    /// Begins to count anew.
    public func resetStatistics() { count { $0 = Statistics() } }

    @inline(__always)
    func count(_ change: (inout Statistics) -> Void) { countLock.with { change(&counted) } }

    /// What contexts have asked of the stores: Core Data's counters of fetches, faults, saves and cache misses.
    public struct Statistics: Sendable, Equatable {
        /// Requests that stores answered, counts and fetches of IDs among them.
        public internal(set) var fetches = 0
        /// Rows and IDs that they gave.
        public internal(set) var fetchedRows = 0
        /// Faults that fired: objects whose row was needed one by one, wherever it came from. Many of them for one fetch are the
        /// N+1 problem; prefetching helps.
        public internal(set) var faults = 0
        /// Rows that stores gave to faults, their siblings and prefetching.
        public internal(set) var faultedRows = 0
        /// Queries for the members of to-many relationships.
        public internal(set) var relationshipFaults = 0
        /// Rows that were in the coordinator's row cache when an object needed them.
        public internal(set) var cacheHits = 0
        /// Rows that were not.
        public internal(set) var cacheMisses = 0
        /// Saves that wrote something, once for each store.
        public internal(set) var saves = 0
        /// Objects that they inserted.
        public internal(set) var inserted = 0
        /// Objects that they changed.
        public internal(set) var updated = 0
        /// Objects that they deleted.
        public internal(set) var deleted = 0
        /// Time in stores for fetches, in nanoseconds.
        public internal(set) var fetchNanoseconds: UInt64 = 0
        /// Time for saves, in nanoseconds.
        public internal(set) var saveNanoseconds: UInt64 = 0

        /// Memory, in bytes, of the rows that objects and row caches of the whole process hold when the numbers are asked for.
        public var rowBytes: Int { RecordChunk.liveBytes }

        public init() {}

        /// Counts a save that went through.
        mutating func saved(_ part: SavePlan, in nanoseconds: UInt64) {
            saves += 1
            inserted += part.inserted.count
            updated += part.updated.count
            deleted += part.deleted.count
            saveNanoseconds += nanoseconds
        }

        /// Counts a request that a store answered, or a batch of a cursor's, which is none of its own.
        mutating func fetched(_ rows: Int, in nanoseconds: UInt64, requests: Int = 1) {
            fetches += requests
            fetchedRows += rows
            fetchNanoseconds += nanoseconds
        }
    }
}
