import CorestoneModel
import CorestoneValues

extension Context {
    /// The reaction to single faults, many of which a prefetch can avoid. The default is `batch`.
    public var faultPolicy: FaultPolicy {
        get { onQueue { faultState.watch?.policy ?? .batch } }
        set { watchFaults { $0.policy = newValue } }
    }

    /// Whether single faults are counted for `singleFaults`.
    ///
    /// The default is false. Setting it to true resets the counts.
    public var countsSingleFaults: Bool {
        get { onQueue { faultState.watch?.isCounting ?? false } }
        set { watchFaults { if newValue { $0.beginCounting() } else { $0.isCounting = false } } }
    }

    private func watchFaults(_ change: (FaultWatch) -> Void) {
        onQueue { faultState.changeWatch(change) }
    }

    /// The counted single faults by relationship and call site, in descending order of their counts.
    public var singleFaults: [SingleFaults] { onQueue { faultState.watch?.report ?? [] } }

    /// The counted single faults as readable lines; empty if there were no single faults.
    public var singleFaultReport: String { singleFaults.map { $0.description + "\n" }.joined() }

    /// Sets the maximum number of faults that are loaded together when a fault fires, including that fault.
    ///
    /// They are faults that the same fetch returned. The default is 256. With 1, only the fault that fires is loaded.
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
}
