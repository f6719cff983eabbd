import CorestoneGraph

extension Context {
    /// Says where the host's code is, for the report of single faults (`singleFaults`) and the fault policy. It stands until it
    /// is said again.
    ///
    ///     context.markCallSite()
    ///     for employee in employees { print(try employee.get("department.name") ?? "") }
    public func markCallSite(file: StaticString = #fileID, line: Int = #line) {
        callSite = CallSite(file: file.description, line: line)
    }
}
