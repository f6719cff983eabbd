import CorestoneModel
import CorestoneValues

extension Context {
    /// Checks all that is about to be saved. Several failures come as the details of one error.
    func validateForSave(inserted: [ManagedObject], updated: [ManagedObject], deleted: [ManagedObject]) throws {
        var failures: [CoreError] = []
        for object in inserted { try object.validate(into: &failures) }
        for object in updated { try object.validate(into: &failures) }
        for object in deleted { try object.validateForDelete(into: &failures) }
        if failures.isEmpty { return }
        if failures.count == 1 { throw failures[0] }
        let objects = Set(failures.compactMap(\.objectURI)).count
        throw CoreError(
            .validation, code: .validationMultipleErrors,
            "\(failures.count) properties of \(objects) object\(objects == 1 ? "" : "s") are not valid; the details name each",
            children: failures)
    }
}

extension ManagedObject {
    /// Checks the properties that the model sets conditions for: those changed, or all of an inserted object.
    func validate(into failures: inout [CoreError]) throws {
        let isNew = state.contains(.inserted)
        let slots = entity.layout.slots
        for slot in 0..<Int(entity.slotCount) {
            switch slots[slot].role {
            case .attribute, .external, .transient:
                if isNew || overlay?.isChanged(slot) == true { validate(slot, slots[slot], into: &failures) }
            case .toOne:
                guard slots[slot].conditions.contains(.required), isNew || overlay?.isChanged(slot) == true else {
                    continue
                }
                let relationship = entity.relationship(slot)
                if try target(of: relationship) == nil { failures.append(missing(relationship)) }
            case .toMany:
                guard slots[slot].conditions.contains(.bounded),
                    isNew || toMany(ordinal: Int(slots[slot].ordinal))?.hasChanges == true
                else { continue }
                try validateCount(entity.relationship(slot), into: &failures)
            }
        }
    }

    private func validate(_ slot: Int, _ layout: SlotLayout, into failures: inout [CoreError]) {
        guard let overlay, overlay.isChanged(slot), !overlay.values[slot].isNull else {
            if layout.conditions.contains(.required) { failures.append(missing(entity.attribute(slot))) }
            return
        }
        guard layout.kind == .double || layout.kind == .date || layout.role == .transient else { return }
        switch overlay.values[slot] {
        case .double(let number): if !number.isFinite { validate(number, entity.attribute(slot), into: &failures) }
        case .date(let seconds):
            if !seconds.isFinite { validate(date: seconds, entity.attribute(slot), into: &failures) }
        default: break
        }
    }

    private func validate(_ number: Double, _ attribute: Attribute, into failures: inout [CoreError]) {
        if !attribute.allowsNaN {
            failures.append(
                CoreError(
                    .validation, code: .managedObjectValidation,
                    "\(entity.name).\(attribute.name) is \(number), which is no number that every store can keep; "
                        + "let the attribute allow it, or set another value", entity: entity.name, key: attribute.name,
                    value: .double(number), objectURI: objectID.uri))
        }
    }

    private func validate(date seconds: Double, _ attribute: Attribute, into failures: inout [CoreError]) {
        failures.append(
            CoreError(
                .validation, code: .validationInvalidDate, "\(entity.name).\(attribute.name) is no date (\(seconds))",
                entity: entity.name, key: attribute.name, value: .date(seconds), objectURI: objectID.uri))
    }

    private func missing(_ property: Property) -> CoreError {
        CoreError(
            .validation, code: .validationMissingMandatoryProperty,
            "\(entity.name).\(property.name) is required and has no value; set it before saving", entity: entity.name,
            key: property.name, objectURI: objectID.uri)
    }

    private func validateCount(_ relationship: Relationship, into failures: inout [CoreError]) throws {
        let count = try toMany(relationship).count()
        // An empty optional relationship is not held to its bounds (NSRelationshipDescription).
        if count == 0 && relationship.isOptional { return }
        if count == 0 && relationship.minimumCount == 0 { return failures.append(missing(relationship)) }
        let (minimum, maximum) = (Int(relationship.minimumCount), Int(relationship.maximumCount))
        if count < minimum {
            failures.append(
                wrongCount(relationship, .validationRelationshipLacksMinimumCount, count, "at least \(minimum)"))
        } else if maximum > 0 && count > maximum {
            failures.append(
                wrongCount(relationship, .validationRelationshipExceedsMaximumCount, count, "at most \(maximum)"))
        }
    }

    private func wrongCount(_ relationship: Relationship, _ code: CocoaCode, _ count: Int, _ bound: String) -> CoreError
    {
        CoreError(
            .validation, code: code,
            "\(entity.name).\(relationship.name) has \(count) member\(count == 1 ? "" : "s"); it must have \(bound)",
            entity: entity.name, key: relationship.name, value: .int(Int64(count)), objectURI: objectID.uri)
    }

    /// Deny: an object whose relationship still leads to objects that stay may not be deleted.
    func validateForDelete(into failures: inout [CoreError]) throws {
        guard let context else { return }
        for relationship in entity.relationships where relationship.deleteRule == .deny {
            let staying = try context.targets(of: relationship, self).filter { !$0.isDeleted }
            if staying.isEmpty { continue }
            failures.append(
                CoreError(
                    .validation, code: .validationRelationshipDeniedDelete,
                    "this \(entity.name) cannot be deleted while \(entity.name).\(relationship.name) has "
                        + "\(staying.count) object\(staying.count == 1 ? "" : "s"); delete or move them first",
                    entity: entity.name,
                    key: relationship.name, value: .int(Int64(staying.count)), objectURI: objectID.uri))
        }
    }
}
