import CorestoneModel
import CorestoneValues

extension Context {
    /// Checks all that a save would write, and writes nothing. What a save checks before it asks the store, and whether these
    /// objects have values twice that must be unique (1551); which values the store has already, the save finds (133021).
    /// - Throws: the failure, or several as the children of one error with code 1560.
    public func validate() throws {
        try checkQueue()
        try processPendingChanges(appliesDeleteRules: true)
        var failures = ValidationFailures()
        let plan = try gatherFailures(pendingPlan, into: &failures)
        try validateUniqueness(plan, into: &failures)
        try failures.check()
    }

    /// Checks what a save would write: first by the host's validators, who may change it, then by the model's conditions.
    /// - Returns: the plan with what the validators changed.
    func validated(_ plan: SavePlan) throws -> SavePlan {
        if settings.savesUnvalidated { return plan }
        var failures = ValidationFailures()
        let plan = try gatherFailures(plan, into: &failures)
        try failures.check()
        return plan
    }

    /// Checks a plan once more by the model's conditions alone: a merge policy may have taken references from objects without any
    /// conflict of their own.
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

/// What is wrong with the objects of a save.
struct ValidationFailures {
    private(set) var errors: [CoreError] = []

    mutating func append(_ error: CoreError) { errors.append(error) }

    /// Throws the one failure, or several as the children of one error.
    func check() throws {
        if errors.isEmpty { return }
        if errors.count == 1 { throw errors[0] }
        let objects = Set(errors.compactMap(\.objectURI)).count
        // Where all is about one object, the error is too.
        let only = objects == 1 ? errors[0] : nil
        throw CoreError(
            .validation, code: .validationMultipleErrors,
            "\(objects) object\(objects == 1 ? " has" : "s have") \(errors.count) validation errors; the details list each",
            entity: only?.entity, objectURI: only?.objectURI, children: errors)
    }
}
