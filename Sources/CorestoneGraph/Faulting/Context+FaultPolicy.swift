import CorestoneModel
import CorestoneValues

// Single faults are looked at where somebody asked for it: `faultWatch` is nil else.
extension Context {
    /// What happens when something is read alone that a prefetch would have read; `batch` at first.
    public var faultPolicy: FaultPolicy {
        get { onQueue { faultLoader.watch?.policy ?? .batch } }
        set { watchFaults { $0.policy = newValue } }
    }

    /// Whether single faults are counted, for `singleFaults`. Not at first; setting it to true begins anew.
    public var countsSingleFaults: Bool {
        get { onQueue { faultLoader.watch?.isCounting ?? false } }
        set { watchFaults { if newValue { $0.beginCounting() } else { $0.isCounting = false } } }
    }

    private func watchFaults(_ change: (FaultWatch) -> Void) {
        onQueue {
            let watch = faultLoader.watch ?? FaultWatch()
            change(watch)
            faultLoader.watch = watch.isNeeded ? watch : nil
        }
    }

    /// The single faults that were counted, by relationship and place in the host's code, most first.
    public var singleFaults: [SingleFaults] { onQueue { faultLoader.watch?.report ?? [] } }

    /// The same as lines for people; empty when there were none.
    public var singleFaultReport: String { singleFaults.map { $0.description + "\n" }.joined() }

    /// How many siblings one firing fault fills, itself among them: 256 at first, 1 for none.
    /// - Throws: `.invalidArgument` below 1 and above 65,536.
    public func setFaultBatchSize(_ size: Int) throws {
        guard (1...1 << 16).contains(size) else {
            throw CoreError(
                .invalidArgument, "the batch size of faults is \(size), but must be 1 to 65536",
                key: "fault_batch_size", value: .int(Int64(size)))
        }
        faultBatchSize = size
    }

    /// A fault, or the members of an object, are about to be read alone.
    func judgeSingleFault(_ object: ManagedObject, along relationship: Relationship?) throws {
        guard let faultWatch = faultLoader.watch else { return }
        // Asked before anything is locked: the answer is the host's. The fault may be one of many that a change of an object fires.
        let site = callSiteFinder.flatMap { find in closed(for: .callSite) { find() } }
        try faultWatch.judge(object, along: relationship, at: site ?? callSite)
    }

    /// Runs what the library does by itself, which the host cannot do otherwise: its faults are counted but not refused.
    func exemptFromFaultPolicy<Result>(_ body: () throws -> Result) rethrows -> Result {
        guard let faultWatch = faultLoader.watch else { return try body() }
        faultWatch.exemptions += 1
        defer { faultWatch.exemptions -= 1 }
        return try body()
    }
}
