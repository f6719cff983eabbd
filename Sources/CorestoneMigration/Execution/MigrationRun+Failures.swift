import CorestoneGraph
import CorestoneModel
import CorestoneValues

// Functions that add the mapping, the property and the object to errors.
extension MigrationRun {
    /// Runs a stage of a policy, and adds the policy and the mapping to an error of the stage.
    func staged(
        _ plan: EntityPlan, _ stage: String, _ source: ManagedObject? = nil, _ body: () throws -> Void
    ) throws {
        do { try body() } catch {
            if let error = error as? CoreError, isFinal(error) { throw error }
            // The objects of the contexts end with the migration.
            let cause = (error as? CoreError)?.withoutObjects
            throw CoreError(
                .migration, code: .entityMigrationPolicy,
                "\(stage) of the migration policy \"\(plan.mapping.policyClassName ?? "")\" failed in the entity mapping "
                    + "\"\(plan.mapping.name)\": \(cause?.message ?? "\(error)")",
                entity: cause?.entity ?? plan.destination?.name ?? plan.source?.name, key: cause?.key,
                value: cause?.value,
                objectURI: source?.objectID.uri ?? cause?.objectURI, children: cause.map { [$0] } ?? [],
                sqliteCode: cause?.sqliteCode ?? 0, file: path)
        }
    }

    /// Runs `body`, which sets one property, and adds the mapping and the property to an error of `body`.
    func evaluating<T>(
        _ plan: EntityPlan, _ property: Property, _ source: ManagedObject?, _ body: () throws -> T
    ) throws -> T {
        let entity = plan.destination?.name ?? property.entity.name
        do { return try body() } catch let error as CoreError {
            if isFinal(error) { throw error }
            throw failure(
                "the entity mapping \"\(plan.mapping.name)\" cannot set \(entity).\(property.name)", error,
                entity: entity,
                key: property.name, source)
        }
    }

    /// Runs another part of a mapping's work, and adds the mapping and the part to an error of `body`.
    func evaluating<T>(
        _ plan: EntityPlan, _ work: String, _ source: ManagedObject? = nil, _ body: () throws -> T
    ) throws -> T {
        do { return try body() } catch let error as CoreError {
            if isFinal(error) { throw error }
            let entity = plan.source?.name ?? plan.destination?.name
            let action = work.hasPrefix("the ") ? "cannot evaluate \(work)" : "cannot \(work)"
            throw failure(
                "the entity mapping \"\(plan.mapping.name)\" \(action)", error, entity: entity, key: error.key, source)
        }
    }

    private func failure(
        _ beginning: String, _ cause: CoreError, entity: String?, key: String?, _ source: ManagedObject?
    ) -> CoreError {
        let cause = cause.withoutObjects
        return CoreError(
            .migration, code: .migration, "\(beginning): \(cause.message)", entity: entity, key: key,
            value: cause.value,
            objectURI: source?.objectID.uri, children: [cause], sqliteCode: cause.sqliteCode,
            file: path)
    }

    /// Whether an error is not wrapped: a cancellation, an error of a policy, or an error that already has its mapping.
    private func isFinal(_ error: CoreError) -> Bool {
        error.status == .cancelled || error.status == .migration || error === manager.cancellationError
    }

    /// Returns the error of the migration for an error of a save or of the final validation.
    func failure(of error: CoreError) -> CoreError {
        if isFinal(error) { return error }
        let error = error.withoutObjects
        let isUnique =
            error.code == CocoaCode.managedObjectConstraintMerge.rawValue
            || error.code == CocoaCode.managedObjectConstraintValidation.rawValue
        let isValidation = error.status == .validation || isUnique
        guard isValidation else {
            return error.within("cannot save the migrated objects", file: error.file ?? path)
        }
        return CoreError(
            .migration, code: isUnique ? .migrationConstraintViolation : .migration,
            "the migrated objects are not valid: "
                + (isUnique
                    ? "\(error.message.withoutRemedy); change the values in the source store first, or map them to "
                        + "unique values"
                    : error.message),
            entity: error.entity, key: error.key,
            value: error.value,
            predicate: error.predicate, objectURI: error.objectURI, children: [error],
            sqliteCode: error.sqliteCode, file: path)
    }
}
