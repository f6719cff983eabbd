/// Which version a row gets (`Z_OPT`). A save compares for equality alone: what matters is that nobody holds the number for other
/// contents of the row.
package enum RowVersion {
    /// After the last number comes 1, which differs from it as well as any other: who still holds the 1 of so many saves ago would have
    /// to have read it then. A negative one, which only others can have written, is left behind, too.
    @inline(__always)
    package static func next(_ version: Int32) -> Int32 {
        UInt32(bitPattern: version) < UInt32(Int32.max) ? version &+ 1 : 1
    }

    /// Of a row that somebody deleted, and that comes again under its key. It may have had later versions, which others have read, than
    /// the one that it is known with: so it goes on far from there, at a place that two who do this do not share.
    static func revived(_ version: Int32) -> Int32 {
        let step = Int32.random(in: 1 << 16..<1 << 24)
        let (sum, overflow) = version.addingReportingOverflow(step)
        return overflow || sum < step ? step : sum
    }
}
