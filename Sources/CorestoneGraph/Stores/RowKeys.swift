/// The set of primary keys of an entity tree's rows.
///
/// In most stores, the keys are dense, so a bitmap needs less memory than a set. An untrusted file may have keys at any
/// distance.
struct RowKeys {
    private var lowest: Int64 = 1
    private var highest: Int64 = 0
    /// A bit for each number from `lowest` to `highest`; empty if all of them are keys, or for sparse keys.
    private var bits: [UInt64] = []
    /// The keys, if they are sparse.
    private var sparse: Set<Int64>?

    /// The maximum number of bits per key for which a bitmap needs less memory than a set.
    private static let bitsForEach = 64

    /// Creates an empty set.
    init() {}

    /// Creates a set of keys.
    ///
    /// - Parameter keys: Distinct keys within the bounds.
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
