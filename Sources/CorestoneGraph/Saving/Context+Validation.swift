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
        let plan = try gatherFailures(pendingPlan, into: &failures)
        try validateUniqueness(plan, into: &failures)
        try failures.check()
    }

    /// Validates the objects of a save.
    ///
    /// First, the application's validators run, which may change objects. Then the model's validation rules are
    /// checked. Returns without validation if the context is set to save without it.
    ///
    /// - Returns: The plan with the changes of the validators.
    func validated(_ plan: SavePlan) throws -> SavePlan {
        if settings.savesUnvalidated { return plan }
        var failures = ValidationFailures()
        let plan = try gatherFailures(plan, into: &failures)
        try failures.check()
        return plan
    }

    /// Validates a plan again, by the model's validation rules only.
    ///
    /// This is needed after a merge, because the policy may have removed references from objects without a conflict.
    func validateByModel(_ plan: SavePlan) throws {
        if settings.savesUnvalidated { return }
        var failures = ValidationFailures()
        try validateProperties(plan, into: &failures)
        try failures.check()
    }

    private func gatherFailures(_ first: SavePlan, into failures: inout ValidationFailures) throws -> SavePlan {
        let plan = try runValidators(first, into: &failures)
        try validateProperties(plan, into: &failures)
        for object in plan.deleted { try object.validateDenials(into: &failures) }
        return plan
    }

    private func validateProperties(_ plan: SavePlan, into failures: inout ValidationFailures) throws {
        for object in plan.inserted { try object.validateProperties(as: .insert, into: &failures) }
        for object in plan.updated { try object.validateProperties(as: .update, into: &failures) }
    }
}

/// The errors of one validation.
struct ValidationFailures {
    private(set) var errors: [CoreError] = []

    mutating func append(_ error: CoreError) { errors.append(error) }

    /// Throws the only error, or several as the children of one error. Returns if there are no errors.
    func check() throws {
        if errors.isEmpty { return }
        if errors.count == 1 { throw errors[0] }
        let objects = Set(errors.compactMap(\.objectURI)).count
        // If all errors concern one object, it is also the object of the parent error.
        let only = objects == 1 ? errors[0] : nil
        throw CoreError(
            .validation, code: .validationMultipleErrors,
            "\(objects) object\(objects == 1 ? " has" : "s have") \(errors.count) validation errors; the details list each",
            entity: only?.entity, objectURI: only?.objectURI, children: errors)
    }
}
