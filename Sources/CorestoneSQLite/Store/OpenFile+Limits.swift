import CSQLite
import CorestoneGraph
import CorestoneValues

// The limits of one writing statement, including the triggers that it fires.
extension OpenFile {
    private var steps: Int {
        connection.fileSize.multipliedClamped(by: StoreLimits.stepsPerByte).addingClamped(connection.limits.steps)
    }

    /// Sets the limits of writing statements until `progress.endWriting`.
    ///
    /// - Parameter others: The bytes that page caches of other connections may allocate in the meantime, because SQLite
    ///   reports only the memory of the whole process.
    func limitWriting(besides others: Int) {
        let memory = connection.limits.expressionBytes.addingClamped(others)
        progress.limitWriting(toSteps: steps, memory: hasTriggers ? memory : nil)
    }

    /// Returns the error for a statement that exceeded a limit, or nil for a statement that failed for another reason.
    func excess(_ error: any Error) -> CoreError? {
        guard let excess = progress.excess, let error = error as? CoreError, error.sqliteCode & 0xff == SQLITE_INTERRUPT
        else { return nil }
        let limits = connection.limits
        let (key, value, bound) =
            switch excess {
            case .steps:
                (
                    "step_limit", limits.steps,
                    "\(limits.steps) SQLite instructions, plus \(StoreLimits.stepsPerByte) for each byte of the file"
                )
            case .memory:
                (
                    "memory_limit", limits.expressionBytes,
                    "\(limits.expressionBytes) bytes"
                )
            }
        let source = hasTriggers ? "a statement and its triggers exceed" : "a statement exceeds"
        return CoreError(
            .storeIO, code: .persistentStoreSave,
            "cannot save to \(connection.path): \(source) \(key) (\(bound)); raise \(key) if the file is trusted",
            key: key, value: .int(Int64(value)), sqliteCode: error.sqliteCode, file: connection.path)
    }
}
