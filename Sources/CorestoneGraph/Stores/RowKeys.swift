/// Which keys the rows of a tree have. Most stores have nearly all keys from the first to the last one, so a bit for each is less
/// than a set; a stranger's file may have keys as far apart as numbers go.
struct RowKeys {
    private var lowest: Int64 = 1
    private var highest: Int64 = 0
    /// A bit for each key from `lowest` on; empty where all are there.
    private var bits: [UInt64] = []
    /// Where keys are far apart.
    private var sparse: Set<Int64>?

    /// A bit for each of so many keys costs less than a row of a set.
    private static let bitsForEach = 64

    /// None.
    init() {}

    /// - Parameter keys: each once, none outside of the bounds.
    init(_ keys: [Int64], lowest: Int64, highest: Int64) {
        (self.lowest, self.highest) = (lowest, highest)
        let (span, overflow) = highest.subtractingReportingOverflow(lowest)
        if !overflow, span < Int64(keys.count) { return }
        guard !overflow, span / Int64(RowKeys.bitsForEach) <= Int64(keys.count) else {
            sparse = Set(keys)
            return
        }
        bits = Array(repeating: 0, count: Int(span) / 64 + 1)
        for key in keys { bits[Int(key - lowest) >> 6] |= 1 << UInt64((key - lowest) & 63) }
    }

    func contains(_ key: Int64) -> Bool {
        guard key >= lowest, key <= highest else { return false }
        if let sparse { return sparse.contains(key) }
        return bits.isEmpty || bits[Int(key - lowest) >> 6] >> UInt64((key - lowest) & 63) & 1 != 0
    }
}
