import CorestoneModel
import CorestoneValues

extension ManagedObject {
    /// Validates the object like a save that inserts, updates or deletes it.
    ///
    /// - Parameter asksHook: Whether to run the entity's own hook (`LifecycleHooks.validate`). False for a call from
    ///   that hook.
    /// - Throws: The failure. Several failures are the children of one error with code 1560.
    public func validate(for purpose: ValidationPurpose, asksHook: Bool = true) throws {
        try context?.checkQueue()
        try fireIfNeeded()
        var failures = ValidationFailures()
        try runValidators(purpose, asksHook: asksHook, into: &failures)
        try validateByModel(purpose, into: &failures)
        try failures.check()
    }

    /// Validates the object against the model, without the application's validators.
    func validateByModel(_ purpose: ValidationPurpose, into failures: inout ValidationFailures) throws {
        if purpose == .delete {
            try validateDenials(into: &failures)
        } else {
            try validateProperties(as: purpose, into: &failures)
        }
    }

    /// Validates the object like a save that inserts it.
    public func validateForInsert() throws { try validate(for: .insert) }
    /// Validates the object like a save that updates it.
    public func validateForUpdate() throws { try validate(for: .update) }
    /// Validates the object like a save that deletes it.
    public func validateForDelete() throws { try validate(for: .delete) }

    /// Validates a value like a save of the object with this value. The object does not change.
    ///
    /// - Returns: The value as the property would store it, for example a double for an integer in a double attribute.
    ///   The application's validators may replace the value.
    /// - Throws: The failure. Several failures are the children of one error with code 1560.
    ///   Errors for a value that the property cannot store.
    public func validateValue(_ value: PropertyValue, forKey name: String) throws -> PropertyValue {
        try context?.checkQueue()
        let property = try entity.requireProperty(named: name)
        var failures = ValidationFailures()
        let value = validated(value, property, into: &failures)
        let accepted: PropertyValue
        if let attribute = property as? Attribute {
            accepted = try attribute.accept(value, for: entity)
            if accepted.isNull {
                if !attribute.isOptional { failures.append(missingValueError(attribute)) }
            } else {
                validateNew(accepted, attribute, into: &failures)
            }
        } else {
            let relationship = unsafeDowncast(property, to: Relationship.self)
            accepted = value
            try validate(members: members(value, relationship), relationship, into: &failures)
            if !value.isNull { validateRules(value, relationship, into: &failures) }
        }
        try failures.check()
        return accepted
    }

    private func members(_ value: PropertyValue, _ relationship: Relationship) throws -> Int {
        switch value {
        case .null: return 0
        case .array(let members) where relationship.isToMany:
            return Set(try members.compactMap { try acceptTarget($0, relationship).map(ObjectIdentifier.init) }).count
        case .set(let members) where relationship.isToMany:
            for member in members { _ = try acceptTarget(member, relationship) }
            return members.count
        default:
            if relationship.isToMany { throw unsuitableMembers(value, relationship) }
            return try acceptTarget(value, relationship) == nil ? 0 : 1
        }
    }
}

// MARK: - Properties

extension ManagedObject {
    /// Validates the properties, as `validateForInsert` and `validateForUpdate` of Core Data do.
    ///
    /// Unchanged properties are included, because the model may be stricter than when the row was written. Unchanged
    /// to-many relationships are skipped, because each would cost a query. Unchanged attributes whose row is not in
    /// memory are skipped too.
    func validateProperties(as purpose: ValidationPurpose, into failures: inout ValidationFailures) throws {
        let isNew = purpose == .insert
        let (slots, overlay) = (entity.layout.slots, overlay)
        for slot in 0..<Int(entity.slotCount) {
            let layout = slots[slot]
            let isChanged = overlay?.isChanged(slot) == true
            switch layout.role {
            case .attribute, .external, .transient:
                if !isChanged {
                    if layout.conditions.isDisjoint(with: [.required, .ruled]) { continue }
                    try validateUnchanged(slot, layout, isNew: isNew, into: &failures)
                } else if let overlay, !overlay[slot].isNull {
                    // A fast path for most values, which do not need a check and are not copied.
                    if layout.isValidWithoutCheck(overlay[slot]) { continue }
                    validateNew(overlay[slot], entity.attribute(slot), into: &failures)
                } else if layout.conditions.contains(.required), try isRequired(entity.attribute(slot)) {
                    failures.append(missingValueError(entity.attribute(slot)))
                }
            case .composite:
                if layout.conditions.isDisjoint(with: [.required, .ruled]) { continue }
                try validateComposite(slot, layout, into: &failures)
            case .toOne:
                if layout.conditions.isDisjoint(with: [.required, .ruled]) { continue }
                // An object whose row is missing is not saved, so it is not validated.
                guard
                    try unlessRowIsMissing({
                        try validateToOne(slot, layout, isChanged: isNew || isChanged, into: &failures)
                    }) != nil
                else { return }
            case .toMany:
                if layout.conditions.isDisjoint(with: [.bounded, .ruled]) { continue }
                guard isNew || toMany(ordinal: Int(layout.ordinal))?.hasChanges == true else { continue }
                if try isRowMissing() { return }
                let relationship = entity.relationship(slot)
                try validate(members: try memberCount(relationship), relationship, into: &failures)
                if layout.conditions.contains(.ruled) {
                    validateRules(try value(slot: slot), relationship, into: &failures)
                }
            }
        }
    }

    /// Returns the number of members that a save writes.
    ///
    /// A relationship from which delete rules do not remove members may contain deleted members, which do not count.
    private func memberCount(_ relationship: Relationship) throws -> Int {
        let members = try toMany(relationship)
        if !relationship.isOneSided { return try members.count() }
        return try members.all().count { $0.state.isDisjoint(with: [.detached, .deleted]) }
    }

    private func validateUnchanged(
        _ slot: Int, _ layout: SlotLayout, isNew: Bool, into failures: inout ValidationFailures
    ) throws {
        // A fault does not have transient values, and a row that was not needed so far is not read for validation.
        if !isNew && (layout.role == .transient || record == nil) { return }
        // A value in a backing file exists and was validated when it was written, so the file is not read.
        if let record, Record(record).fileName(slot, layout) != nil { return }
        guard let record, Record(record).hasValue(slot) else {
            // In a saved object, a null value of a derived attribute is not a failure, because the application cannot
            // set it.
            let mayBeMissing =
                layout.conditions.isDisjoint(with: .required) || !isNew && layout.conditions.contains(.derived)
            if !mayBeMissing, try isRequired(entity.attribute(slot)) {
                failures.append(missingValueError(entity.attribute(slot)))
            }
            return
        }
        if layout.conditions.contains(.ruled) {
            validateRules(try value(slot: slot), entity.attribute(slot), into: &failures)
        }
    }

    /// Validates the composite attribute as a whole; its elements are validated separately.
    private func validateComposite(_ slot: Int, _ layout: SlotLayout, into failures: inout ValidationFailures) throws {
        let attribute = entity.attribute(slot)
        let value = try compositeValue(slot)
        if !value.isNull {
            validateRules(value, attribute, into: &failures)
        } else if layout.conditions.contains(.required), try isRequired(attribute) {
            failures.append(missingValueError(attribute))
        }
    }

    private func validateToOne(
        _ slot: Int, _ layout: SlotLayout, isChanged: Bool, into failures: inout ValidationFailures
    ) throws {
        let relationship = entity.relationship(slot)
        if !isChanged && !layout.conditions.contains(.ruled) {
            if let record, Record(record).target(slot, layout) == nil {
                failures.append(missingValueError(relationship))
            }
        } else if let target = try target(of: relationship), target.state.isDisjoint(with: [.detached, .deleted]) {
            // A save writes null for a deleted target, so such a target counts as missing.
            if layout.conditions.contains(.ruled) { validateRules(.object(target), relationship, into: &failures) }
        } else if layout.conditions.contains(.required) {
            let deleted = try target(of: relationship)
            failures.append(
                deleted.map { deletedTargetError(relationship, $0) } ?? missingValueError(relationship))
        }
    }

    /// Validates the relationships with the delete rule deny.
    ///
    /// The object must not be deleted while such a relationship has targets that exist and are not deleted.
    func validateDenials(into failures: inout ValidationFailures) throws {
        guard let context else { return }
        for relationship in entity.relationships where relationship.deleteRule == .deny {
            let staying = try targets(of: relationship).filter { !$0.isDeleted }
            if staying.isEmpty { continue }
            let existingCount = try context.faultLoader.loadRows(of: staying).count
            if existingCount < staying.count {
                failures.append(deniedDeleteError(relationship, staying.count - existingCount))
            }
        }
    }
}

// MARK: - One value

extension ManagedObject {
    /// Validates a value against the restrictions of its type, and then against the rules of the model.
    private func validateNew(_ value: PropertyValue, _ attribute: Attribute, into failures: inout ValidationFailures) {
        switch value {
        case .double(let number) where !number.isFinite && !attribute.allowsNaN:
            failures.append(notFiniteError(number, attribute))
        case .date(let seconds) where !seconds.isFinite: failures.append(invalidDateError(seconds, attribute))
        case .uri(let text) where !isURIReference(text.utf8): failures.append(invalidURIError(value, attribute))
        case .dictionary(let entries):
            for element in attribute.elements {
                if let part = entries[element.name] {
                    validateNew(part, element, into: &failures)
                } else if !element.isOptional {
                    failures.append(missingValueError(element))
                }
            }
            validateRules(value, attribute, into: &failures)
        default: validateRules(value, attribute, into: &failures)
        }
    }

    private func validateRules(_ value: PropertyValue, _ property: Property, into failures: inout ValidationFailures) {
        for rule in property.validationRules {
            do {
                if try !rule.predicate.required().evaluate(with: value) {
                    failures.append(brokenRuleError(rule, value, property))
                }
            } catch {
                let reason = (error as? CoreError)?.message ?? "\(error)"
                failures.append(uncheckedRuleError(rule, reason, value, property))
            }
        }
    }

    private func validate(
        members count: Int, _ relationship: Relationship, into failures: inout ValidationFailures
    ) throws {
        // The bounds do not apply to an empty optional relationship (NSRelationshipDescription).
        if count == 0 && relationship.isOptional { return }
        if count == 0 && (relationship.minimumCount == 0 || !relationship.isToMany) {
            return failures.append(missingValueError(relationship))
        }
        let (minimum, maximum) = (Int(relationship.minimumCount), Int(relationship.maximumCount))
        if count < minimum {
            failures.append(
                memberCountError(relationship, .validationRelationshipLacksMinimumCount, count, "at least \(minimum)"))
        } else if maximum > 0 && count > maximum {
            failures.append(
                memberCountError(relationship, .validationRelationshipExceedsMaximumCount, count, "at most \(maximum)"))
        }
    }
}

extension SlotLayout {
    /// Whether a value that is not null is valid without a further check.
    @inline(__always)
    fileprivate func isValidWithoutCheck(_ value: PropertyValue) -> Bool {
        if conditions.contains(.ruled) { return false }
        switch value {
        case .double(let number), .date(let number): return number.isFinite
        case .uri: return false
        default: return true
        }
    }
}
