import CCorestone
import CorestoneGraph

@_cdecl("cst_coordinator_statistics") @implementation
public func cst_coordinator_statistics(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<cst_statistics>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try sized(out, "out_statistics")
        let counted = try coordinator(pointer).coordinator.statistics
        var statistics = cst_statistics()
        statistics.fetches = UInt64(counted.fetches)
        statistics.fetched_rows = UInt64(counted.fetchedRows)
        statistics.faults = UInt64(counted.faults)
        statistics.faulted_rows = UInt64(counted.faultedRows)
        statistics.relationship_faults = UInt64(counted.relationshipFaults)
        statistics.cache_hits = UInt64(counted.cacheHits)
        statistics.cache_misses = UInt64(counted.cacheMisses)
        statistics.saves = UInt64(counted.saves)
        statistics.inserted = UInt64(counted.inserted)
        statistics.updated = UInt64(counted.updated)
        statistics.deleted = UInt64(counted.deleted)
        statistics.fetch_nanoseconds = counted.fetchNanoseconds
        statistics.save_nanoseconds = counted.saveNanoseconds
        statistics.row_bytes = UInt64(counted.rowBytes)
        out.fill(statistics)
    }
}

@_cdecl("cst_coordinator_reset_statistics") @implementation
public func cst_coordinator_reset_statistics(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    boundary(error) { try coordinator(pointer).coordinator.resetStatistics() }
}
