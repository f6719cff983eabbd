import CorestoneModel
import CorestoneValues

/// The validation of the objects of a save, by the validators of the application and the rules of the model.
struct SaveValidation {
    let context: Context

    /// Validates the objects of a save.
    ///
    /// First, the application's validators run, which may change objects. Then the model's validation rules are
    /// checked. Returns without validation if the context is set to save without it.
    ///
    /// - Returns: The plan with the changes of the validators.
    func validated(_ plan: SavePlan) throws -> SavePlan {
        if context.settings.savesUnvalidated { return plan }
        var failures = ValidationFailures()
        let plan = try gatherFailures(plan, into: &failures)
        try failures.check()
        return plan
    }

    /// Validates a plan again, by the model's validation rules only.
    ///
    /// This is needed after a merge, because the merge policy may have removed references from objects without a
    /// conflict.
    func validateByModel(_ plan: SavePlan) throws {
        if context.settings.savesUnvalidated { return }
        var failures = ValidationFailures()
        try validateProperties(plan, into: &failures)
        try failures.check()
    }

    /// Runs the validators, checks the model's validation rules, and collects the failures.
    ///
    /// - Parameter action: Completes "the context must not be …": "saved" or "validated".
    /// - Returns: The plan with the changes of the validators.
    func gatherFailures(
        _ first: SavePlan, action: String = "saved", into failures: inout ValidationFailures
    ) throws -> SavePlan {
        let plan = try runValidators(first, action: action, into: &failures)
        try validateProperties(plan, into: &failures)
        for object in plan.deleted { try object.validateDenials(into: &failures) }
        return plan
    }

    private func validateProperties(_ plan: SavePlan, into failures: inout ValidationFailures) throws {
        for object in plan.inserted { try object.validateProperties(as: .insert, into: &failures) }
        for object in plan.updated { try object.validateProperties(as: .update, into: &failures) }
    }

    /// The maximum number of rounds of a save in which validators change further objects.
    static let maximumValidationRounds = 100

    /// Runs the application's validators on all objects that a save would write.
    ///
    /// Objects that validators change are written too. They are validated unless they already were.
    ///
    /// - Returns: The plan with these objects.
    func runValidators(
        _ first: SavePlan, action: String = "saved", into failures: inout ValidationFailures
    ) throws -> SavePlan {
        guard context.coordinator.model.hasValidators else { return first }
        guard !context.hookState.isRunningValidators else {
            throw CoreError(
                .invalidArgument,
                "\(context.label.text) must not be \(action) while its validators run; call "
                    + (action == "saved" ? "cst_context_save (save)" : "cst_context_validate (validate)")
                    + " after the validation has ended")
        }
        context.hookState.isRunningValidators = true
        defer { context.hookState.isRunningValidators = false }
        var validated: Set<ValidatedObject> = []
        // The plans are retained, so that the address of an object of an earlier round is not reused.
        var plans = [first]
        while plans.count <= SaveValidation.maximumValidationRounds {
            let plan = plans[plans.count - 1]
            var isNew = false
            let groups = [
                (plan.inserted, ValidationPurpose.insert), (plan.updated, .update), (plan.deleted, .delete),
            ]
            for (objects, purpose) in groups {
                for object in objects where validated.insert(ValidatedObject(object, purpose)).inserted {
                    isNew = true
                    // Another validator may have deleted the object, which may then have left the context.
                    if object.state.contains(.detached) || object.isDeleted != (purpose == .delete) { continue }
                    try object.runValidators(purpose, into: &failures)
                }
            }
            if !isNew { return plan }
            try context.processPendingChanges(appliesDeleteRules: true)
            plans.append(context.pendingPlan)
        }
        let last = plans[plans.count - 1]
        let changed: ManagedObject? =
            last.inserted.first { !validated.contains(ValidatedObject($0, .insert)) }
            ?? last.updated.first { !validated.contains(ValidatedObject($0, .update)) }
            ?? last.deleted.first { !validated.contains(ValidatedObject($0, .delete)) }
        guard let changed else { return last }
        throw CoreError(
            .validation, code: .managedObjectValidation,
            "validators still change other objects after \(SaveValidation.maximumValidationRounds) rounds, "
                + "most recently \(changed.entity.name) \(changed.objectID.uri). Change a value in a validator only if "
                + "the new value differs, and do not insert, change or delete other objects recursively",
            entity: changed.entity.name, objectURI: changed.objectID.uri)
    }

    /// Reports new and changed objects that violate a unique constraint among themselves.
    ///
    /// In a save, the store performs this check, including stored rows, and reports code 133021. The check before a
    /// save covers only the objects of the context and reports code 1551. Null is not equal to null, as in the store.
    func validateUniqueness(_ plan: SavePlan, into failures: inout ValidationFailures) throws {
        for group in try UniqueGroups(of: plan.inserted + plan.updated).list {
            for object in group.objects.dropFirst() {
                failures.append(object.uniquenessError(group.place.keys, group.place.values, group.objects[0]))
            }
        }
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
        // If all errors concern one object, the parent error names this object too.
        let only = objects == 1 ? errors[0] : nil
        throw CoreError(
            .validation, code: .validationMultipleErrors,
            "\(objects) object\(objects == 1 ? " has" : "s have") \(errors.count) validation errors; correct each "
                + "error in the details",
            entity: only?.entity, objectURI: only?.objectURI, children: errors)
    }
}

/// An object that was validated for a purpose.
private struct ValidatedObject: Hashable {
    let object: ObjectIdentifier
    let purpose: ValidationPurpose

    init(_ object: ManagedObject, _ purpose: ValidationPurpose) {
        self.object = ObjectIdentifier(object)
        self.purpose = purpose
    }
}
