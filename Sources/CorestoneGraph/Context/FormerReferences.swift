/// The permanent keys that replaced temporary references, for the lookup of temporary IDs.
///
/// Temporary references descend, and the keys that a save assigns usually ascend. Objects that are created
/// consecutively therefore usually share one run.
struct FormerReferences {
    /// Consecutive references, descending from `reference`, with consecutive keys, ascending from `key`.
    private struct Run {
        let reference: Int64
        let key: Int64
        var count: Int64 = 1
    }

    /// The runs, in descending order of references.
    private var runs: [Run] = []
    /// References whose keys were recorded after that of a later reference. A key is stored as the bits of a pointer.
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
        // Finds the last run that does not start after the reference.
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
