import CorestoneValues

extension Coordinator {
    /// The counters since the coordinator was created or the counters were reset.
    public var statistics: Statistics { countLock.with { counted } }
    /// Resets the counters.
    public func resetStatistics() { count { $0 = Statistics() } }

    @inline(__always)
    func count(_ change: (inout Statistics) -> Void) { countLock.with { change(&counted) } }

    /// The counters of store accesses by contexts: fetches, faults, saves and cache misses, as in Core Data.
    public struct Statistics: Sendable, Equatable {
        /// The number of requests to stores, including counts and fetches of IDs.
        public internal(set) var fetches = 0
        /// The number of rows and IDs that the requests in `fetches` returned.
        public internal(set) var fetchedRows = 0
        /// The number of fired faults: objects whose rows were needed one by one, from the row cache or a store.
        ///
        /// A high number per fetch indicates the N+1 problem, which prefetching avoids.
        public internal(set) var faults = 0
        /// The number of rows that stores returned for faults, their siblings and prefetching.
        public internal(set) var faultedRows = 0
        /// The number of queries for the members of to-many relationships.
        public internal(set) var relationshipFaults = 0
        /// The number of rows that an object needed and that were in the row cache.
        public internal(set) var cacheHits = 0
        /// The number of rows that an object needed and that were not in the row cache.
        public internal(set) var cacheMisses = 0
        /// The number of saves, counted once for each store.
        public internal(set) var saves = 0
        /// The number of objects that saves inserted.
        public internal(set) var inserted = 0
        /// The number of objects that saves updated.
        public internal(set) var updated = 0
        /// The number of objects that saves deleted.
        public internal(set) var deleted = 0
        /// The time spent in stores for fetches, in nanoseconds.
        public internal(set) var fetchNanoseconds: UInt64 = 0
        /// The time spent in saves, in nanoseconds.
        public internal(set) var saveNanoseconds: UInt64 = 0

        /// The current memory, in bytes, of the rows that objects and row caches of the whole process use.
        public var rowBytes: Int { RecordChunk.liveBytes }

        public init() {}

        /// Counts a successful save.
        mutating func saved(_ part: SavePlan, in nanoseconds: UInt64) {
            saves += 1
            inserted += part.inserted.count
            updated += part.updated.count
            deleted += part.deleted.count
            saveNanoseconds += nanoseconds
        }

        /// Counts a request to a store. A batch of a cursor is not a separate request.
        mutating func fetched(_ rows: Int, in nanoseconds: UInt64, requests: Int = 1) {
            fetches += requests
            fetchedRows += rows
            fetchNanoseconds += nanoseconds
        }
    }
}
