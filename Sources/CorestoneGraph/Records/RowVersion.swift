/// The version of a row (`Z_OPT`).
///
/// A save compares versions only for equality, so a version must not be reused for other contents of the row.
package enum RowVersion {
    /// Returns the next version. The highest version is followed by 1.
    ///
    /// A version thus recurs after about two billion saves, and only a writer with a row of that age would miss a
    /// conflict. A negative version, which another program must have written, is followed by 1 too.
    @inline(__always)
    package static func next(_ version: Int32) -> Int32 {
        UInt32(bitPattern: version) < UInt32(Int32.max) ? version &+ 1 : 1
    }

    /// Returns the version of a deleted row that is inserted again with its key.
    ///
    /// Other writers may have read later versions than `version`. The result is therefore at a random distance from
    /// `version`, so that two writers are unlikely to choose the same version.
    static func revived(_ version: Int32) -> Int32 {
        let step = Int32.random(in: 1 << 16..<1 << 24)
        let (sum, overflow) = version.addingReportingOverflow(step)
        return overflow || sum < step ? step : sum
    }
}
