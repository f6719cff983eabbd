/// The permanent keys that replaced temporary references, so that an old ID still finds its object.
///
/// Temporary references count down and a save gives out keys that count up, so objects that were made one after the other
/// make one run, however many they are.
struct FormerReferences {
    private struct Run {
        let reference: Int64
        let key: Int64
        var count: Int64 = 1
    }

    /// In the order of references, which descend.
    private var runs: [Run] = []
    /// What came after later references had their keys. A key is kept as the bits of a pointer.
    private var others: KeyTable?

    mutating func note(_ reference: Int64, became key: Int64) {
        guard let last = runs.last else { return runs.append(Run(reference: reference, key: key)) }
        if reference == last.reference - last.count && key == last.key + last.count {
            runs[runs.count - 1].count += 1
        } else if reference <= last.reference - last.count {
            runs.append(Run(reference: reference, key: key))
        } else if let bits = UnsafeMutableRawPointer(bitPattern: Int(key)) {
            let table = others ?? KeyTable()
            table.set(reference, bits)
            others = table
        }
    }

    func key(of reference: Int64) -> Int64? {
        // The last run that begins no later than the reference.
        var (low, high) = (0, runs.count)
        while low < high {
            let middle = (low + high) / 2
            if runs[middle].reference >= reference { low = middle + 1 } else { high = middle }
        }
        if low > 0 {
            let run = runs[low - 1]
            if run.reference - reference < run.count { return run.key + (run.reference - reference) }
        }
        return others?.find(reference).map { Int64(Int(bitPattern: $0)) }
    }
}
