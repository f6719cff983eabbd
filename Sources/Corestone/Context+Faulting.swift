import CorestoneGraph

extension Context {
    /// Records the current source location, for the report of single faults (`singleFaults`) and the fault policy.
    ///
    /// It applies until the next call.
    ///
    ///     context.markCallSite()
    ///     for employee in employees { print(try employee.get("department.name") ?? "") }
    public func markCallSite(file: StaticString = #fileID, line: Int = #line) {
        callSite = CallSite(file: file.description, line: line)
    }
}
