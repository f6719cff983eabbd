import CorestoneGraph

extension Context {
    /// Records the source location of the call, for the report of single faults (`singleFaults`) and the fault policy.
    ///
    /// The location applies until the next call of this function.
    ///
    ///     context.markCallSite()
    ///     for employee in employees { print(try employee.get("department.name") ?? "") }
    public func markCallSite(file: StaticString = #fileID, line: Int = #line) {
        callSite = CallSite(file: file.description, line: line)
    }
}
