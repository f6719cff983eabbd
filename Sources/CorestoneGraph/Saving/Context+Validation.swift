import CorestoneModel
import CorestoneValues

extension Context {
    /// Validates the pending changes as a save does, without saving them. Save hooks do not run.
    ///
    /// Also checks unique constraints among these objects (code 1551). Only a save detects conflicts with stored rows
    /// (code 133021).
    ///
    /// - Throws: The validation error, or several as the children of one error with code 1560.
    public func validate() throws {
        try checkQueue()
        try processPendingChanges(appliesDeleteRules: true)
        var failures = ValidationFailures()
        let plan = try saveValidation.gatherFailures(pendingPlan, action: "validated", into: &failures)
        try saveValidation.validateUniqueness(plan, into: &failures)
        try failures.check()
    }
}
