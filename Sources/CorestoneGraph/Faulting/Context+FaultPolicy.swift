import CorestoneModel
import CorestoneValues

// Single faults are tracked only if a fault policy or the report requires it; otherwise `faultWatch` is nil.
extension Context {
    /// The reaction to reading single objects or lists that a prefetch would have read. The default is `batch`.
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

    /// Sets the number of faults of a group that a firing fault loads, including itself.
    ///
    /// The default is 256; 1 loads only the fault itself.
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

    /// Applies the fault policy before a fault, or the members of an object, are read alone.
    func judgeSingleFault(_ object: ManagedObject, along relationship: Relationship?) throws {
        guard let faultWatch = faultLoader.watch else { return }
        // Called before any lock is taken, because it runs the application's code. The context is closed meanwhile,
        // because the fault may fire during a change of an object.
        let site = callSiteFinder.flatMap { find in closed(for: .callSite) { find() } }
        try faultWatch.judge(object, along: relationship, at: site ?? callSite)
    }

    /// Runs work of the library that the application cannot change.
    ///
    /// Its faults are counted, but the fault policy does not reject them.
    func exemptFromFaultPolicy<Result>(_ body: () throws -> Result) rethrows -> Result {
        guard let faultWatch = faultLoader.watch else { return try body() }
        faultWatch.exemptions += 1
        defer { faultWatch.exemptions -= 1 }
        return try body()
    }
}
