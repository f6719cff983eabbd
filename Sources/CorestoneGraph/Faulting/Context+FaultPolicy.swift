import CorestoneModel
import CorestoneValues

// Single faults are tracked only if a fault policy or the report requires it; otherwise `faultLoader.watch` is nil.
extension Context {
    /// The reaction to single faults, many of which a prefetch can avoid. The default is `batch`.
    public var faultPolicy: FaultPolicy {
        get { onQueue { faultLoader.watch?.policy ?? .batch } }
        set { watchFaults { $0.policy = newValue } }
    }

    /// Whether single faults are counted for `singleFaults`.
    ///
    /// The default is false. Setting it to true resets the counts.
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

    /// The counted single faults by relationship and call site, in descending order of their counts.
    public var singleFaults: [SingleFaults] { onQueue { faultLoader.watch?.report ?? [] } }

    /// The counted single faults as readable lines; empty if there were no single faults.
    public var singleFaultReport: String { singleFaults.map { $0.description + "\n" }.joined() }

    /// Sets the maximum number of faults of a group that are loaded when one of them fires, including that fault.
    ///
    /// The default is 256. With 1, only the fault that fires is loaded.
    ///
    /// - Throws: `.invalidArgument` below 1 and above 65,536.
    public func setFaultBatchSize(_ size: Int) throws {
        guard (1...1 << 16).contains(size) else {
            throw CoreError(
                .invalidArgument, "the batch size of faults is \(size), but must be 1 to 65536",
                key: "fault_batch_size", value: .int(Int64(size)))
        }
        faultBatchSize = size
    }

    /// Applies the fault policy before a fault, or the members of an object, are read with a separate query.
    func applyFaultPolicy(_ object: ManagedObject, along relationship: Relationship?) throws {
        guard let faultWatch = faultLoader.watch else { return }
        // The caller must not hold a lock, because `callSiteFinder` is the application's code. The context rejects its
        // calls meanwhile, because the fault may fire during a change of an object.
        let site = callSiteFinder.flatMap { find in closed(for: .callSite) { find() } }
        try faultWatch.applyPolicy(object, along: relationship, at: site ?? callSite)
    }

    /// Runs work of the library that the application cannot change.
    ///
    /// Its single faults are counted, but the fault policy neither logs nor rejects them.
    func exemptFromFaultPolicy<Result>(_ body: () throws -> Result) rethrows -> Result {
        guard let faultWatch = faultLoader.watch else { return try body() }
        faultWatch.exemptions += 1
        defer { faultWatch.exemptions -= 1 }
        return try body()
    }
}
